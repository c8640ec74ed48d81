"""What all models behind HTTP share: the connection, and what a server refuses.

A `HostedProvider` sends what its API's own request module has encoded, and reads the answer with that API's answer
module: see `acp_adapter.providers.chat` for the oldest of them. Refusals are read in `faults`.

Keys are sent and nothing else is done with them: no message, log or repr has them, even if the server echoes them.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from attrs import define, evolve, field

from acp_adapter.errors import ProviderError, ProviderRejected, ProviderUnreachable
from acp_adapter.providers.card import Listed, ModelCard
from acp_adapter.providers.faults import Refusal, fault, masked, refusal, retry_after
from acp_adapter.providers.port import ModelRequest, StreamEvent
from acp_adapter.providers.streamed import json_object
from acp_adapter.providers.urls import LOOPBACK, shown_url, split_credentials

if TYPE_CHECKING:
    import ssl

    import httpx

# httpx costs 0.1 CPU-seconds to import, so the functions that need it import it: at the first model call.

log = logging.getLogger(__name__)

ADAPTED = {400, 404, 422, 500}
"""What servers answer to a request in a form that they do not know."""
CONNECT_TIMEOUT = 10.0
SILENCE = 300.0
ERROR_BODY = 64 * 1024
MODEL_LIST = 8 * 1024 * 1024
SHOWN = 500
"""Characters of a server's own message that are shown."""
CLIENT_HEADERS = {"content-type": "application/json", "accept": "text/event-stream", "user-agent": "acp-adapter"}

Encode = Callable[[], bytes]
"""The request's body, encoded anew after each change of form."""
Adapt = Callable[[str], bool]
"""Takes a server's complaint; whether the request is encoded differently from now on."""


def _never(complaint: str) -> bool:
    return False


@define(eq=False)
class HostedProvider:
    """A model behind HTTP. A subclass knows one API: `stream`, `models`, and how a key is sent.

    `base_url` may hold a user name and password; they are sent as Basic authorization and taken out of the
    attribute. `silence` is how many seconds the server may be quiet, before the first byte or between two.
    Raises InvalidParams for a base URL that is none.
    """

    usual_path: ClassVar[str] = "/v1"
    """What base URLs of this API end with."""

    name: str
    model: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    card: ModelCard = field(factory=ModelCard, repr=False)
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    silence: float = SILENCE
    _client: httpx.AsyncClient | None = field(default=None, init=False, repr=False)
    _headers: dict[str, str] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.base_url, basic = split_credentials(self.base_url)
        self._headers = dict(CLIENT_HEADERS)
        if basic:
            self._headers["authorization"] = basic
        elif self.api_key:
            self._headers |= self.authorization(self.api_key)
        self._headers |= {name.lower(): str(value) for name, value in self.headers.items()}

    def authorization(self, key: str) -> dict[str, str]:
        """The headers that carry the key, their names in lower case."""
        return {"authorization": f"Bearer {key}"}

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """See `acp_adapter.providers.port.Provider`."""
        raise NotImplementedError

    async def models(self) -> list[Listed]:
        """The server's own list. Raises a ProviderError."""
        raise NotImplementedError

    async def look(self) -> None:
        """Ask the server what `card` does not know of the model and the first request must, if anything. Never fails:
        what is wrong there is wrong with the request too, and told then."""

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def get(self, path: str) -> dict[str, Any]:
        """The JSON object at `{base_url}{path}`. Raises a ProviderError."""
        return await self._object("GET", path)

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        """The JSON object that answers this one. Raises a ProviderError."""
        return await self._object("POST", path, body)

    async def _object(self, method: str, path: str, body: bytes = b"") -> dict[str, Any]:
        response = await self._send(method, path, body)
        try:
            answer = await _beginning(response, MODEL_LIST)
            if response.status_code != 200:
                raise self._refused(response, refusal(response.status_code, answer))
        finally:
            await response.aclose()
        return json_object(answer)

    @contextlib.asynccontextmanager
    async def posted(self, path: str, encode: Encode, adapt: Adapt = _never) -> AsyncIterator[httpx.Response]:
        """The answer, once the server accepts the request; without what it does not know, from then on.

        Raises a ProviderError.
        """
        while True:
            response = await self._send("POST", path, encode())
            try:
                if response.status_code == 200:
                    yield response
                    return
                said = refusal(response.status_code, await _beginning(response, ERROR_BODY))
                if said.status not in ADAPTED or not adapt(said.message):
                    raise self._refused(response, said)
                log.info("%s wants the request in another form: %s", self._who(), self._shown(said.message))
            finally:
                await response.aclose()

    def told(self, error: Any) -> ProviderError:
        """The error for what a server says in the middle of a stream: its JSON, as it came."""
        return self._fault(refusal(None, error))

    async def _send(self, method: str, path: str, body: bytes = b"") -> httpx.Response:
        import httpx

        self._client = self._client or _client(self.base_url, self.silence)
        while True:
            opened = _Opened()
            request = self._client.build_request(
                method, self.base_url + path, content=body, headers=self._headers, extensions={"trace": opened.trace}
            )
            try:
                return await self._client.send(request, stream=True)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
                # Some servers close kept connections without a word, and a request may cross with that.
                if opened.now:
                    raise self._unreachable(error) from error
                log.debug("A kept connection was closed; opening another.")
            except httpx.ReadTimeout as error:
                raise ProviderUnreachable(f"{self._who()} was silent for {self.silence:g} seconds.") from error
            except httpx.TransportError as error:
                raise self._unreachable(error) from error

    def _unreachable(self, error: httpx.TransportError) -> ProviderUnreachable:
        reason = self._shown(str(error)).rstrip(".") or type(error).__name__
        return ProviderUnreachable(f"{self._who()} can't be reached: {reason}. {self._advice()}")

    def _refused(self, response: httpx.Response, said: Refusal) -> ProviderError:
        if response.is_redirect:
            target = shown_url(response.headers.get("location", ""))
            return ProviderRejected(f"{self._who()} has moved to {target}. Make that the base URL if you trust it.")
        if said.status == 404 and self.usual_path and not urlsplit(self.base_url).path:
            said = evolve(said, message=f"{said.message} (does the base URL lack its {self.usual_path}?)")
        return self._fault(said, retry_after(response.headers))

    def _fault(self, said: Refusal, seconds: float | None = None) -> ProviderError:
        return fault(self._who(), evolve(said, message=self._shown(said.message), code=self._shown(said.code)), seconds)

    def _who(self) -> str:
        return f"{self.name} at {self.base_url}"

    def _advice(self) -> str:
        local = urlsplit(self.base_url).hostname in LOOPBACK
        return "Is the server running?" if local else "Check the network and the base URL."

    def _shown(self, text: str) -> str:
        """A server's own words as they may be shown: without what is secret, and not without end."""
        authorization = self._headers.get("authorization", "").partition(" ")[2]
        return masked(text, (authorization, self.api_key or "", *map(str, self.headers.values())))[:SHOWN]


@define
class _Opened:
    """Whether a connection was opened for a request: `trace` is told what httpcore does (its extension "trace")."""

    now: bool = False

    async def trace(self, event: str, info: Any) -> None:
        self.now = self.now or event.endswith("connect_tcp.started")


async def _beginning(response: httpx.Response, limit: int) -> bytes:
    """The first of a body: at least `limit` bytes of it, or what can be read."""
    import httpx

    body = b""
    with contextlib.suppress(httpx.HTTPError):
        async for data in response.aiter_bytes():
            body += data
            if len(body) >= limit:
                break
    return body


def _client(base_url: str, silence: float) -> httpx.AsyncClient:
    import httpx

    url = urlsplit(base_url)
    return httpx.AsyncClient(
        # Without TLS there is nothing to verify; loading the certificates would cost 20 ms.
        verify=_tls() if url.scheme == "https" else False,
        # A proxy of the environment is for the world outside, not for a server on this machine.
        trust_env=url.hostname not in LOOPBACK,
        timeout=httpx.Timeout(silence, connect=CONNECT_TIMEOUT, pool=None),
    )


@functools.cache
def _tls() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()
