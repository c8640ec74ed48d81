"""The parent's side of the child process: start it, learn its port, know how it ended, end it.

The child lives as long as its stdin is open. The system closes that when this process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from acp_adapter.errors import ProviderError
from acp_adapter.providers.local.server import Order

KEPT = {
    *("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "LANG", "LC_ALL"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV"),
}
"""What the child gets of the environment: nothing that could be a secret."""

LAST_WORDS = 5.0
"""Seconds a child gets to end once its stdin is closed."""


class Child:
    """A started child. All methods block; none needs an event loop."""

    def __init__(self, order: Order, folder: Path) -> None:
        self._log = order["log"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "acp_adapter.providers.local.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name.upper() in KEPT},
            start_new_session=True,
        )
        with contextlib.suppress(OSError):  # one that is dead already says so where its answer is read
            _pipe(self._process.stdin).write(json.dumps(order).encode() + b"\n")
            _pipe(self._process.stdin).flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    def port(self) -> int:
        """Wait until the model is loaded. Raises ProviderError where it can't be."""
        line = _pipe(self._process.stdout).readline()
        try:
            return int(json.loads(line)["port"])
        except (ValueError, KeyError, TypeError):
            raise ProviderError(f"The embedded model can't be loaded: {self._failure(line)}") from None

    def running(self) -> bool:
        return self._process.poll() is None

    def ending(self, wait: float = 1.0) -> str:
        """How it ended, as a sentence; empty where it runs on after `wait` seconds."""
        try:
            code = self._process.wait(wait)
        except subprocess.TimeoutExpired:
            return ""
        if code == -signal.SIGKILL if sys.platform != "win32" else False:
            return f"Its process was killed, perhaps because memory ran out. {self._see_log()}"
        return f"Its process ended with code {code}. {self._see_log()}"

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> None:
        """Close the pipe it lives by, and see it gone."""
        with contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(LAST_WORDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()

    def _failure(self, line: bytes) -> str:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return f"{json.loads(line)['error']}. {self._see_log()}"
        return self.ending(LAST_WORDS) or f"it gave no answer. {self._see_log()}"

    def _see_log(self) -> str:
        return f"See {self._log}." if self._log else ""


def _pipe(stream: Any) -> Any:
    assert stream is not None
    return stream
