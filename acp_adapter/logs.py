"""Logging to stderr or a file, never stdout: stdout carries protocol frames and nothing else."""

from __future__ import annotations

import logging
import os
import queue
import select
import threading
from collections.abc import Mapping
from pathlib import Path

FORMAT = "%(asctime)s %(levelname).1s %(name)s: %(message)s"

_WAITING = 1000
"""Records that wait for a reader of stderr; further ones are dropped and counted."""

_CHATTY = ("mcp",)
"""Libraries that log a traceback for each server that has gone, which is told in a sentence here: heard at DEBUG."""


def configure(level: str = "WARNING", file: Path | None = None) -> None:
    """Send all records of `level` and above, and Python's warnings, to `file`, or to stderr where there is none.

    An unknown level counts as WARNING, and a file that can't be written as none: a typo in the environment must
    not stop an editor's agent.
    """
    handler, fault = _handler(file)
    handler.setFormatter(logging.Formatter(FORMAT))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    known = logging.getLevelNamesMapping()
    root.setLevel(known.get(level.upper(), logging.WARNING))
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.CRITICAL if root.level > logging.DEBUG else logging.NOTSET)
    logging.captureWarnings(True)
    if fault:
        root.warning("The log goes to stderr, because its file can't be written: %s", fault)


def configure_from(environ: Mapping[str, str]) -> None:
    """`configure` with `ACP_ADAPTER_LOG_LEVEL` and `ACP_ADAPTER_LOG_FILE`."""
    file = environ.get("ACP_ADAPTER_LOG_FILE")
    configure(environ.get("ACP_ADAPTER_LOG_LEVEL", "WARNING"), Path(file).expanduser() if file else None)


def _handler(file: Path | None) -> tuple[logging.Handler, OSError | None]:
    if file is None:
        return DescriptorHandler(), None
    try:
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o600))
        return logging.FileHandler(file, encoding="utf-8"), None
    except OSError as fault:
        return DescriptorHandler(), fault


class DescriptorHandler(logging.Handler):
    """Writes to a file descriptor, stderr by default, and never makes the caller wait.

    An editor need not read its agent's stderr. When the pipe is full, records wait in a short queue; what does not
    fit is dropped, and the next line that goes through says how much that was.
    """

    def __init__(self, fd: int = 2) -> None:
        super().__init__()
        self._fd = fd
        self._lines: queue.Queue[str] = queue.Queue(_WAITING)
        self._dropped = 0
        # A daemon, because a thread that waits in write() can't be stopped.
        threading.Thread(target=self._pump, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as fault:  # noqa: BLE001  (what a logged object's __str__ may raise must not reach the caller)
            line = f"A log message of {record.pathname}:{record.lineno} can't be shown: {fault!r}"
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._dropped += 1

    def flush(self) -> None:
        """Wait for the thread to write what waits, for a fifth of a second at most."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, 0.2)

    def _pump(self) -> None:
        while True:
            line = self._lines.get()
            dropped, self._dropped = self._dropped, 0
            if dropped:
                line += f"\n({dropped} more messages were dropped: nobody read them)"
            try:
                self._write(line.encode("utf-8", "replace") + b"\n")
            except OSError:
                return  # closed: the queue fills up, and everything is dropped
            finally:
                self._lines.task_done()

    def _write(self, data: bytes) -> None:
        # Not through sys.stderr, whose lock a thread that waits would hold at the interpreter's end.
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
