"""Child processes: started apart from the protocol's pipes and the terminal, ended whole.

What holds: stdin is /dev/null and there is no controlling terminal (POSIX: a session of its own), so a child can't
read the protocol or ask at a terminal. A cancelled or late command is ended with everything that it started, before
`run` returns. What a finished command leaves in the background goes on, its output unread, until its session ends
(`end_all`) or this program ends, SIGKILL included (POSIX: a guard process sees to it, see `orphans`). On Windows the
tree is ended by `taskkill`, and nothing guards against a killed program.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import signal
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from attrs import frozen

from acp_adapter.tools import orphans
from acp_adapter.transcript import uninterrupted

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


class Processes:
    """The child processes of one session."""

    def __init__(self) -> None:
        self._token = f"{_PROGRAM}.{next(_numbers)}"
        self._children: set[_Child] = set()
        self._used = False

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        receive: Receive,
        errors: Receive | None = None,
        timeout: float | None = None,
    ) -> Exit:
        """Run a program to its end. stderr goes to `errors`, or in order into `receive` where there is none.

        Raises OSError when it can't be started. Cancelling it, or `timeout` seconds, ends it with all it started.
        """
        child = _Child(f"{self._token}.{next(_numbers)}", receive, errors)
        timed_out = False
        try:
            await uninterrupted(self._start(child, argv, cwd, env))
            timed_out = not await child.wait(timeout)
        finally:
            if child.pid and not child.exited.is_set():
                await uninterrupted(child.end())
            self._forget_dead()
        background = child in self._children and (child.connected or _lives(child.pid))
        return child.ended(timed_out, background)

    def mark(self) -> dict[str, str]:
        """The environment of a child that a library starts for this session: by it `end` and the guard find the
        child on Linux. Elsewhere that library alone has to end it."""
        self._used = True
        _guard.watch(self)
        return {orphans.MARK: f"{self._token}.{next(_numbers)}"}

    async def end(self) -> None:
        """End everything that still runs. May be called twice; the session can run commands afterwards."""
        children, self._children = self._children, set()
        if self._used:
            await asyncio.to_thread(_end_tree, self._token, {child.pid for child in children})
        for child in children:
            child.close()
        self._used = False
        await _guard.release(self)

    async def _start(self, child: _Child, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._used = True
        _guard.watch(self)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.subprocess_exec(
            lambda: child,
            *argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT if child.errors is None else PIPE,
            cwd=cwd,
            env={**env, orphans.MARK: child.token},
            **_APART,
        )
        child.started(transport)
        self._children.add(child)
        _guard.tell(f"+{child.pid}")

    def _forget_dead(self) -> None:
        """Forget every child that ended and left nothing behind: its pid may soon be a stranger's."""
        for child in list(self._children):
            if not child.exited.is_set():
                continue
            if child.connected or _exists(child.pid):
                child.detach()
                continue
            child.close()
            self._children.discard(child)
            _guard.tell(f"-{child.pid}")


class _Child(asyncio.SubprocessProtocol):
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
        await asyncio.to_thread(_end_tree, self.token, {self.pid})
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


class _Guard:
    """The one process that ends our children if this program is killed. Runs while a session has had any."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: set[Processes] = set()

    def watch(self, session: Processes) -> None:
        self._sessions.add(session)
        if sys.platform != "win32" and self._process is None:
            argv = [sys.executable, "-I", "-S", orphans.__file__, _PROGRAM]
            null = subprocess.DEVNULL
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=null, stderr=null, cwd="/", start_new_session=True
            )

    def tell(self, line: str) -> None:
        if self._process and self._process.stdin:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()

    async def release(self, session: Processes) -> None:
        self._sessions.discard(session)
        if self._process and not self._sessions:
            process, self._process = self._process, None
            await asyncio.to_thread(process.communicate)


def of(session_id: str) -> Processes:
    """The children of one session, by its id."""
    if session_id not in _owners:
        _owners[session_id] = Processes()
    return _owners[session_id]


async def end_all(session_id: str) -> None:
    """End what a session still runs or left in the background. Nothing happens for a session that ran nothing."""
    if session := _owners.pop(session_id, None):
        await session.end()


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
    _APART: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}

    def _end_tree(token: str, pids: set[int]) -> None:
        for pid in pids:
            subprocess.run(["taskkill", "/T", "/F", "/PID", str(pid)], capture_output=True, check=False)

    def _exists(pid: int) -> bool:
        return False

    def _lives(pid: int) -> bool:
        return False

else:
    _APART: dict[str, Any] = {"start_new_session": True}

    def _end_tree(token: str, pids: set[int]) -> None:
        orphans.end(token, pids)

    def _exists(pid: int) -> bool:
        return orphans.group_exists(pid)

    def _lives(pid: int) -> bool:
        return orphans.group_lives(pid)


_PROGRAM = secrets.token_hex(8)
_numbers = itertools.count(1)
_guard = _Guard()
_owners: dict[str, Processes] = {}
