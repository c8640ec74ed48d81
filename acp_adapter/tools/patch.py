"""The patch format of `apply_patch`, on which some models were trained: parsed, and applied to a text. No I/O.

    *** Begin Patch
    *** Add File: PATH            lines with `+`
    *** Delete File: PATH
    *** Update File: PATH         perhaps `*** Move to: PATH`, then hunks
    @@ a line above the hunk      (may be left out)
     kept, -gone, +new lines
    *** End of File               the hunk lies at the file's end
    *** End Patch

A hunk has no line numbers: it is found by its kept and gone lines, after the hunk before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from attrs import define, field

from acp_adapter.errors import ToolError

Kind = Literal["add", "delete", "update"]

BEGIN, END, END_OF_FILE, MOVE = "*** Begin Patch", "*** End Patch", "*** End of File", "*** Move to: "
SECTIONS: dict[str, Kind] = {"*** Add File: ": "add", "*** Delete File: ": "delete", "*** Update File: ": "update"}

_LOOKALIKES = str.maketrans("‐‑‒–—−‘’‚‛“”„‟\u00a0\u2003\u2009\u202f", "------''''\"\"\"\"    ")


@define
class Hunk:
    """`above` is a line somewhere before it; `lines` are its signs (` `, `-`, `+`) and what follows them."""

    above: str = ""
    lines: list[tuple[str, str]] = field(factory=list)
    at_end: bool = False

    @property
    def old(self) -> list[str]:
        return [text for sign, text in self.lines if sign != "+"]


@define
class Section:
    """What the patch does to one file. `lines` are those of a file that is added."""

    kind: Kind
    path: str
    move_to: str = ""
    lines: list[str] = field(factory=list)
    hunks: list[Hunk] = field(factory=list)


def parse(text: str) -> list[Section]:
    """Raises ToolError that names the line which makes no sense."""
    lines = text.strip().splitlines()
    if not lines or lines[0].strip() != BEGIN or lines[-1].strip() != END:
        raise ToolError(f"A patch begins with the line `{BEGIN}` and ends with `{END}`.")
    sections: list[Section] = []
    for number, line in enumerate(lines[1:-1], 2):
        if started := _section(line):
            sections.append(started)
        elif not sections or not _taken(sections[-1], line):
            raise ToolError(f"Line {number} of the patch makes no sense there: {line[:120]!r}.")
    if not sections:
        raise ToolError("The patch changes no file.")
    return sections


def applied(current: str, hunks: Sequence[Hunk], newline: str = "\n") -> str:
    """`current` after the hunks; new lines end in `newline`, all others stay as they are, byte for byte.

    Raises ToolError that shows the lines which were not found.
    """
    lines = current.split("\n")
    at = 0
    for hunk in hunks:
        if hunk.above:
            at = _found(lines, [hunk.above], at, False, f"the line {hunk.above!r}") + 1
        if not hunk.old:
            at = _end(lines) if hunk.at_end or not hunk.above else at
        else:
            at = _found(lines, hunk.old, at, hunk.at_end, "these lines:\n" + "\n".join(hunk.old[:20]))
        put = _put(hunk, lines[at:], newline.removesuffix("\n"))
        lines[at : at + len(hunk.old)] = put
        at += len(put)
    return "\n".join(lines)


def _put(hunk: Hunk, lines: Sequence[str], ending: str) -> list[str]:
    """The hunk's lines as they will stand: those that are kept are the file's own."""
    own = iter(lines)
    put = []
    for sign, text in hunk.lines:
        if sign == "+":
            put.append(text + ending)
            continue
        line = next(own)
        if sign == " ":
            put.append(line)
    return put


def _section(line: str) -> Section | None:
    for mark, kind in SECTIONS.items():
        if line.startswith(mark) and line.removeprefix(mark).strip():
            return Section(kind, line.removeprefix(mark).strip())
    return None


def _taken(section: Section, line: str) -> bool:
    """Add a line to the section that it stands in; whether it has a place there."""
    if section.kind == "add":
        section.lines.append(line[1:])
        return line.startswith("+")
    if section.kind == "delete":
        return not line.strip()
    if line.startswith(MOVE) and not section.hunks:
        section.move_to = line.removeprefix(MOVE).strip()
        return bool(section.move_to)
    return _in_hunk(section, line)


def _in_hunk(section: Section, line: str) -> bool:
    if line.startswith("@@"):
        section.hunks.append(Hunk(line[2:].strip()))
        return True
    if not section.hunks:
        section.hunks.append(Hunk())
    hunk = section.hunks[-1]
    if line.strip() == END_OF_FILE:
        hunk.at_end = True
        return True
    sign, rest = (line[0], line[1:]) if line else (" ", "")
    if sign not in " -+":
        return False
    hunk.lines.append((sign, rest))
    return True


_LIKENESS: tuple[Callable[[str], str], ...] = (
    lambda line: line,
    str.rstrip,
    str.strip,
    lambda line: line.strip().translate(_LOOKALIKES),
)
"""How alike lines must be, the strictest first."""


def _found(lines: list[str], wanted: list[str], start: int, at_end: bool, what: str) -> int:
    places = range(start, len(lines) - len(wanted) + 1)
    ordered = list(reversed(places)) if at_end else list(places)
    for likeness in _LIKENESS:
        sought = [likeness(line) for line in wanted]
        seen = [likeness(line) for line in lines]
        for place in ordered:
            if seen[place : place + len(sought)] == sought:
                return place
    raise ToolError(f"The file does not hold {what}")


def _end(lines: list[str]) -> int:
    """Where lines are added at the end: before the emptiness after the last line feed."""
    return len(lines) - 1 if lines and lines[-1] == "" else len(lines)
