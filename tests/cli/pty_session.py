"""A program in a real terminal, for tests: keys go in, and what a person would see is waited for, always bounded."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

SECONDS = 30.0

# The child makes the terminal its own and hears Ctrl-C, as in a shell, even where the tests run deaf to it.
_OWN_TERMINAL = (
    "import fcntl, os, signal, sys, termios; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
_SEQUENCES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]|\r")


class PtySession:
    """`with PtySession([...]) as terminal: terminal.expect("?"); terminal.send("y")`."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self._master, slave = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**env, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(slave)
        self.raw = b""
        self._from = 0

    @property
    def text(self) -> str:
        """All that was shown so far, without escape sequences."""
        return _SEQUENCES.sub(b"", self.raw).decode("utf-8", "replace")

    def expect(self, text: str) -> str:
        """Wait until `text` appears after what was expected before; what was shown up to its end."""
        deadline = time.monotonic() + SECONDS
        while (at := self.text.find(text, self._from)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"{text!r} did not appear. The terminal shows:\n{self.text}")
        start, self._from = self._from, at + len(text)
        return self.text[start : self._from]

    def send(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt(self, text: str | None = None) -> None:
        """Ctrl-C until `text` appears, or the program is gone: Python's line editor may miss one that comes just
        before it listens, and a person presses again."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            if text is not None and self.text.find(text, self._from) >= 0:
                return
            with contextlib.suppress(OSError):
                self.send("\x03")
            again = time.monotonic() + 1
            while self._read(again) and not (text and self.text.find(text, self._from) >= 0):
                pass

    def wait(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + SECONDS
        while self._read(deadline):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, deadline: float) -> bool:
        if not select.select([self._master], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        try:
            chunk = os.read(self._master, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            chunk = b""
        self.raw += chunk
        return bool(chunk)

    def __enter__(self) -> PtySession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._master)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)
