"""Undo and redo against a model of a folder: whatever happens in whatever order, each file is what it must be."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from attrs import define, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.checkpoints import Checkpoints, Planned
from acp_adapter.agent.events import TurnEvent
from acp_adapter.agent.history import LedgerHistory
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.file_edits import EditKind
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools import documents
from acp_adapter.tools.text import Text, decode
from acp_adapter.transcript import Message

NAMES = ("a.txt", "deep/b.txt")
SAID = (b"one\n", b"two\r\nlines\r\n", "caf\u00e9\r\n".encode("latin-1"), b"", b"\xef\xbb\xbfmarked\n")
BINARY = (b"\0\1\2", b"\xff\0")

names = st.sampled_from(NAMES)
texts = st.sampled_from(SAID) | st.none()
contents = st.sampled_from(SAID + BINARY) | st.none()
Files = dict[str, bytes | None]


@define
class Step:
    """What a turn changed: each file as it was before."""

    turn: int
    before: Files = field(factory=dict)


class CheckpointMachine(RuleBasedStateMachine):
    @initialize(there=st.dictionaries(names, st.sampled_from(SAID + BINARY)))
    def begin(self, there: dict[str, bytes]) -> None:
        self.folder = Path(tempfile.mkdtemp()).resolve()
        self.files: Files = dict.fromkeys(NAMES)
        self.own: dict[str, tuple[bytes | None, ...]] = dict.fromkeys(NAMES, ())
        self.done: list[Step] = []
        self.undone: list[tuple[list[Step], Files]] = []
        self.turn = 0
        for name, data in there.items():
            self.by_hand(name, data)
        with closing(SessionDB.open(self.folder / "state.db")) as db:
            db.create_session("s", model="m", model_config={}, cwd=str(self.root))
        self.open()

    @property
    def root(self) -> Path:
        return self.folder / "project"

    def open(self) -> None:
        self.ledger = Ledger(self.folder / "state.db")
        workspace = Workspace("s", self.root, [self.root])
        workspace.history = LedgerHistory(self.ledger, "s", self.told)
        self.checkpoints = Checkpoints(self.ledger, workspace)

    def told(self, event: TurnEvent) -> None:
        raise AssertionError(f"nothing is to be told, but: {event}")

    @rule()
    def prompt(self) -> None:
        asyncio.run(self.ledger(SessionDB.append, "s", [Message("user", "next")]))
        self.turn += 1

    @rule(changes=st.lists(st.tuples(names, texts), min_size=1, max_size=4))
    def turn_of_the_agent(self, changes: list[tuple[str, bytes | None]]) -> None:
        self.prompt()
        for name, data in changes:
            self.edit(name, data)

    @rule(name=names, data=texts)
    def edit(self, name: str, data: bytes | None) -> None:
        """What the agent does with a text; it can't change what is no text, nor delete what is not there."""
        now = self.files[name]
        if now in BINARY or data == now:
            return
        asyncio.run(self._edit(self.root / name, None if data is None else decode(data)))
        self._changed(name, data)
        if not self.done or self.done[-1].turn != self.turn:
            self.done.append(Step(self.turn))
        self.done[-1].before.setdefault(name, now)
        self.undone.clear()

    async def _edit(self, path: Path, text: Text | None) -> None:
        ctx = self.checkpoints.workspace.context("call")
        async with documents.lock(path):
            document = await documents.load(path, ctx)
            if text is None:
                await documents.remove(document, ctx)
            else:
                await documents.save(document, text, ctx, whole=True)

    @rule(name=names, data=contents)
    def by_hand(self, name: str, data: bytes | None) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(data)
        self.files[name] = data

    @precondition(lambda self: self.done)
    @rule(overwrite=st.booleans(), steps=st.integers(1, 2))
    def undo(self, overwrite: bool, steps: int) -> None:
        story = asyncio.run(self.checkpoints.story())
        assert len(story.done) == len(self.done)
        if len(self.done) < steps:
            return
        chosen = story.done[-steps:][::-1]
        plan = asyncio.run(self.checkpoints.plan_undo(chosen))
        asyncio.run(self.apply(plan, "undo", chosen[-1].turn, overwrite))
        then: Files = {}
        for step in self.done[-steps:]:
            then = {**step.before, **then}
        found = self._restored(then, overwrite)
        if found:
            self.undone.append((self.done[-steps:], found))
            del self.done[-steps:]

    @precondition(lambda self: self.undone)
    @rule(overwrite=st.booleans())
    def redo(self, overwrite: bool) -> None:
        story = asyncio.run(self.checkpoints.story())
        assert len(story.undone) == len(self.undone)
        if not self.undone:
            return
        undone = story.undone[-1]
        plan = asyncio.run(self.checkpoints.plan_redo(undone))
        asyncio.run(self.apply(plan, "redo", undone.turn, overwrite))
        if self._restored(self.undone[-1][1], overwrite):
            self.done += self.undone.pop()[0]

    async def apply(self, plan: Sequence[Planned], kind: EditKind, turn: str, overwrite: bool) -> None:
        outcome = await self.checkpoints.apply(plan, kind, turn, overwrite=overwrite)
        assert not outcome.failed

    def _restored(self, then: Files, overwrite: bool) -> Files:
        """Put the model's files back; what each was, of those that were put back."""
        found: Files = {}
        for name, data in then.items():
            now = self.files[name]
            if overwrite or now == data or now in self.own[name]:
                found[name] = now
                self._changed(name, data)
        return found

    def _changed(self, name: str, data: bytes | None) -> None:
        self.own[name] = (data, self.files[name])
        self.files[name] = data

    @rule()
    def restart(self) -> None:
        asyncio.run(self.ledger.aclose())
        self.open()

    @invariant()
    def every_file_is_what_it_must_be(self) -> None:
        if hasattr(self, "ledger"):
            found: Files = {n: (self.root / n).read_bytes() if (self.root / n).exists() else None for n in NAMES}
            assert found == self.files
            left = {path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()}
            assert left <= set(NAMES), "something was left beside the files"

    @invariant()
    def who_opens_the_session_is_told_what_is_not_as_it_left_it(self) -> None:
        if hasattr(self, "ledger"):
            told = asyncio.run(self.checkpoints.differing())
            differs = [self.root / name for name in NAMES if self.own[name] and self.own[name][0] != self.files[name]]
            assert sorted(told) == sorted(differs)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            asyncio.run(self.ledger.aclose())
            shutil.rmtree(self.folder)


class TestCheckpoints(CheckpointMachine.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=40, stateful_step_count=25)
