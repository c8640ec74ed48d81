"""Blame: which session and turn wrote each line of a file, from the edits on record.

The file as it is now is followed back through its edits by their contents. Lines that an edit brought are that turn's.
Where the contents do not meet, something else wrote in between: what is new there was written by other hands. What is
left in the end was there before the first edit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from attrs import define, field, frozen

from acp_adapter.errors import InvalidParams, ToolError
from acp_adapter.ledger.db import SessionDB, takes_long
from acp_adapter.ledger.file_edits import FileEdit, FileState
from acp_adapter.tools import disk, line_diff
from acp_adapter.tools.text import NotText, decode, lines, unix

By = Literal["session", "other", "before", "unknown"]
"""A session's edit; other hands (a person, another program, a command), after the edit that is named; before any
edit on record; not to be said, because a content is not kept."""


@frozen
class Line:
    """One line and who wrote it. `session_id`, `turn` (the prompt's id), `call_id` and `when` are those of the edit
    that wrote it, or after which other hands did; `prompt` is the first words of the turn."""

    number: int
    text: str
    by: By
    session_id: str | None = None
    title: str | None = None
    turn: str | None = None
    prompt: str | None = None
    call_id: str | None = None
    when: float | None = None


def place(text: str, cwd: Path) -> tuple[Path, int | None]:
    """What FILE or FILE:LINE names. Raises InvalidParams for a line that is none."""
    name, colon, number = text.rpartition(":")
    if colon and name and number.isdecimal() and not (cwd / text).exists():
        if int(number) < 1:
            raise InvalidParams("Lines count from 1.")
        return cwd / Path(name).expanduser(), int(number)
    return cwd / Path(text).expanduser(), None


@takes_long
def blamed(db: SessionDB, path: Path, text: str, number: int | None = None) -> list[Line]:
    """Every line of the file at a resolved path that says `text` now, or the one of that number, with who wrote it.

    Raises InvalidParams where there is no such line.
    """
    now = [unix(line) for line in lines(text)]
    if number is not None and not 1 <= number <= len(now):
        raise InvalidParams(f"{path} has {len(now)} lines, so there is no line {number}.")
    search = _Search(db, now)
    if number is not None:
        search.wanted = {number - 1}
    search.follow(path)
    shown = range(len(now)) if number is None else [number - 1]
    return [_line(db, at + 1, now[at].rstrip("\n"), *search.found.get(at, ("before", None))) for at in shown]


@define
class _Search:
    """Walks back: `lines` is what the file said, `owner` which line of today each of them became, None for one that
    is gone since; `found` is what is known of today's lines, `wanted` those that are not yet."""

    db: SessionDB
    lines: list[str]
    owner: list[int | None] = field(init=False)
    wanted: set[int] = field(init=False)
    found: dict[int, tuple[By, FileEdit | None]] = field(factory=dict)
    _texts: dict[str, list[str] | None] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.owner = list(range(len(self.lines)))
        self.wanted = set(range(len(self.lines)))

    def follow(self, path: Path) -> None:
        edits = self._of(path)
        while edits and self.wanted:
            at = self._met(edits)
            if at is None:
                if not self._back_to(edits[-1].after, "other", edits[-1]):
                    return
                continue
            edit = edits[at]
            del edits[at:]
            if self._says(edit.after):
                source = self._moved_from(edit)
                if not self._back_to(source.before if source else edit.before, "session", edit):
                    return
                edits = [one for one in self._of(source.path) if one.id < source.id] if source else edits

    def _of(self, path: Path) -> list[FileEdit]:
        """Taking back and bringing back write nothing new: what they put there was written before."""
        return [edit for edit in self.db.edits_of(path) if edit.kind in ("edit", "command")]

    def _met(self, edits: Sequence[FileEdit]) -> int | None:
        """The newest edit that left the file so, or that found it so and was not made or was taken back."""
        pairs = reversed(list(enumerate(edits)))
        return next((at for at, edit in pairs if self._says(edit.after) or self._says(edit.before)), None)

    def _says(self, state: FileState) -> bool:
        return self._text(state) == self.lines

    def _moved_from(self, edit: FileEdit) -> FileEdit | None:
        """The edit of the same call that took away the file from which this one was made."""
        if edit.before.kind != "absent" or not edit.call_id:
            return None
        gone = [
            one
            for one in self.db.edits_of_call(edit.session_id, edit.call_id)
            if one.after.kind == "absent" and self._text(one.before)
        ]
        return max(gone, key=lambda one: self._shared(one.before), default=None)

    def _shared(self, state: FileState) -> int:
        return sum(length for _, _, length in line_diff.matches(self._text(state) or [], self.lines))

    def _back_to(self, state: FileState, by: By, edit: FileEdit) -> bool:
        """Go on from what the file said then; what it did not say was written since. False where that is unknown."""
        older = self._text(state)
        if older is None:
            self._settle(set(self.wanted), "unknown", edit)
            return False
        owner: list[int | None] = [None] * len(older)
        for was, now, length in line_diff.matches(older, self.lines):
            owner[was : was + length] = self.owner[now : now + length]
        self._settle(self.wanted - set(owner), by, edit)
        self.lines, self.owner = older, owner
        return True

    def _settle(self, numbers: set[int], by: By, edit: FileEdit) -> None:
        self.found |= dict.fromkeys(numbers, (by, edit))
        self.wanted -= numbers

    def _text(self, state: FileState) -> list[str] | None:
        """The lines of a state; None for what is no text, or not kept."""
        if state.kind == "absent":
            return []
        if state.kind != "file" or state.hash is None:
            return None
        if state.hash not in self._texts:
            data, text = self.db.content(state.hash), None
            if data is not None:
                with contextlib.suppress(NotText):
                    text = [unix(line) for line in lines(decode(data).text)]
            self._texts[state.hash] = text
        return self._texts[state.hash]


def _line(db: SessionDB, number: int, text: str, by: By, edit: FileEdit | None) -> Line:
    if edit is None:
        return Line(number, text, by)
    title = db.session(edit.session_id).title
    prompt = None
    with contextlib.suppress(InvalidParams):
        prompt = " ".join(db.find_message(edit.session_id, edit.turn).text().split())[:200]
    return Line(
        number, text, by, edit.session_id, title, edit.turn or None, prompt, edit.call_id or None, edit.recorded_at
    )


def told(line: Line, age: str) -> str:
    """Who wrote the line, as a sentence. `age` is how long ago, in words."""
    where = f"session “{line.title or '(no title)'}” ({line.session_id})"
    prompt = f", for “{line.prompt}”" if line.prompt else ""
    return {
        "session": f"Line {line.number} was written by {where}, {age}{prompt}.",
        "other": f"Line {line.number} was written by other hands, after {where} had changed the file {age}.",
        "before": f"Line {line.number} was there before any change on record.",
        "unknown": f"Nobody can say who wrote line {line.number}: what the file was is not kept.",
    }[line.by]


def text_on_disk(path: Path) -> str:
    """What the file says, for a command. Raises InvalidParams."""
    try:
        found = disk.read(path)
    except ToolError as fault:
        raise InvalidParams(fault.message) from fault
    if found is None:
        raise InvalidParams(f"There is no file {path}.")
    return found.text
