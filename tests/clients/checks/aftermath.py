"""What must hold when the processes are gone: a sound private ledger, no child left, a quiet log."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil

NOISE = ("Traceback (most recent call last)", "was never awaited", "never retrieved", "ResourceWarning", "incident")
"""Words on stderr which say that something went wrong that nobody handled."""


def ledger_faults(home: Path) -> Iterator[str]:
    """SQLite's own verdict on every database in the folder."""
    for path in sorted(home.glob("*.db")):
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            rows = [row[0] for row in connection.execute("PRAGMA integrity_check")]
            rows += [f"foreign key: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
        yield from (f"{path.name}: {row}" for row in rows if row != "ok")


def privacy_faults(home: Path) -> Iterator[str]:
    """Others may read neither the folder nor the files that the agent made in it."""
    if os.name != "posix" or not home.exists():
        return
    if stat.S_IMODE(home.stat().st_mode) & 0o077:
        yield f"the folder {home} is open to others"
    for path in home.rglob("*"):
        if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield f"the file {path.relative_to(home)} is open to others"


def secret_faults(home: Path, secret: str) -> Iterator[str]:
    for path in home.rglob("*"):
        if path.is_file() and secret.encode() in path.read_bytes():
            yield f"the file {path.relative_to(home)} holds a secret"


def log_faults(stderr: str, secret: str) -> Iterator[str]:
    if secret in stderr:
        yield "stderr holds a secret"
    for line in stderr.splitlines():
        if any(word in line for word in NOISE):
            yield f"on stderr: {line[:300]}"


def left_processes(marker: str, folder: Path, timeout: float = 2.0) -> list[str]:
    """The processes that still run with the marker in their environment or inside the folder, after a grace time."""
    end = time.monotonic() + timeout
    while (left := list(_marked(marker, folder))) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def _marked(marker: str, folder: Path) -> Iterator[str]:
    for process in psutil.process_iter():
        try:
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            inside = Path(process.cwd()).is_relative_to(folder)
            if inside or marker in process.environ().values():
                yield f"{process.pid}: {' '.join(process.cmdline())[:200]}"
        except (psutil.Error, OSError):
            continue
