"""Files on disk: read whole or not at all, written so that a crash leaves the old or the new file, never a part.

Every path is resolved before it comes here, and used in its folder held open: see `acp_adapter.tools.folder`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acp_adapter.errors import ToolError
from acp_adapter.tools.folder import Folder, Kind, Moved, held, is_link
from acp_adapter.tools.paths import printable
from acp_adapter.tools.text import NotText, Text, decode

LARGEST = 20 * 1024 * 1024
"""Bytes of the largest file that is read whole."""
MOVED = "{path} leads to another place now than when it was permitted, so nothing was done. Try again."


def read(path: Path) -> Text | None:
    """A file's text, None where there is no file. Raises ToolError, a sentence about this path, for anything else."""
    try:
        with _faults(path, "read"), held(path.parent) as folder:
            data = _bytes(folder, path)
    except FileNotFoundError:
        return None
    try:
        return decode(data)
    except NotText as fault:
        raise ToolError(f"{path} can't be read as text: {fault} ({len(data):,} bytes).") from fault


def write(path: Path, data: bytes) -> None:
    """Replace or create a file atomically; its mode, owner and extended attributes stay, missing folders are made.

    A hard link to the old file keeps the old content. Raises ToolError, a sentence about this path.
    """
    with _faults(path, "written", " It is unchanged."), held(path.parent, make=True) as folder:
        _replace(folder, path, data)


def delete(path: Path) -> None:
    """Raises ToolError, a sentence about this path."""
    with _faults(path, "deleted"), held(path.parent) as folder:
        if is_link(folder.status(path.name)):
            raise Moved(f"{path} is a link")
        folder.unlink(path.name)


def listed(path: Path) -> list[str]:
    """The names in a folder as people read them: folders with a slash, links with where they lead. Raises ToolError."""
    if path.is_file():
        raise ToolError(f"{path} is a file. Use read_file.")
    with _faults(path, "listed"), held(path) as folder:
        entries = sorted(folder.entries(), key=lambda entry: (entry[0].casefold(), entry[0]))
        return [_entry(folder, name, kind) for name, kind in entries]


@contextmanager
def _faults(path: Path, what: str, more: str = "") -> Iterator[None]:
    """Makes a sentence of what the system refuses. A file that is not there may be no fault for who reads."""
    try:
        yield
    except Moved as fault:
        raise ToolError(MOVED.format(path=path)) from fault
    except NotADirectoryError as fault:
        raise ToolError(f"{path} can't be {what}: a part of it is a file, not a folder.{more}") from fault
    except OSError as fault:
        if isinstance(fault, FileNotFoundError) and what == "read":
            raise
        raise ToolError(f"{path} can't be {what}: {fault.strerror or fault}.{more}") from fault


def _bytes(folder: Folder, path: Path) -> bytes:
    status = folder.status(path.name or ".")
    if status and stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path} is a folder. Use list_directory.")
    if is_link(status):
        raise Moved(f"{path} is a link")
    with os.fdopen(folder.open(path.name, os.O_RDONLY), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{path} is not a regular file (a device, pipe or socket), so it is not read.")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        size = max(status.st_size, len(data))
        raise ToolError(
            f"{path} is too large to read whole ({size:,} bytes). Use grep, or run_command with head or sed."
        )
    return data


def _replace(folder: Folder, path: Path, data: bytes) -> None:
    old = _status(folder, path)
    temporary = f".{path.name[:100]}.{secrets.token_hex(4)}.tmp"
    mode = 0o666 if old is None else 0o600
    try:
        with os.fdopen(folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            if old is not None:
                _dress(file.fileno(), folder, path.name, old)
            file.flush()
            os.fsync(file.fileno())
        folder.rename(temporary, path.name)
    except BaseException:
        with contextlib.suppress(OSError):
            folder.unlink(temporary)
        raise
    folder.sync()


def _status(folder: Folder, path: Path) -> os.stat_result | None:
    old = folder.status(path.name)
    if old is None:
        return None
    if is_link(old):
        raise Moved(f"{path} is a link")
    if not stat.S_ISREG(old.st_mode):
        raise ToolError(f"{path} is not a regular file, so it is not written.")
    if not old.st_mode & 0o222:
        raise ToolError(f"{path} is read-only. Change its mode first if it is really to be written.")
    return old


def _dress(descriptor: int, folder: Folder, name: str, old: os.stat_result) -> None:
    """Give the new file what the old one had. An owner or attribute that may not be set is let go."""
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if sys.platform == "linux":
        with contextlib.suppress(OSError), os.fdopen(folder.open(name, os.O_RDONLY), "rb") as before:
            for attribute in os.listxattr(before.fileno()):
                os.setxattr(descriptor, attribute, os.getxattr(before.fileno(), attribute))
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _entry(folder: Folder, name: str, kind: Kind) -> str:
    told = printable(name)
    if kind == "link":
        with contextlib.suppress(OSError):  # it may be gone again
            return f"{told} -> {printable(folder.readlink(name))}"
    return told + "/" if kind == "folder" else told
