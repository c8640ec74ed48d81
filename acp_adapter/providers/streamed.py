"""A streamed answer as JSON objects: server-sent events, or one object a line. What goes wrong on the way is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from acp_adapter.errors import BrokenStream, ProviderRejected, ProviderUnreachable
from acp_adapter.providers.urls import shown_url

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

DONE: dict[str, Any] = {}
"""What `chunks` gives in place of `data: [DONE]`."""


async def chunks(response: httpx.Response) -> AsyncGenerator[dict[str, Any], None]:
    """The JSON objects of an answer streamed as server-sent events, then DONE if the server marked the end.

    A server that answers all at once, as JSON, gives one. Raises BrokenStream for a connection lost or data garbled,
    ProviderUnreachable for silence, ProviderRejected for an answer that is no stream.
    """
    import httpx_sse

    with _reading(response):
        if _kind(response) == "application/json":
            yield json_object(await response.aread())
            yield DONE
            return
        async with contextlib.aclosing(httpx_sse.EventSource(response).aiter_sse()) as events:
            async for event in events:
                if event.data.startswith("{"):
                    chunk = json_object(event.data)
                    yield {"error": chunk} if event.event == "error" and "error" not in chunk else chunk
                elif event.data.strip() == "[DONE]":
                    await _drain(events)
                    yield DONE
                    return
                elif event.data:
                    log.debug("Skipped a line of the stream that is no JSON object (%d characters).", len(event.data))


async def lines(response: httpx.Response) -> AsyncGenerator[dict[str, Any], None]:
    """The JSON objects of an answer streamed as one a line (application/x-ndjson). Raises like `chunks`."""
    with _reading(response):
        if _kind(response) not in ("application/x-ndjson", "application/json"):
            raise _no_stream(response)
        rest: list[bytes] = []
        async for piece in response.aiter_bytes():
            *ended, last = piece.split(b"\n")
            for line in ended:
                whole = b"".join((*rest, line)).strip()
                rest = []
                if whole:
                    yield json_object(whole)
            rest.append(last)
        if whole := b"".join(rest).strip():
            yield json_object(whole)


@contextlib.contextmanager
def _reading(response: httpx.Response) -> Iterator[None]:
    """Tells of what goes wrong while an answer is read."""
    import httpx
    import httpx_sse

    try:
        yield
    except httpx_sse.SSEError as error:
        raise _no_stream(response) from error
    except httpx.ReadTimeout as error:
        raise ProviderUnreachable("The model's server fell silent in the middle of its answer.") from error
    except httpx.HTTPError as error:
        raise BrokenStream("The connection was lost before the model's answer was complete.") from error


def _kind(response: httpx.Response) -> str:
    content_type: str = response.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower()


def _no_stream(response: httpx.Response) -> ProviderRejected:
    return ProviderRejected(
        f"{shown_url(str(response.url))} answered with {_kind(response) or 'an unnamed type'}, which is no model's "
        "stream. Check the base URL."
    )


def json_object(data: str | bytes) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BrokenStream("The model's server sent data that is garbled.") from error
    if not isinstance(chunk, dict):
        raise BrokenStream("The model's server sent something else than an object.")
    return chunk


async def _drain(events: AsyncIterator[Any]) -> None:
    """Read what follows the end mark, so that the connection can serve again; a server that says no more is left."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1):
            async for _ in events:
                pass
