"""Finds and ends the processes that a command started, also those that left its process group.

Every child carries a mark in its environment, which its own children inherit. On Linux the living are found by that
mark and by their session; elsewhere by process group alone. A daemon that leaves its session and wipes its
environment is not found.

Run as a program this file is the guard: it waits on stdin until the program that started it is gone, however that
died, and then ends what it left. `python orphans.py TOKEN`; stdin carries `+GROUP` and `-GROUP` lines.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path

MARK = "ACP_ADAPTER_CHILD"
"""The environment variable that marks a child. Its value is a token: `program.session.command`."""


_PROC = Path("/proc/self/environ").exists()


def living(token: str, groups: Collection[int]) -> list[int]:
    """What `os.kill` takes to reach every living process marked with `token` (or a token below it) or in `groups`."""
    if _PROC:
        mark = f"\0{MARK}={token}".encode()
        pids = (path.name for path in Path("/proc").iterdir())
        return [int(pid) for pid in pids if pid.isdigit() and _belongs(pid, mark, groups)]
    return [-group for group in groups if group_exists(group)]


def end(token: str, groups: Collection[int], grace: float = 0.5, patience: float = 2.0) -> None:
    """SIGTERM to all, SIGKILL to those that live on after `grace` seconds. Gives up `patience` seconds later."""
    asked: set[int] = set()
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, patience)):
        deadline = time.monotonic() + seconds
        pause = 0.01
        while found := living(token, groups):
            for pid in found:
                if number == signal.SIGKILL or pid not in asked:
                    asked.add(pid)
                    _send(pid, number)
            if time.monotonic() > deadline:
                break
            time.sleep(pause)
            pause = min(pause * 2, 0.1)


def group_lives(group: int) -> bool:
    """Whether a process of the group still lives. A zombie, which a careless pid 1 may keep for ever, does not."""
    return group_exists(group) and bool(living("-", (group,)))


def _belongs(pid: str, mark: bytes, groups: Collection[int]) -> bool:
    try:
        stat = Path("/proc", pid, "stat").read_bytes()
        state, _, group, session = stat.rpartition(b")")[2].split()[:4]
        if state in b"ZX" or int(pid) == os.getpid():
            return False
        if int(group) in groups or int(session) in groups:
            return True
        environ = b"\0" + Path("/proc", pid, "environ").read_bytes()
    except OSError:
        return False
    return mark + b"\0" in environ or mark + b"." in environ


def group_exists(group: int) -> bool:
    """Whether the number is still taken, by a living process or a zombie."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _guard(token: str) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        change = groups.add if line[0] == "+" else groups.discard
        change(int(line[1:]))
    end(token, groups)


if __name__ == "__main__":
    _guard(sys.argv[1])
