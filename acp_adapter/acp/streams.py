"""The claimed descriptors in the event loop: a reader, and the sinks of the Outbox."""

from __future__ import annotations

import asyncio
import os
import queue
import stat
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from acp_adapter.acp.descriptors import read, write


class Flow(Protocol):
    """What a sink tells its writer: wait, go on, and that nobody reads any more."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def lost(self) -> None: ...


def start_reader(fd: int, feed: Callable[[bytes], None], ended: Callable[[], None]) -> None:
    """Read `fd` in a thread of its own, which works for pipes, files and consoles on every system.

    `feed` and `ended` are called in the event loop. A chunk is read only when the one before it has been handled.
    """
    loop = asyncio.get_running_loop()
    handled = threading.Semaphore(0)

    def deliver(data: bytes) -> None:
        try:
            feed(data)
        finally:
            handled.release()

    def pump() -> None:
        try:
            while data := read(fd):
                loop.call_soon_threadsafe(deliver, data)
                handled.acquire()
            loop.call_soon_threadsafe(ended)
        except RuntimeError:
            return  # the loop is closed: nobody listens any more

    # A daemon, because a thread that waits for input can't be stopped.
    threading.Thread(target=pump, name="acp-stdin", daemon=True).start()


async def open_sink(fd: int, source: int, flow: Flow) -> PipeSink | ThreadSink:
    """The sink for a descriptor. A pipe is written by the loop itself, anything else by a thread."""
    if _is_loops_own(fd, source):
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_write_pipe(lambda: _FlowProtocol(flow), os.fdopen(fd, "wb", 0))
        return PipeSink(transport)
    return ThreadSink(fd, flow)


def _is_loops_own(fd: int, source: int) -> bool:
    """Whether `fd` may be made non-blocking: a pipe or socket that is nobody else's and not also our input."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or (stat.S_ISSOCK(mode) and not os.path.sameopenfile(fd, source))


class PipeSink:
    """Writes without a thread; the loop also sees when the reader goes away."""

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        # Paused as soon as anything is left over, resumed when nothing is.
        transport.set_write_buffer_limits(high=0)
        self._transport = transport

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def close(self) -> None:
        """Let go of the pipe, and of what nobody has read by now."""
        if not self._transport.is_closing():
            self._transport.abort()


class _FlowProtocol(asyncio.BaseProtocol):
    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def pause_writing(self) -> None:
        self._flow.pause()

    def resume_writing(self) -> None:
        self._flow.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self._flow.lost()


class ThreadSink:
    """Writes in a thread, one piece at a time."""

    def __init__(self, fd: int, flow: Flow) -> None:
        self._fd = fd
        self._flow = flow
        self._loop = asyncio.get_running_loop()
        self._pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._pump, name="acp-stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        self._flow.pause()
        self._pieces.put(data)

    def close(self) -> None:
        """Nothing: the thread may still be writing."""

    def _pump(self) -> None:
        try:
            while True:
                try:
                    write(self._fd, self._pieces.get())
                except OSError:
                    self._loop.call_soon_threadsafe(self._flow.lost)
                    return
                self._loop.call_soon_threadsafe(self._flow.resume)
        except RuntimeError:
            return  # the loop is closed
