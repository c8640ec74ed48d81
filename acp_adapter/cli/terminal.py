"""The terminal itself: single keys, child processes that Ctrl-C must not reach, and text made safe to show.

Everything here that only POSIX or only Windows has stays in this file.
"""

from __future__ import annotations

import asyncio
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


async def read_key() -> str:
    """The next key pressed in the terminal, "" at its end. What was typed before the question is thrown away,
    so that it can't answer it."""
    return await (_windows_key() if WINDOWS else _posix_key())


async def _posix_key() -> str:
    import termios  # only POSIX has it
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    loop = asyncio.get_running_loop()
    pressed: asyncio.Future[bytes] = loop.create_future()

    def ready() -> None:
        if not pressed.done():
            pressed.set_result(os.read(fd, 64))

    tty.setcbreak(fd, termios.TCSAFLUSH)
    loop.add_reader(fd, ready)
    try:
        return (await pressed).decode("utf-8", "replace")[:1]
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


async def _windows_key() -> str:
    import msvcrt  # only Windows has it

    keyboard: Any = msvcrt
    while keyboard.kbhit():
        keyboard.getwch()
    while not keyboard.kbhit():  # noqa: ASYNC110  (the console has nothing to wait on)
        await asyncio.sleep(0.05)
    return str(keyboard.getwch())
