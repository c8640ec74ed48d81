"""Glob patterns: `*` and `?` within a name, `**` across folders, `[a-z]`, and `{a,b}`.

A pattern without a slash matches in every folder, as in .gitignore.
"""

from __future__ import annotations

import re

from acp_adapter.errors import ToolError

_MAGIC = re.compile(r"[*?\[{]")
_MOST_ALTERNATIVES = 100


def split(pattern: str) -> tuple[str, str]:
    """The plain folders that a pattern begins with (perhaps empty), and the rest, which has the first wildcard.

    `src/api/*.py` → `src/api`, `/*.py`. A rest that begins with a slash is matched in that folder itself.
    """
    if "/" not in pattern.strip("/"):
        anchored = pattern.startswith("/")
        return ("/" if anchored else "", pattern)
    parts = pattern.split("/")
    plain = 0
    while plain < len(parts) - 1 and not _MAGIC.search(parts[plain]):
        plain += 1
    folder = "/".join(parts[:plain])
    if pattern.startswith("/") and not folder:
        folder = "/"
    return folder, "/" + "/".join(parts[plain:])


def compiled(pattern: str) -> re.Pattern[str]:
    """Matches whole relative paths with forward slashes. Raises ToolError for a pattern that makes no sense."""
    anchored = "/" in pattern
    choices = [_translated(each.lstrip("/")) for each in _alternatives(pattern)]
    prefix = "" if anchored else "(?:.*/)?"
    try:
        return re.compile(f"{prefix}(?:{'|'.join(choices)})", re.DOTALL)
    except re.error as fault:
        raise ToolError(f"{pattern!r} is not a glob pattern: {fault}.") from fault


def wants_hidden(pattern: str) -> bool:
    """Whether a part of the pattern itself begins with a dot."""
    return any(part.startswith(".") for part in re.split(r"[/{,]", pattern))


def _alternatives(pattern: str) -> list[str]:
    """`a.{b,c}` → `a.b`, `a.c`; an unclosed brace means itself."""
    found = re.search(r"\{([^{}]*,[^{}]*)\}", pattern)
    if not found:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    expanded = [each for part in found[1].split(",") for each in _alternatives(before + part + after)]
    if len(expanded) > _MOST_ALTERNATIVES:
        raise ToolError("The glob pattern has too many alternatives in braces.")
    return expanded


def _translated(pattern: str) -> str:
    out = []
    for token in re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", pattern, re.DOTALL):
        out.append(_TOKENS.get(token) or _one(token))
    return "".join(out)


_TOKENS = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _one(token: str) -> str:
    if len(token) == 1:
        return re.escape(token)
    inner = token[1:-1].replace("\\", "\\\\")
    return f"[^/{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
