"""Where a command's result goes: standard output, or a private file that is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from acp_adapter.errors import InvalidParams


@contextmanager
def opened(path: Path | None) -> Iterator[Callable[[str], object]]:
    """A function that writes text as UTF-8. A file (0600) takes the place of an older one when all is written.

    Raises InvalidParams for a place that can't be written.
    """
    if path is None:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout.write
        return
    try:
        with _special(path) if path.exists() and not path.is_file() else _replaced(path.resolve()) as file:
            yield file.write
    except OSError as fault:
        raise InvalidParams(f"{path} can't be written: {fault.strerror or fault}.") from fault


def _special(path: Path) -> TextIO:
    """A device or a pipe is written to, never replaced."""
    return path.open("w", encoding="utf-8", errors="replace", newline="\n")


@contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
