"""One connection from its first byte to an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from acp_adapter import logs
from acp_adapter.acp.converter import structure
from acp_adapter.acp.peer import Handler, Peer
from acp_adapter.acp.streams import open_sink, start_reader
from acp_adapter.acp.types import InitializeRequest
from acp_adapter.errors import AcpAdapterError

GRACE: Final = 0.4
"""Seconds that requests have to end by themselves after the end of stdin, so that a piped script gets its answers."""
SHUTDOWN: Final = 1.6
FLUSH: Final = 0.2
EXIT: Final = 2.7
"""Seconds from the end of the connection after which the process is gone, whatever still runs in it."""
LINGER: Final = 0.4
"""Seconds that threads have which still run when all else is done."""

log = logging.getLogger(__name__)


class Lifecycle(Protocol):
    """What is served, and how it ends."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By method, `initialize` included."""
        ...

    async def shutdown(self) -> None:
        """Bring everything to an end within SHUTDOWN seconds. Called once, with the connection perhaps still open."""
        ...


Build = Callable[[Peer, dict[str, Any] | None], Lifecycle]
"""Makes what is served. Gets the params of an `initialize` that was answered before, None if there was none."""


def serve(source: int, sink: int, build: Build, received: bytes, client: dict[str, Any] | None) -> int:
    """Serve until the editor closes stdin or stdout, or a signal comes; the exit code: 1 if `build` failed, else 0.

    `received` was read from `source` before and is handled first.
    """
    logs.configure_from(os.environ)
    try:
        asyncio.run(_Connection(source, sink).run(build, received, client))
    except (AcpAdapterError, OSError) as fault:
        log.error("The agent can't run: %s", fault)
        return 1
    return 0


class _Connection:
    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._peer = Peer()
        self._over = asyncio.Event()
        self._grace = 0.0

    async def run(self, build: Build, received: bytes, client: dict[str, Any] | None) -> None:
        served = build(self._peer, client)
        self._peer.offer(served.handlers)
        if client is not None:
            self._peer.client = structure(client, InitializeRequest, "params")
        self._listen_to_signals()
        sink = await open_sink(self._sink, self._source, self)
        self._peer.outbox.connect(sink)
        self._peer.feed(received)
        start_reader(self._source, self._peer.feed, self._ended)
        await self._over.wait()
        await self._end(served)
        sink.close()

    async def _end(self, served: Lifecycle) -> None:
        _exit_after(EXIT)
        self._peer.refuse()
        await self._peer.settled(self._grace)
        try:
            async with asyncio.timeout(SHUTDOWN):
                await served.shutdown()
        except TimeoutError:
            log.warning("What is still running after %s seconds is left behind.", SHUTDOWN)
        except Exception:
            log.exception("The end was not orderly")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH):
                await self._peer.drained()
        self._peer.close()
        _exit_after(LINGER)

    def _ended(self) -> None:
        """stdin is at its end."""
        self._peer.finish()
        self._grace = GRACE
        self._over.set()

    # -- the sink's flow

    def pause(self) -> None:
        self._peer.outbox.pause()

    def resume(self) -> None:
        self._peer.outbox.resume()

    def lost(self) -> None:
        self._peer.outbox.close()
        self._over.set()

    # -- signals

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            if sys.platform == "win32":
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self._over.set))
            else:
                loop.add_signal_handler(number, self._over.set)


def _exit_after(seconds: float) -> None:
    """End the process then, if it has not ended by itself: a thread that can't be stopped would keep it."""
    timer = threading.Timer(seconds, os._exit, [0])
    timer.daemon = True
    timer.start()
