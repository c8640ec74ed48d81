"""The last words of a child that another library starts: its stderr, read as it comes, only the end of it kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from typing import TextIO

from attrs import define, field

KEPT = 4096
"""Bytes."""
PATIENCE = 1.0
"""Seconds to wait for the last words of a child that is gone; a child of its own may hold the pipe open."""


@define(eq=False)
class StderrTail:
    """Reads until every writer has closed. A thread of its own, since not every event loop can watch a pipe."""

    _kept: bytearray = field(factory=bytearray)
    _ended: threading.Event | None = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[TextIO]:
        """The end to write to, for as long as the child is being started or runs."""
        reading, writing = os.pipe()
        self._ended = threading.Event()
        threading.Thread(target=self._read, args=(reading, self._ended), name="mcp-stderr", daemon=True).start()
        with os.fdopen(writing, "w") as file:
            yield file

    async def last_line(self) -> str:
        """Once `opened` has ended: what the child said last, empty where it said nothing."""
        if self._ended:
            await asyncio.to_thread(self._ended.wait, PATIENCE)
        lines = self._kept.decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")[:300]

    def _read(self, reading: int, ended: threading.Event) -> None:
        with os.fdopen(reading, "rb", buffering=0) as file:
            while data := file.read(KEPT):
                self._kept += data
                del self._kept[:-KEPT]
        ended.set()
