"""File descriptors: taking stdin and stdout away from everyone else, and whole reads and writes on them."""

from __future__ import annotations

import io
import os
import select
import sys

CHUNK = 256 * 1024


def claim() -> tuple[int, int]:
    """Private descriptors of stdin and stdout, which children do not inherit. 0 becomes empty, 1 becomes stderr.

    So a print() or a child that writes to fd 1 lands on stderr, and a child that reads fd 0 finds its end at once.
    Raises OSError when stdin or stdout is closed.
    """
    os.fstat(0), os.fstat(1)  # before the first dup, which would take the place of a closed one
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    if nothing > 2:
        os.close(nothing)
    if sys.platform == "win32":
        import msvcrt

        for fd in (source, sink):
            msvcrt.setmode(fd, os.O_BINARY)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return source, sink


def read(fd: int) -> bytes:
    """Wait for bytes and read what is there; empty at the end, and when reading fails. May be non-blocking."""
    while True:
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:
            select.select([fd], [], [])
        except OSError:
            return b""


def write(fd: int, data: bytes) -> None:
    """Write all of it, waiting as long as that takes. Raises OSError when nobody reads any more."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            select.select([], [fd], [])
