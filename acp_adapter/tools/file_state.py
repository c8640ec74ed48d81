"""The state of a path on disk, whatever stands there: captured before it is changed, and put back."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from acp_adapter.errors import ToolError
from acp_adapter.ledger.file_edits import ABSENT, LARGEST, FileState
from acp_adapter.tools import disk
from acp_adapter.tools.folder import Folder, held, is_link

PIECE = 1024 * 1024


def captured(path: Path) -> FileState:
    """What stands at a path, never an error; a content that can't be read is not in it."""
    try:
        with held(path.parent) as folder:
            found = folder.status(path.name)
            if found is None:
                return ABSENT
            if is_link(found):
                return FileState.of(os.fsencode(folder.readlink(path.name)), kind="link")
            if not stat.S_ISREG(found.st_mode):
                return FileState("other", stat.S_IMODE(found.st_mode))
            return _content(folder, path.name, stat.S_IMODE(found.st_mode))
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return FileState("other")


def put(path: Path, target: FileState) -> None:
    """Make the path what it was: a file of these bytes, a link, or nothing. Raises ToolError, a sentence about it."""
    try:
        with held(path.parent, make=True) as folder:
            there = folder.status(path.name)
            if is_link(there) or (there is not None and target.kind != "file"):
                folder.unlink(path.name)
            if target.kind == "link":
                folder.symlink(os.fsdecode(target.data or b""), path.name)
    except OSError as fault:
        raise ToolError(f"{path} can't be put back: {fault.strerror or fault}.") from fault
    if target.kind == "file":
        disk.write(path, target.data or b"")


def set_mode(path: Path, mode: int) -> None:
    """Give a file its permissions; one that is not there, as in an editor's buffer, has none."""
    with contextlib.suppress(OSError), held(path.parent) as folder:
        descriptor = folder.open(path.name, os.O_RDONLY)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)


def _content(folder: Folder, name: str, mode: int) -> FileState:
    """Read piece by piece, so that a file of any size is known by its hash."""
    digest, kept = hashlib.sha256(), bytearray()
    with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
            if len(kept) <= LARGEST:
                kept += piece
    return FileState("file", mode, digest.hexdigest(), bytes(kept) if len(kept) <= LARGEST else None)
