"""Watching: files that a session knows, compared before and after something else may write them.

A command can change anything. What the session has read or changed is looked at, within bounds, so that a change of
that is kept and can be taken back; what a command does to other files is its own affair.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from acp_adapter.ledger.file_edits import FileState
from acp_adapter.tools.file_state import captured
from acp_adapter.tools.restoring import same

FILES = 100
"""Files that are looked at, the newest."""
BYTES = 16 * 1024 * 1024
"""Bytes of them that are read before."""

Signature = tuple[int, ...] | None


@frozen
class Look:
    """A file as it was, and by what a change of it shows without reading it. `expected` is what a call beside the
    command makes of it."""

    state: FileState
    signature: Signature
    expected: FileState | None = None


def look(paths: Iterable[Path]) -> dict[Path, Look]:
    """These files as they are now, the last ones of the order first, as many as the bounds allow."""
    found: dict[Path, Look] = {}
    left = BYTES
    for path in list(dict.fromkeys(paths))[: -FILES - 1 : -1]:
        signature = _signature(path)
        size = signature[0] if signature else 0
        if size <= left:
            left -= size
            found[path] = Look(captured(path), signature)
    return found


def changes(before: dict[Path, Look]) -> list[tuple[Path, FileState, FileState]]:
    """What is another file now, with what it was and what it is."""
    found = []
    for path, seen in before.items():
        if _signature(path) != seen.signature:
            now = captured(path)
            if not _alike(now, seen.state) and not (seen.expected and _alike(now, seen.expected)):
                found.append((path, seen.state, now))
    return found


def _alike(now: FileState, then: FileState) -> bool:
    return same(now, then) and then.mode in (None, now.mode)


def _signature(path: Path) -> Signature:
    """Its first part is the size; None where there is no file."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode
