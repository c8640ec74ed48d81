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
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Mapping, Sequence
from pathlib import Path

from acp_adapter.tools import orphans
from acp_adapter.tools.child import APART, Child, Exit, Receive, end_tree, exists, lives
from acp_adapter.transcript import uninterrupted


class Processes:
    """The child processes of one session."""

    def __init__(self) -> None:
        self._token = f"{_PROGRAM}.{next(_numbers)}"
        self._children: set[Child] = set()
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
        child = Child(f"{self._token}.{next(_numbers)}", receive, errors)
        timed_out = False
        try:
            await uninterrupted(self._start(child, argv, cwd, env))
            timed_out = not await child.wait(timeout)
        finally:
            if child.pid and not child.exited.is_set():
                await uninterrupted(child.end())
            self._forget_dead()
        background = child in self._children and (child.connected or lives(child.pid))
        return child.ended(timed_out, background)

    async def launch(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], receive: Receive) -> Child:
        """Start a program that runs on by itself, until it or this session ends. Raises OSError."""
        child = Child(f"{self._token}.{next(_numbers)}", receive, None)
        await uninterrupted(self._start(child, argv, cwd, env))
        return child

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
            await asyncio.to_thread(end_tree, self._token, {child.pid for child in children})
        for child in children:
            child.close()
        self._used = False
        await _guard.release(self)

    async def _start(self, child: Child, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
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
            **APART,
        )
        child.started(transport)
        self._children.add(child)
        _guard.tell(f"+{child.pid}")

    def _forget_dead(self) -> None:
        """Forget every child that ended and left nothing behind: its pid may soon be a stranger's."""
        for child in list(self._children):
            if not child.exited.is_set():
                continue
            if child.connected or exists(child.pid):
                child.detach()
                continue
            child.close()
            self._children.discard(child)
            _guard.tell(f"-{child.pid}")


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


_PROGRAM = secrets.token_hex(8)
_numbers = itertools.count(1)
_guard = _Guard()
_owners: dict[str, Processes] = {}
