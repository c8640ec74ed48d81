"""Single keys from the terminal. What only POSIX or only Windows has for it stays in this file."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from acp_adapter.cli.terminal import WINDOWS


@contextmanager
def single_keys() -> Iterator[Callable[[], Awaitable[str]]]:
    """Key by key instead of line by line: what is given reads the next key, and "" at the end of input.

    What was typed before is thrown away, so that it can't answer a question which nobody had seen yet: ask inside.
    """
    with _windows_keys() if WINDOWS else _posix_keys() as read:
        yield read


@contextmanager
def _posix_keys() -> Iterator[Callable[[], Awaitable[str]]]:
    import termios  # only POSIX has it
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    waiting = ""

    async def read() -> str:
        nonlocal waiting
        if not waiting:
            await _readable(fd)
            waiting = os.read(fd, 64).decode("utf-8", "replace")
        key, waiting = waiting[:1], waiting[1:]
        return key

    tty.setcbreak(fd, termios.TCSAFLUSH)
    try:
        yield read
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)


@contextmanager
def _windows_keys() -> Iterator[Callable[[], Awaitable[str]]]:
    import msvcrt  # only Windows has it

    keyboard: Any = msvcrt

    async def read() -> str:
        while not keyboard.kbhit():  # noqa: ASYNC110  (the console has nothing to wait on)
            await asyncio.sleep(0.05)
        return str(keyboard.getwch())

    while keyboard.kbhit():
        keyboard.getwch()
    yield read
