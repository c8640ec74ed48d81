"""The terminal: whether there is one, children that its Ctrl-C must not reach, and text made safe to show."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import Any

WINDOWS = sys.platform == "win32"

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe(text: str) -> str:
    """`text` without control characters and text-direction overrides: it can't move the cursor or hide anything.

    Escape sequences (a command's colours) go as a whole, line feeds and tabs stay, carriage returns become line feeds.
    """
    plain = _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _UNSAFE.sub("", plain)


def in_place(text: str) -> str:
    """`text` with a dot for every character that `safe` would take out, so that positions in it stay right."""
    return _UNSAFE.sub("·", text)


def one_line(text: str, width: int) -> str:
    """`text` safe, on one line, at most `width` characters long."""
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else flat[: max(0, width - 1)] + "…"


def detached() -> dict[str, Any]:
    """Arguments for a subprocess that is out of reach of this terminal's Ctrl-C: we decide what it means."""
    if WINDOWS:
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return {"start_new_session": True}


def typed() -> bool:
    """True where standard input is a keyboard, or nothing at all: then there is nothing to read in advance."""
    return sys.stdin is None or sys.stdin.closed or sys.stdin.isatty()


def interactive() -> bool:
    """True where a person can see a question and answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def quiet_broken_pipe() -> None:
    """Let a reader that went away (`… | head`) end this program without a word at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            os.dup2(devnull, stream.fileno())


def end_by_interrupt() -> int:
    """The exit code of a program that Ctrl-C ended."""
    return 128 + int(signal.SIGINT)
