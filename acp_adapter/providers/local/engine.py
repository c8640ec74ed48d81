"""A loaded model that can be asked: started on first use, one for all sessions, started again after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_adapter.errors import BrokenStream, ProviderError
from acp_adapter.providers.faults import fault, refusal
from acp_adapter.providers.local.child import Child
from acp_adapter.providers.streamed import DONE, chunks

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

START = 180.0
"""Seconds for the model to load: it is read from a disk, perhaps a slow one."""
SILENCE = 600.0
"""Seconds between two words from the child. A long prompt on a slow machine takes minutes."""
IDLE = 900
"""Seconds without a request after which the child gives its memory back."""
MARK = "<|im_end|>"

Body = dict[str, Any]


class Engine:
    """`beginning` is a request whose prompt all others begin with. The state after it is kept in a file, so that it is
    computed once on this machine and not at each start; nothing else of what the model reads goes to the disk."""

    def __init__(self, model: Path, context: int, home: Path, beginning: Body) -> None:
        self.model = model
        self.context = context
        self._home = home
        self._beginning = beginning
        self._child: Child | None = None
        self._starting: asyncio.Task[None] | None = None
        self._client: httpx.AsyncClient | None = None
        self._used = 0.0

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is none."""
        return self._child.pid if self._child and self._child.running() else None

    async def ready(self) -> None:
        """Return when the model is loaded and knows the beginning. Raises ProviderError where it can't be.

        A cancelled caller does not stop the start: it goes on for the others.
        """
        if self._starting is None or (self._starting.done() and self.pid is None):
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)
        slept, self._used = time.monotonic() - self._used > IDLE, time.monotonic()
        if slept:
            await self._recall_beginning()

    async def chat(self, body: Body) -> AsyncGenerator[Body, None]:
        """The chunks of one chat completion, in OpenAI's form. Closing the generator frees the model at once.

        Raises ContextTooLong, BrokenStream where the child died, or another ProviderError.
        """
        import httpx

        await self.ready()
        done = False
        try:
            async with (
                self._http().stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as response,
                contextlib.aclosing(chunks(response)) as incoming,
            ):
                if response.status_code != 200:
                    raise fault("The embedded model", refusal(response.status_code, await response.aread()))
                async for chunk in incoming:
                    if "error" in chunk:
                        raise fault("The embedded model", refusal(None, chunk))
                    self._used = time.monotonic()
                    done = done or chunk is DONE
                    if chunk is not DONE:
                        yield chunk
        except (httpx.HTTPError, BrokenStream) as error:
            raise await self._lost() from error
        if not done:
            raise await self._lost()

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text. The texts hold no marks of the model's own (`<|im_end|>`)."""
        await self.ready()
        answer = await self._post("/tokenize", {"content": "".join(text + MARK for text in texts)})
        tokens = answer["tokens"]
        ends = [at for at, token in enumerate(tokens) if token == tokens[-1]]
        return [end - begin - 1 for begin, end in zip([-1, *ends], ends, strict=False)]

    async def close(self) -> None:
        """End the child. May be called twice."""
        starting, self._starting = self._starting, None
        if starting:
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError, ProviderError):
                await starting
        client, self._client = self._client, None
        if client:
            await client.aclose()
        child, self._child = self._child, None
        if child:
            await asyncio.to_thread(child.end)

    async def _start(self) -> None:
        if self._child:
            await asyncio.to_thread(self._child.end)
        key = secrets.token_urlsafe(24)
        self._child = await asyncio.to_thread(self._spawn, key)
        try:
            async with asyncio.timeout(START):
                port = await asyncio.to_thread(self._child.port)
        except TimeoutError as error:
            self._child.kill()
            raise ProviderError(f"The embedded model did not load in {START:g} seconds.") from error
        except asyncio.CancelledError:
            self._child.kill()
            raise
        if self._client:
            await self._client.aclose()
        self._client = _client(port, key)
        await self._recall_beginning()
        self._used = time.monotonic()

    def _spawn(self, key: str) -> Child:
        logs, cache = self._home / "logs", self._home / "cache"
        for folder in (logs, cache):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        threads = max(1, (os.cpu_count() or 2) - 1)
        return Child(
            {
                "model": str(self.model),
                "context": self.context,
                "idle": IDLE,
                "threads": threads,
                "api_key": key,
                "cache": str(cache),
                "log": str(logs / "embedded-model.log"),
            },
            self._home,
        )

    async def _recall_beginning(self) -> None:
        state = self._state_file()
        try:
            if state.exists():
                await self._post("/slots/0?action=restore", {"filename": state.name})
                return
        except ProviderError as error:
            log.info("The saved prompt %s is of no use: %s", state.name, error)
        await self._post("/v1/chat/completions", {**self._beginning, "max_tokens": 1})
        await self._save_beginning(state)

    async def _save_beginning(self, state: Path) -> None:
        fresh = state.with_suffix(".new")
        try:
            await self._post("/slots/0?action=save", {"filename": fresh.name})
            for old in state.parent.glob(f"{self.model.stem}-*.prompt"):
                old.unlink()
            fresh.chmod(0o600)
            fresh.replace(state)
        except (ProviderError, OSError) as error:
            log.info("The prompt's state can't be kept, so the next start takes some seconds longer: %s", error)

    def _state_file(self) -> Path:
        """Its name holds all that the state depends on."""
        try:
            runtime = version("xllamacpp")
        except PackageNotFoundError:
            runtime = ""
        facts = [self._beginning, self.model.stat().st_size, self.context, runtime]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
        return self._home / "cache" / f"{self.model.stem}-{digest}.prompt"

    async def _post(self, path: str, body: Body) -> Body:
        import httpx

        try:
            response = await self._http().post(path, json=body)
        except httpx.HTTPError as error:
            raise await self._lost() from error
        if response.status_code != 200:
            raise fault("The embedded model", refusal(response.status_code, response.content))
        answer: Body = response.json()
        return answer

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            raise BrokenStream("The embedded model was closed.")
        return self._client

    async def _lost(self) -> ProviderError:
        ending = await asyncio.to_thread(self._child.ending) if self._child else "It was closed."
        return BrokenStream(f"The embedded model stopped in the middle of its work. {ending}".strip())


def _client(port: int, key: str) -> httpx.AsyncClient:
    import httpx

    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        headers={"authorization": f"Bearer {key}"},
        verify=False,  # plain HTTP on loopback: there is nothing to verify, and loading certificates takes time
        trust_env=False,
        # The server drops idle connections, perhaps while we send on one; a new one costs nothing here.
        limits=httpx.Limits(max_keepalive_connections=0),
        timeout=httpx.Timeout(SILENCE, connect=10.0),
    )


_shared: dict[tuple[Path, Path], tuple[Engine, int]] = {}


def borrow(model: Path, context: int, home: Path, beginning: Body) -> Engine:
    """The engine for this model, made if nobody uses it yet. Each borrower gives it back once."""
    engine, users = _shared.get((model, home), (None, 0))
    engine = engine or Engine(model, context, home, beginning)
    _shared[(model, home)] = (engine, users + 1)
    return engine


async def give_back(engine: Engine) -> None:
    """The last one to give it back ends it."""
    key = next((key for key, (shared, _) in _shared.items() if shared is engine), None)
    if key is None:
        return
    _, users = _shared.pop(key)
    if users > 1:
        _shared[key] = (engine, users - 1)
    else:
        await engine.close()
