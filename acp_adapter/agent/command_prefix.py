"""Which beginnings of a command may be allowed for good without allowing something else along with them."""

from __future__ import annotations

import re
import shlex

_SHELL = re.compile(r"[$`;&|<>(){}!\\\n\r%^*?\[\]~#]")
"""What a shell does more with than pass it on. Any of it, even quoted, and only the exact text can be remembered."""

_RISKY = re.compile(r"^--?(o|ex|e$|te|no-i|edit)")
"""Options by which git writes elsewhere (--output), runs programs (--ext-diff, --textconv) or reads outside."""

_PREFIXES = (
    *(f"git {verb}" for verb in ("add", "blame", "commit", "diff", "log", "show", "status")),
    *(f"cargo {verb}" for verb in ("build", "check", "clippy", "fmt", "test")),
    *(f"go {verb}" for verb in ("build", "test", "vet")),
    *(f"{manager} test" for manager in ("npm", "pnpm", "yarn")),
    "python -m pytest",
    "pytest",
    "mypy",
    "ruff check",
    "ruff format",
    "tsc",
)
"""What any arguments may follow. Test runners and builds run the project's own code: that is what is allowed."""


def prefix_of(command: str) -> str | None:
    """The beginning of `command` that may stand for others like it, None where only the exact text may."""
    return next((prefix for prefix in _PREFIXES if covers(prefix, command)), None)


def covers(prefix: str, command: str) -> bool:
    """Whether a plain command (no pipeline, substitution, redirection or second line) begins with these words."""
    words, wanted = _words(command), prefix.split()
    if words is None or not wanted or words[: len(wanted)] != wanted:
        return False
    return wanted[0] != "git" or not any(_RISKY.match(word) for word in words[len(wanted) :])


def _words(command: str) -> list[str] | None:
    if _SHELL.search(command):
        return None
    try:
        return shlex.split(command)
    except ValueError:
        return None
