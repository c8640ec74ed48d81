"""Files on disk: read whole or not at all, written so that a crash leaves the old or the new file, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from pathlib import Path

from acp_adapter.errors import ToolError
from acp_adapter.tools.text import NotText, Text, decode

LARGEST = 20 * 1024 * 1024
"""Bytes of the largest file that is read whole."""


def read(path: Path) -> Text | None:
    """A file's text, None where there is no file. Raises ToolError, a sentence about this path, for anything else."""
    try:
        data = _read_bytes(path)
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise ToolError(f"{path} can't be read: {fault.strerror or fault}.") from fault
    try:
        return decode(data)
    except NotText as fault:
        raise ToolError(f"{path} can't be read as text: {fault} ({len(data):,} bytes).") from fault


def write(path: Path, data: bytes) -> None:
    """Replace or create a file atomically; its mode, owner and extended attributes stay, missing folders are made.

    A hard link to the old file keeps the old content. Raises ToolError, a sentence about this path.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as fault:
        raise ToolError(f"{path} can't be written: {fault.strerror or fault}. It is unchanged.") from fault


def delete(path: Path) -> None:
    """Raises ToolError, a sentence about this path."""
    try:
        path.unlink()
    except OSError as fault:
        raise ToolError(f"{path} can't be deleted: {fault.strerror or fault}.") from fault


def _read_bytes(path: Path) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    if path.is_dir():
        raise ToolError(f"{path} is a folder. Use list_directory.")
    with os.fdopen(os.open(path, flags), "rb") as file:
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


def _replace(path: Path, data: bytes) -> None:
    old = _status(path)
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    mode = 0o666 if old is None else 0o600
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            if old is not None:
                _dress(file.fileno(), path, old)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _status(path: Path) -> os.stat_result | None:
    try:
        old = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(old.st_mode):
        raise ToolError(f"{path} is not a regular file, so it is not written.")
    if not old.st_mode & 0o222:
        raise ToolError(f"{path} is read-only. Change its mode first if it is really to be written.")
    return old


def _dress(descriptor: int, path: Path, old: os.stat_result) -> None:
    """Give the new file what the old one had. An owner or attribute that may not be set is let go."""
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(path):
                os.setxattr(descriptor, name, os.getxattr(path, name))
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
