"""fetch_url: a page or file of the web as text. Asks by host, stays on that host, and reads only so much.

A name that leads to an address of this machine or its own network is refused, unless the address itself (or
`localhost`) was written: a rule that allows a host must not open what is behind the user's own router.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from acp_adapter.errors import ToolError
from acp_adapter.tools.arguments import count, schema, text
from acp_adapter.tools.port import Intent, ToolContext, ToolResult
from acp_adapter.tools.web_page import markdown_of

if TYPE_CHECKING:
    import httpx

LARGEST = 5 * 1024 * 1024
PATIENCE = 30.0
"""Seconds for all of it."""
SHOWN = 48_000
"""Characters that one call gives."""
HOPS = 5
HEADERS = {
    "user-agent": "acp-adapter (a coding agent that reads for its user)",
    "accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.1",
}
HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Za-z:.%-]*")
"""A name or an address, as rules and people see it."""
TEXTUAL = ("json", "xml", "javascript", "yaml", "toml", "x-sh", "markdown", "csv", "graphql")


class FetchUrl:
    name = "fetch_url"
    description = (
        "Read a page or text file of the web, pages as Markdown. Only http and https, nothing is sent but the address. "
        "Long ones come in parts: ask again with start."
    )
    parameters = schema(
        ["url"],
        url=text("The whole address, with https://."),
        start=count("The character to begin at, 1 if not given."),
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        url = _address(args["url"])
        return Intent(f"Fetch {urlunsplit(url)[:200]}", "fetch", "fetch", domain=url.hostname)

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        url = urlunsplit(_address(args["url"]))
        try:
            async with asyncio.timeout(PATIENCE):
                whole = await _fetched(url)
        except TimeoutError as late:
            raise ToolError(f"{url} did not answer within {PATIENCE:.0f} seconds.") from late
        return ToolResult(_part(whole, args.get("start", 1)))


def _address(text: str) -> SplitResult:
    try:
        url = urlsplit(text.strip())
        usable = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port)
    except ValueError:
        usable = False
    if not usable or any(sign.isspace() or not sign.isprintable() for sign in text.strip()):
        raise ToolError(f"url must be a whole http or https address, not {text[:200]!r}.")
    if url.username is not None:
        raise ToolError("url must not hold a user name or password.")
    asked = url._replace(fragment="", netloc=_in_ascii(url))
    if not HOST.fullmatch(asked.hostname or ""):
        raise ToolError(f"url must be a whole http or https address: {url.hostname!r} can't be a host.")
    return asked


def _in_ascii(url: SplitResult) -> str:
    """The host as it is asked for, and so as rules and people must see it: a name in other letters as `xn--…`."""
    if url.netloc.isascii():
        return url.netloc
    import httpx

    try:
        host = httpx.URL(scheme=url.scheme, host=url.hostname or "").raw_host.decode()
    except (httpx.InvalidURL, UnicodeError) as fault:
        raise ToolError(f"url must be a whole http or https address: {url.hostname!r} can't be a host.") from fault
    return f"{host}:{url.port}" if url.port else host


async def _fetched(url: str) -> str:
    """The text at the address. Raises ToolError for all that is none."""
    import httpx

    try:
        async with (
            httpx.AsyncClient(headers=HEADERS, timeout=PATIENCE) as client,
            _answered(client, url) as response,
        ):
            return await _text_of(response)
    except httpx.HTTPError as fault:
        raise ToolError(f"{url} can't be fetched: {fault or type(fault).__name__}.") from fault


@asynccontextmanager
async def _answered(client: httpx.AsyncClient, url: str) -> AsyncIterator[httpx.Response]:
    """The answer after redirects within the same host; one that leads elsewhere is told of instead of followed."""
    host = urlsplit(url).hostname
    for _ in range(HOPS):
        async with client.stream("GET", url, extensions={"trace": _checking(url)}) as response:
            if not response.is_redirect:
                if response.status_code >= 400:
                    raise ToolError(f"{url} answered {response.status_code} {response.reason_phrase}.")
                yield response
                return
            url = urljoin(url, response.headers.get("location", ""))
        if _address(url).hostname != host:
            raise ToolError(f"It redirects to {url}, which is another host. Fetch that if it is what you want.")
    raise ToolError(f"It redirects more than {HOPS} times.")


def _checking(url: str) -> Callable[[str, dict[str, Any]], Awaitable[None]]:
    """Refuses a connection to a private address that was reached by a public name, before a word is sent on it."""
    asked = urlsplit(url)
    host = asked.hostname or ""

    async def check(event: str, info: dict[str, Any]) -> None:
        if event != "connection.connect_tcp.complete" or host == "localhost" or _is_address(host):
            return
        stream = info["return_value"]
        peer = stream.get_extra_info("server_addr")[0]
        if not _is_proxied(asked.scheme, host) and not ipaddress.ip_address(peer.partition("%")[0]).is_global:
            await stream.aclose()
            raise ToolError(f"{host} leads to {peer}, an address of this machine or its own network: it is not asked.")

    return check


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _is_proxied(scheme: str, host: str) -> bool:
    return scheme in getproxies() and not proxy_bypass(host)


async def _text_of(response: httpx.Response) -> str:
    kind = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if not kind.startswith("text/") and not any(name in kind for name in TEXTUAL):
        size = response.headers.get("content-length", "unknown")
        raise ToolError(f"{response.url} is {kind} ({size} bytes), which is no text.")
    body = bytearray()
    async for data in response.aiter_bytes():
        body += data
        if len(body) > LARGEST:
            raise ToolError(f"{response.url} is larger than {LARGEST // 2**20} MiB.")
    whole = bytes(body).decode(response.charset_encoding or "utf-8", "replace")
    if "html" not in kind:
        return whole
    return await asyncio.to_thread(markdown_of, whole, str(response.url))


def _part(whole: str, start: int) -> str:
    if not whole.strip():
        return "[The page holds no text.]"
    if start > len(whole):
        raise ToolError(f"The text has {len(whole):,} characters, so it can't begin at {start:,}.")
    part = whole[start - 1 : start - 1 + SHOWN]
    left = len(whole) - (start - 1 + len(part))
    return part + (f"\n[{left:,} more characters: ask with start={start + len(part)}.]" if left else "")
