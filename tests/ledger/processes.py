"""Real processes for the tests of many writers: started, listened to, always ended."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = Path(__file__).with_name("writer.py")


class Writer:
    """A running `writer.py`. `lines` is everything it said so far."""

    def __init__(self, *args: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *map(str, args)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._grown = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def wait_for_lines(self, count: int, seconds: float = 30) -> None:
        with self._grown:
            enough = self._grown.wait_for(
                lambda: len(self.lines) >= count or self.process.poll() is not None, timeout=seconds
            )
        assert enough and len(self.lines) >= count, (self.lines, self.process.poll())

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self, seconds: float = 60) -> str:
        """Wait until it has ended; what it wrote to stderr."""
        self.process.wait(seconds)
        self._listener.join(seconds)
        assert self.process.stdout and self.process.stderr
        errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._grown:
                self.lines.append(line.rstrip("\n"))
                self._grown.notify_all()
        with self._grown:
            self._grown.notify_all()


@contextmanager
def running(*args: object) -> Iterator[Writer]:
    writer = Writer(*args)
    try:
        yield writer
    finally:
        if writer.process.poll() is None:
            writer.kill()
