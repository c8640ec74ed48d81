"""The whole of an output that is longer than a result holds, in a private file that the model can page through."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import BinaryIO

from attrs import define, field

log = logging.getLogger(__name__)

LARGEST = 16 * 1024 * 1024
"""Bytes of one file; what read_file reads whole is a little more."""


@define(eq=False)
class KeptOutput:
    """`feed` it everything, from the first byte on. The file is made at the first call; a disk that refuses it costs
    no more than the file."""

    path: Path
    _file: BinaryIO | None = field(default=None, init=False)
    _size: int = field(default=0, init=False)
    _failed: bool = field(default=False, init=False)

    @classmethod
    def of(cls, folder: Path | None, name: str) -> KeptOutput | None:
        """None where nothing may be kept."""
        return cls(folder / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:80]}.txt") if folder else None

    @property
    def begun(self) -> bool:
        return self._size > 0 or self._failed

    @property
    def readable(self) -> bool:
        """Whether there is a file with all of it, or at least with its first LARGEST bytes."""
        return self._size > 0 and not self._failed

    def feed(self, data: bytes) -> None:
        if self._failed or self._size >= LARGEST:
            return
        try:
            file = self._file or self._opened()
            file.write(data[: max(LARGEST - self._size, 0)])
            file.flush()
            self._size += len(data)
        except OSError as fault:
            log.warning("%s can't be written: %s", self.path, fault)
            self._failed = True
        if self._failed or self._size >= LARGEST:
            self.close()

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _opened(self) -> BinaryIO:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._file = os.fdopen(descriptor, "wb")
        return self._file
