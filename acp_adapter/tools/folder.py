"""A folder held open, so that what was permitted of a path is done at that very place.

Between the question where a path leads and the use of it, another program may put a symlink in the place of a folder or
file. So a resolved path is walked from its root, and no symlink is followed on the way: one that is there now was not
there when the path was resolved. What is done then is done in the folder that is held, wherever its name leads.

POSIX holds it by a descriptor. Windows has none for folders: there the path is looked at once more, directly before.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from attrs import frozen

HOLDS = os.open in os.supports_dir_fd
_HOLD = os.O_RDONLY | getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


Kind = Literal["folder", "link", "other"]


class Moved(OSError):
    """A path leads elsewhere than when it was resolved."""


@frozen
class Folder:
    """`descriptor` is None where the system can't hold a folder. Names are of entries directly in it.

    All methods raise OSError; a name that is a symlink is never followed.
    """

    path: Path
    descriptor: int | None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        return os.open(self._at(name), flags | _NO_LINK, mode, dir_fd=self.descriptor)

    def status(self, name: str) -> os.stat_result | None:
        """None where there is no such entry."""
        try:
            return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def rename(self, old: str, new: str) -> None:
        """Replaces what is there."""
        os.replace(self._at(old), self._at(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self.descriptor)

    def readlink(self, name: str) -> str:
        return os.readlink(self._at(name), dir_fd=self.descriptor)

    def symlink(self, target: str, name: str) -> None:
        os.symlink(target, self._at(name), dir_fd=self.descriptor)

    def entries(self) -> list[tuple[str, Kind]]:
        if self.descriptor is None:
            with os.scandir(self.path) as found:
                return [(entry.name, _kind(entry)) for entry in found]
        with self._readable() as descriptor, os.scandir(descriptor) as found:
            return [(entry.name, _kind(entry)) for entry in found]

    def sync(self) -> None:
        """Have the names in it on the disk, where the system can be asked for that."""
        if self.descriptor is not None:
            with contextlib.suppress(OSError), self._readable() as descriptor:
                os.fsync(descriptor)

    @contextmanager
    def _readable(self) -> Iterator[int]:
        """The folder opened for reading; holding it may need less of a right."""
        descriptor = os.open(".", os.O_RDONLY, dir_fd=self.descriptor)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)


@contextmanager
def held(path: Path, *, make: bool = False) -> Iterator[Folder]:
    """The folder at a resolved path; `make` makes what is missing of it. Raises OSError, and Moved for a symlink."""
    if not HOLDS:
        if make:
            path.mkdir(parents=True, exist_ok=True)
        if os.path.realpath(path) != str(path):
            raise Moved(f"{path} is a link")
        yield Folder(path, None)
        return
    descriptor = os.open(path.anchor, _HOLD)
    try:
        for name in path.parts[1:]:
            inner = _step(descriptor, name, make)
            os.close(descriptor)
            descriptor = inner
        yield Folder(path, descriptor)
    finally:
        os.close(descriptor)


def _step(descriptor: int, name: str, make: bool) -> int:
    try:
        return os.open(name, _HOLD, dir_fd=descriptor)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as fault:
        if is_link(Folder(Path(), descriptor).status(name)):
            raise Moved(f"{name} is a link") from fault
        raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=descriptor)
    return _step(descriptor, name, make=False)


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    return "folder" if entry.is_dir(follow_symlinks=False) else "other"


def is_link(status: os.stat_result | None) -> bool:
    return status is not None and stat.S_ISLNK(status.st_mode)
