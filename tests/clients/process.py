"""The agent as a child process: its bytes both ways, its end, its stderr."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

MARKER = "ACP_ADAPTER_TEST_MARKER"
"""An environment variable that the agent's children inherit, so that a test finds those that outlive it."""


def clean_environment(home: Path, marker: str, **more: str) -> dict[str, str]:
    """What an agent under test sees: no key, no config and no server of whoever runs the tests."""
    kept = ("PATH", "SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "TMPDIR", "VIRTUAL_ENV")
    base = {name: os.environ[name] for name in kept if name in os.environ}
    user = home.parent / "user"
    user.mkdir(exist_ok=True)
    own = {
        "ACP_ADAPTER_HOME": str(home),
        "HOME": str(user),
        "USERPROFILE": str(user),
        "LANG": "C.UTF-8",
        "ACP_ADAPTER_TITLES": "off",
        MARKER: marker,
    }
    return {**base, **own, **more}


class AgentProcess:
    """`stderr` is a file, so that it never blocks; `unread_stderr` makes it a pipe that nobody reads."""

    def __init__(self, process: asyncio.subprocess.Process, stderr: Path, pipe: int | None) -> None:
        self._process = process
        self._stderr = stderr
        self._pipe = pipe
        self.reading = asyncio.Event()
        self.reading.set()

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        stderr: Path,
        unread_stderr: bool = False,
    ) -> AgentProcess:
        pipe = None
        if unread_stderr:
            pipe, target = os.pipe()
        else:
            target = os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                env=dict(env),
                cwd=cwd,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=target,
                start_new_session=os.name == "posix",
            )
        finally:
            os.close(target)
        return cls(process, stderr, pipe)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._process.returncode

    @property
    def stderr(self) -> str:
        return self._stderr.read_text("utf-8", "replace") if self._stderr.exists() else ""

    async def write(self, data: bytes) -> None:
        """Write the bytes as they are. That the agent has gone is not an error here: its silence will be one."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    async def lines(self) -> AsyncIterator[bytes]:
        """Each line of stdout without its end; `reading` is the gate of a slow reader."""
        assert self._process.stdout is not None
        rest = bytearray()
        while True:
            await self.reading.wait()
            data = await self._process.stdout.read(65536)
            if not data:
                break
            rest += data
            *whole, tail = rest.split(b"\n") if b"\n" in data else [rest]
            for line in whole:
                yield bytes(line)
            rest = bytearray(tail)
        if rest:
            yield bytes(rest)

    def eof(self) -> None:
        """Close the agent's stdin: the client has gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)

    def close_stdout(self) -> None:
        """Stop reading for good: what the agent writes from now on ends in EPIPE."""
        transport = self._process._transport  # type: ignore[attr-defined]
        transport.get_pipe_transport(1).close()

    async def ended(self, timeout: float) -> int:
        """Wait for the exit code."""
        return await asyncio.wait_for(self._process.wait(), timeout)

    async def close(self) -> None:
        """Let go of everything, killing the process if it still runs."""
        if self.code is None:
            self.kill()
        await self.ended(10)
        self._process._transport.close()  # type: ignore[attr-defined]
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
