"""Glob patterns: `*`, `?` and `[a-z]` within a name, `**` for any folders, and `{a,b}`.

A pattern without a slash matches in every folder, as in .gitignore. Matching takes time proportional to the path,
whatever the pattern: a model's pattern must not hold up the loop.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from itertools import pairwise

from attrs import frozen

from acp_adapter.errors import ToolError

_MAGIC = re.compile(r"[*?\[{]")
_MOST_ALTERNATIVES = 100

Name = Callable[[str], object] | None
"""Matches one name of a path; None stands for `**`."""


@frozen
class Glob:
    """A pattern, ready to match. `folder` holds the plain folders that it begins with, perhaps none."""

    folder: str
    hidden: bool
    _alternatives: tuple[tuple[Name, ...], ...]

    def matches(self, path: str) -> bool:
        """Whether a path relative to `folder`, with forward slashes, matches as a whole."""
        names = path.split("/")
        return any(_matches(names, pattern) for pattern in self._alternatives)


def parse(pattern: str) -> Glob:
    """Raises ToolError for a pattern that makes no sense."""
    if not pattern.strip("/"):
        raise ToolError("pattern must be a glob pattern such as '*.py' or 'src/**/*.ts'.")
    parts = pattern.split("/")
    plain = 0
    while plain < len(parts) - 1 and not _MAGIC.search(parts[plain]):
        plain += 1
    folder = "/".join(parts[:plain]) or ("/" if plain else "")
    rest = "/".join(parts[plain:]) if plain or len(parts) > 1 else f"**/{pattern}"
    if ".." in rest.split("/"):
        raise ToolError("'..' may only stand at the beginning of a glob pattern. Use path for the folder.")
    hidden = any(part.startswith(".") for part in re.split(r"[/{,]", rest))
    return Glob(folder, hidden, tuple(_names(each) for each in _expanded(rest)))


def _expanded(pattern: str) -> list[str]:
    """`a.{b,c}` → `a.b`, `a.c`; a brace without a comma or an end means itself."""
    waiting, done = [pattern], []
    while waiting:
        each = waiting.pop()
        found = re.search(r"\{([^{}]*,[^{}]*)\}", each)
        if not found:
            done.append(each)
            continue
        waiting += [each[: found.start()] + part + each[found.end() :] for part in found[1].split(",")]
        if len(waiting) + len(done) > _MOST_ALTERNATIVES:
            raise ToolError(f"The glob pattern has more than {_MOST_ALTERNATIVES} alternatives in braces.")
    return done


def _names(pattern: str) -> tuple[Name, ...]:
    parts = [part for part in pattern.split("/") if part]
    kept = [part for part, following in pairwise([*parts, ""]) if (part, following) != ("**", "**")]
    return tuple(None if part == "**" else re.compile(fnmatch.translate(part)).match for part in kept)


def _matches(names: list[str], pattern: tuple[Name, ...]) -> bool:
    """Steps through the path with the set of all places in the pattern where it can be."""
    places = _after_empty({0}, pattern)
    for name in names:
        reached = {
            at if pattern[at] is None else at + 1 for at in places if at < len(pattern) and _takes(pattern[at], name)
        }
        places = _after_empty(reached, pattern)
        if not places:
            return False
    return len(pattern) in places


def _takes(name: Name, text: str) -> bool:
    return name is None or bool(name(text))


def _after_empty(places: set[int], pattern: tuple[Name, ...]) -> set[int]:
    """The places reached when `**` stands for no folder at all."""
    return places | {at + 1 for at in places if at < len(pattern) and pattern[at] is None}
