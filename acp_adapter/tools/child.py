"""One child process: its output as it comes, how it ended, and its end with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

from attrs import frozen

from acp_adapter.tools import orphans

DRAIN = 0.25
"""Seconds that output may still come after the command itself has ended, where a grandchild holds the pipe."""

BACKGROUND_PAUSE = 0.05
"""Seconds between two reads from a background child."""

Receive = Callable[[bytes], object]
"""Gets output as it comes. A true answer means enough: the command is ended."""


@frozen
class Exit:
    """How a command ended. `code` is None where `signal` (a name such as SIGKILL) ended it.

    `timed_out`: it was ended because it ran too long. `background`: something it started still runs.
    """

    code: int | None
    signal: str | None = None
    timed_out: bool = False
    background: bool = False


class Child(asyncio.SubprocessProtocol):
    """One running command: passes its output on, and knows when it exited and when its pipes closed."""

    def __init__(self, token: str, receive: Receive, errors: Receive | None) -> None:
        self.token = token
        self.errors = errors
        self.transport: asyncio.SubprocessTransport | None = None
        self.pid = 0
        self.done = asyncio.Event()
        self.exited = asyncio.Event()
        self._sinks: dict[int, Receive] = {1: receive} if errors is None else {1: receive, 2: errors}
        self._pipes = set(self._sinks)
        self._closed = asyncio.Event()
        self._detached = False

    @property
    def connected(self) -> bool:
        return bool(self._pipes)

    def started(self, transport: asyncio.SubprocessTransport) -> None:
        self.transport = transport
        self.pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._detached:
            self._read_slowly(fd)
        elif (self.exited.is_set() or not self.done.is_set()) and self._sinks[fd](data):
            self.done.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._pipes.discard(fd)
        if not self._pipes:
            self._closed.set()

    def process_exited(self) -> None:
        self.exited.set()
        self.done.set()

    async def wait(self, timeout: float | None) -> bool:
        """Wait for the end (or enough output), and then for what is still in the pipes. False for a time-out."""
        if not await _happens(self.done, timeout):
            return False
        if self.exited.is_set():
            await _happens(self._closed, DRAIN)
        return True

    async def end(self) -> None:
        """End the command with all that it started."""
        await asyncio.to_thread(end_tree, self.token, {self.pid})
        await _happens(self.exited, 2)
        await _happens(self._closed, DRAIN)

    def detach(self) -> None:
        """Throw away what still comes. The pipe stays open: a server in the background must not die of its log."""
        self._detached = True

    def _read_slowly(self, fd: int) -> None:
        """A child that floods its pipe in the background must not keep this program busy."""
        pipe = cast(asyncio.ReadTransport | None, self.transport and self.transport.get_pipe_transport(fd))
        if pipe:
            pipe.pause_reading()
            asyncio.get_running_loop().call_later(BACKGROUND_PAUSE, pipe.resume_reading)

    def close(self) -> None:
        if self.transport:
            self.transport.close()

    def ended(self, timed_out: bool, background: bool) -> Exit:
        code = self.transport.get_returncode() if self.transport else None
        if code is None or code >= 0 or sys.platform == "win32":
            return Exit(code, None, timed_out, background)
        return Exit(None, _signal_name(-code), timed_out, background)


async def _happens(event: asyncio.Event, timeout: float | None) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            await event.wait()
    return event.is_set()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


if sys.platform == "win32":
    APART: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}

    def end_tree(token: str, pids: set[int]) -> None:
        for pid in pids:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)

    def exists(pid: int) -> bool:
        return False

    def lives(pid: int) -> bool:
        return False

else:
    APART: dict[str, Any] = {"start_new_session": True}

    def end_tree(token: str, pids: set[int]) -> None:
        orphans.end(token, pids)

    def exists(pid: int) -> bool:
        return orphans.group_exists(pid)

    def lives(pid: int) -> bool:
        return orphans.group_lives(pid)
