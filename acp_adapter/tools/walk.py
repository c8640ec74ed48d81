"""A small stand-in for ripgrep, for machines without it: the same output for the two calls that are made here.

Run as a program in a process of its own, since a pattern can take for ever. `walk.py files HIDDEN FOLDER` prints
file names ended by NUL; `walk.py grep CASE PATTERN PATH` prints `path NUL line : text`. .gitignore files and hidden
files are respected, links to folders are not followed. Exit code 2, with a message on stderr, for a bad pattern.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import pathspec

_LARGEST = 20 * 1024 * 1024

Ignore = list[tuple[str, pathspec.GitIgnoreSpec]]


def walk(folder: str, hidden: bool, ignores: Ignore) -> Iterator[str]:
    """Paths of the files below a folder, sorted by folder, without what is ignored."""
    ignores = ignores + _ignore_file(folder)
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name == ".git" or (entry.name.startswith(".") and not hidden):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if _ignored(entry.path, is_folder, ignores):
            continue
        if is_folder:
            yield from _readable(entry.path, hidden, ignores)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _readable(folder: str, hidden: bool, ignores: Ignore) -> Iterator[str]:
    try:
        yield from walk(folder, hidden, ignores)
    except PermissionError:
        return


def _ignore_file(folder: str) -> Ignore:
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
            return [(folder, pathspec.GitIgnoreSpec.from_lines(file))]
    except OSError:
        return []


def _ignored(path: str, is_folder: bool, ignores: Ignore) -> bool:
    """The innermost file that says anything about the path decides."""
    for base, spec in reversed(ignores):
        relative = os.path.relpath(path, base).replace(os.sep, "/") + ("/" if is_folder else "")
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False


def _above(folder: str) -> Ignore:
    """The .gitignore files of the folders above, up to the repository's own, but for one that ignores the folder
    itself: it was asked for by name."""
    start = folder
    found: Ignore = []
    while not os.path.exists(os.path.join(folder, ".git")):  # noqa: PTH110, PTH118
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return []
        folder = above
        found = _ignore_file(folder) + found
    return [each for each in found if not _ignored(start, True, [each])]


def _matches(path: str, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, bytes]]:
    with open(path, "rb") as file:  # noqa: PTH123
        data = file.read(_LARGEST)
    if b"\0" in data:
        return
    for number, line in enumerate(data.splitlines(), 1):
        if pattern.search(line):
            yield number, line[:2000]


def _files(hidden: str, folder: str) -> int:
    for path in walk(folder, hidden == "yes", _above(folder)):
        sys.stdout.buffer.write(os.fsencode(path) + b"\0")
    return 0


def _grep(case: str, pattern: str, place: str) -> int:
    try:
        compiled = re.compile(pattern.encode(), re.IGNORECASE if case == "ignore" else 0)
    except re.error as fault:
        sys.stderr.write(f"regex parse error: {fault}\n")
        return 2
    paths = walk(place, False, _above(place)) if os.path.isdir(place) else [place]  # noqa: PTH112
    for path in paths:
        try:
            for number, line in _matches(path, compiled):
                sys.stdout.buffer.write(os.fsencode(path) + b"\0%d:%s\n" % (number, line))
        except OSError:
            continue
    return 0


if __name__ == "__main__":
    sys.exit(_files(*sys.argv[2:]) if sys.argv[1] == "files" else _grep(*sys.argv[2:]))
