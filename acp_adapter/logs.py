"""Logging to stderr or a file, never stdout: stdout carries protocol frames and nothing else."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

FORMAT = "%(asctime)s %(levelname).1s %(name)s: %(message)s"


def configure(level: str = "WARNING", file: Path | None = None) -> None:
    """Send all records of `level` and above to `file`, or to stderr where there is none.

    An unknown level counts as WARNING: a typo in the environment must not stop an editor's agent.
    """
    handler: logging.Handler
    handler = logging.FileHandler(file, encoding="utf-8") if file else logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(FORMAT))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    known = logging.getLevelNamesMapping()
    root.setLevel(known.get(level.upper(), logging.WARNING))
