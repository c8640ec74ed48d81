"""Checkpoints: which changes of a session can be taken back, what that would do, and doing it.

The edits of a conversation are folded into steps: the changes of one turn. Taking back goes from the newest step
backwards; what was taken back can be brought back until something else is changed. Both put files to a state that is
on record, and both are changes on record themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from attrs import define, evolve, field, frozen

from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.events import Noticed
from acp_adapter.agent.history import LedgerHistory
from acp_adapter.errors import AcpAdapterError, ToolError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.file_edits import EditKind, FileEdit, FileState
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools import documents, line_diff
from acp_adapter.tools.file_state import captured
from acp_adapter.tools.paths import shown
from acp_adapter.tools.port import ToolContext
from acp_adapter.tools.restoring import restore, same, text_of
from acp_adapter.tools.text import lines, unix

Verdict = Literal["restore", "same", "foreign", "lost"]
"""What is to become of a file: put back; it is so already; somebody else changed it since; what it was is not kept."""


LOOKED_AT = 200
"""Files that are compared when a session is opened."""
NAMED = 10
"""Files that are named then."""

log = logging.getLogger(__name__)


@frozen
class Step:
    """The changes of one turn, in order."""

    turn: str
    edits: Sequence[FileEdit]


@frozen
class Undone:
    """Steps that were taken back at once, newest first, under the turn of the last of them."""

    turn: str
    steps: Sequence[Step]
    edits: list[FileEdit]


@define
class Story:
    """Steps that hold, oldest first, and what was taken back and can be brought back, newest last."""

    done: list[Step] = field(factory=list)
    undone: list[Undone] = field(factory=list)

    @classmethod
    def of(cls, edits: Iterable[FileEdit]) -> Story:
        story = cls()
        for edit in edits:
            if edit.kind == "undo":
                story._undo(edit)
            elif edit.kind == "redo":
                story._redo(edit.turn)
            else:
                story._edit(edit)
        return story

    def back_to(self, turn: str) -> list[Step]:
        """The steps from that turn's on, newest first; none where the turn changed no file."""
        at = next((at for at, step in enumerate(self.done) if step.turn == turn), len(self.done))
        return self.done[at:][::-1]

    def _edit(self, edit: FileEdit) -> None:
        self.undone.clear()
        earlier = self.done.pop().edits if self.done and self.done[-1].turn == edit.turn else ()
        self.done.append(Step(edit.turn, (*earlier, edit)))

    def _undo(self, edit: FileEdit) -> None:
        if self.undone and self.undone[-1].turn == edit.turn:
            self.undone[-1].edits.append(edit)
            return
        steps = self.back_to(edit.turn)
        del self.done[len(self.done) - len(steps) :]
        self.undone.append(Undone(edit.turn, steps, [edit]))

    def _redo(self, turn: str) -> None:
        if self.undone and self.undone[-1].turn == turn:
            self.done += self.undone.pop().steps[::-1]


@frozen
class Planned:
    """One file: what it is now, what it was, and what is to become of it. `added` and `removed` count lines from now
    to then, None for what is no text."""

    path: Path
    now: FileState
    then: FileState
    verdict: Verdict
    added: int | None = None
    removed: int | None = None


@frozen
class Outcome:
    """What became of the files; `failed` are sentences."""

    restored: Sequence[Planned]
    left: Sequence[Planned]
    failed: Sequence[str]


@frozen
class Checkpoints:
    """The changes of one session. Every method raises LedgerError, and ToolError where the editor stays silent."""

    ledger: Ledger
    workspace: Workspace

    async def story(self) -> Story:
        return Story.of(await self._edits())

    async def plan_undo(self, steps: Sequence[Step]) -> list[Planned]:
        """What taking these steps back would do: each file as it was before the oldest of them."""
        return await self._plan(edit for step in reversed(steps) for edit in step.edits)

    async def plan_redo(self, undone: Undone) -> list[Planned]:
        """What bringing this back would do."""
        return await self._plan(undone.edits)

    async def apply(self, plan: Sequence[Planned], kind: EditKind, turn: str, *, overwrite: bool) -> Outcome:
        """Put the files back, each by itself. What somebody else changed is left alone without `overwrite`."""
        history = self.workspace.history
        assert isinstance(history, LedgerHistory)
        ctx = evolve(self._context(), history=evolve(history, kind=kind, turn=turn))
        restored, left, failed = [], [], []
        for planned in plan:
            if planned.verdict == "lost" or (planned.verdict == "foreign" and not overwrite):
                left.append(planned)
                continue
            try:
                await self._put_back(planned, ctx)
                restored.append(planned)
            except ToolError as fault:
                failed.append(fault.message)
        return Outcome(restored, left, failed)

    async def differing(self) -> list[Path]:
        """The files that are not as this conversation left them, of the newest LOOKED_AT that it changed."""
        last = {edit.path: edit.after for edit in await self._edits()}
        newest = list(last.items())[-LOOKED_AT:]
        return [path for path, left in newest if not await self._is_still(path, left)]

    async def warning(self) -> Noticed | None:
        """What to tell who opens the session, where files are not as it left them. Never raises."""
        try:
            found = await self.differing()
        except AcpAdapterError as fault:
            log.warning("the files of %s were not compared: %s", self.workspace.session_id, fault)
            return None
        if not found:
            return None
        names = ", ".join(shown(path, self._context()) for path in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        return Noticed("warning", "Files are not as the conversation left them", f"{names}{more}")

    async def _is_still(self, path: Path, left: FileState) -> bool:
        """The editor is asked only where the disk says something else: there may be unsaved changes."""
        now = await asyncio.to_thread(captured, path)
        if same(now, left):
            return True
        now, left = await documents.state(path, self._context()), await self._whole(left)
        return same(now, left)

    async def _put_back(self, planned: Planned, ctx: ToolContext) -> None:
        """What is so already is on record as put back too, so that the step counts as taken back."""
        if planned.verdict == "same" and ctx.history:
            await ctx.history.begin(planned.path, planned.now, planned.now, ctx.call_id)
        else:
            await restore(planned.path, planned.then, ctx)

    async def _plan(self, edits: Iterable[FileEdit]) -> list[Planned]:
        then: dict[Path, FileState] = {}
        for edit in edits:
            then.setdefault(edit.path, edit.before)
        last = {edit.path: edit for edit in await self._edits()}
        return [await self._planned(path, then[path], last) for path in sorted(then)]

    async def _planned(self, path: Path, then: FileState, last: Mapping[Path, FileEdit]) -> Planned:
        now, then = await documents.state(path, self._context()), await self._whole(then)
        verdict = await self._verdict(now, then, last[path])
        added, removed = await asyncio.to_thread(_counts, now, then)
        return Planned(path, now, then, verdict, added, removed)

    async def _verdict(self, now: FileState, then: FileState, last: FileEdit) -> Verdict:
        """What this session left, or was about to change when it was cut off, is its own."""
        if same(now, then) and then.mode in (None, now.mode):
            return "same"
        if then.kind == "other" or (then.hash and then.data is None):
            return "lost"
        own = [await self._whole(state) for state in (last.after, last.before)]
        return "restore" if any(same(now, state) for state in own) else "foreign"

    async def _whole(self, state: FileState) -> FileState:
        """The state with its content, where that is kept."""
        if state.hash is None or state.data is not None:
            return state
        return evolve(state, data=await self.ledger(SessionDB.content, state.hash))

    async def _edits(self) -> list[FileEdit]:
        return await self.ledger(SessionDB.edits, self.workspace.session_id)

    def _context(self) -> ToolContext:
        return self.workspace.context("")


def _counts(now: FileState, then: FileState) -> tuple[int | None, int | None]:
    """Lines added and removed; what is absent has none."""
    sides = []
    for state in (now, then):
        text = text_of(state)
        if text is None and state.kind != "absent":
            return None, None
        sides.append([unix(line) for line in lines(text.text)] if text else [])
    return line_diff.counts(*sides)
