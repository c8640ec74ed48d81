"""Finds old text in a file and puts new text in its place, whatever the line ends of either."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterator

from acp_adapter.errors import ToolError
from acp_adapter.tools.text import Text, with_newlines

_SEARCHED_LINES = 5_000
_COMPARED = 200


def replaced(current: Text, old: str, new: str, every: bool = False) -> tuple[Text, list[int]]:
    """The text with `old` replaced once (or `every` time), and the lines (from 1) where that was.

    LF in `old` and `new` stands for the file's own line end; what is not replaced stays as it is, byte for byte.
    Raises ToolError when `old` is not found, or more than once without `every`; it says how many or what is near.
    """
    plain = current.text.replace("\r\n", "\n")
    wanted = old.replace("\r\n", "\n")
    if not wanted:
        raise ToolError("old_text is empty. Give the text to replace, or use write_file for a new file.")
    if wanted == new.replace("\r\n", "\n"):
        raise ToolError("old_text and new_text are the same, so there is nothing to change.")
    found = list(_matches(plain, wanted))
    at = [plain.count("\n", 0, start) + 1 for start in found[:1000]]
    if not found:
        raise ToolError("old_text is not in the file." + _near(plain, wanted))
    if len(found) > 1 and not every:
        places = ", ".join(map(str, at[:10])) + (", …" if len(found) > 10 else "")
        raise ToolError(
            f"old_text is in the file {len(found)} times (at lines {places}). "
            "Give more of the lines around it, or set replace_all."
        )
    return current.saying(_spliced(current, found, len(wanted), new)), at


def _matches(text: str, wanted: str) -> Iterator[int]:
    start = text.find(wanted)
    while start >= 0:
        yield start
        start = text.find(wanted, start + len(wanted))


def _spliced(current: Text, found: list[int], length: int, new: str) -> str:
    """Put `new` at the places `found`, which count a CRLF as one character."""
    pairs = _pairs(current.text)
    text = current.text
    parts: list[str] = []
    last = 0
    for start in found:
        begin, end = _real(start, pairs), _real(start + length, pairs)
        inner = Text(text[begin:end])
        newline = inner.newline if "\n" in inner.text else current.newline
        parts += [text[last:begin], with_newlines(new.replace("\r\n", "\n"), newline)]
        last = end
    return "".join(parts) + text[last:]


def _pairs(text: str) -> list[int]:
    """Where the CRLFs are, each counted as one character."""
    places: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = text.find("\r\n", at + 2)
    return places


def _real(position: int, pairs: list[int]) -> int:
    return position + bisect_left(pairs, position)


def _near(text: str, wanted: str) -> str:
    """A hint: the lines most like what was looked for, if any are."""
    lines = [line[:_COMPARED] for line in text.split("\n", _SEARCHED_LINES)[:_SEARCHED_LINES]]
    first = next((line.strip() for line in wanted.splitlines() if line.strip()), "")[:_COMPARED]
    close = difflib.get_close_matches(first, [line.strip() for line in lines if line.strip()], n=1, cutoff=0.6)
    if not close:
        return " Read the file again and copy the text exactly."
    at = next(n for n, line in enumerate(lines) if line.strip() == close[0])
    span = lines[at : at + min(len(wanted.splitlines()), 10)]
    shown = "\n".join(span)
    return f" The nearest is at line {at + 1}; copy it exactly, blanks included:\n{shown}"
