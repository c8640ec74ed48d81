"""Who wrote a line is followed through later edits, moves, undone edits and other hands, in a real ledger."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.agent.blame import Line, blamed, place
from acp_adapter.errors import InvalidParams
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.file_edits import ABSENT, LARGEST, EditKind, FileState
from tests.ledger.conftest import new_session, user

FILE = Path("/work/project/a.py")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[SessionDB]:
    ledger = SessionDB.open(tmp_path / "state.db")
    yield ledger
    ledger.close()


class Writer:
    """A session that edits one file; each edit is a turn with a prompt of its own."""

    def __init__(self, db: SessionDB, name: str) -> None:
        self.db, self.id = db, new_session(db, name, title=f"title of {name}")
        self._calls = itertools.count(1)

    def edit(self, before: str | None, after: str | None, path: Path = FILE, kind: EditKind = "edit") -> int:
        call = f"{self.id}-{next(self._calls)}"
        self.db.append(self.id, [user(f"prompt of {call}")])
        return self.db.record_edit(self.id, path, (state(before), state(after)), kind=kind, call_id=call)


def state(text: str | None) -> FileState:
    return ABSENT if text is None else FileState.of(text.encode())


def by(found: list[Line]) -> list[str]:
    """For each line its call, or else what is known of it."""
    return [line.call_id or "" if line.by == "session" else line.by for line in found]


def test_each_line_is_its_writers_and_what_was_there_before_is_nobodys(db: SessionDB) -> None:
    one, two = Writer(db, "one"), Writer(db, "two")
    one.edit("a\nb\n", "a\nnew\nb\n")
    two.edit("a\nnew\nb\n", "a\nnew\nb\nlast\n")
    found = blamed(db, FILE, "a\nnew\nb\nlast\n")
    assert by(found) == ["before", "one-1", "before", "two-1"]
    assert (found[1].title, found[1].prompt, found[1].session_id) == ("title of one", "prompt of one-1", "one")


def test_a_line_that_moved_down_stays_its_writers(db: SessionDB) -> None:
    one = Writer(db, "one")
    one.edit(None, "x\n")
    one.edit("x\n", "y\ny\ny\nx\n")
    assert by(blamed(db, FILE, "y\ny\ny\nx\n", 4)) == ["one-1"]


def test_what_other_hands_wrote_in_between_is_theirs(db: SessionDB) -> None:
    one = Writer(db, "one")
    one.edit(None, "a\nb\n")
    one.edit("a\nhand\nb\n", "a\nhand\nb\nc\n")
    found = blamed(db, FILE, "top\na\nhand\nb\nc\n")
    assert by(found) == ["other", "one-1", "other", "one-1", "one-2"]
    assert found[0].call_id == "one-2" and found[2].call_id == "one-1"


def test_an_edit_that_was_taken_back_wrote_nothing_and_one_brought_back_did(db: SessionDB) -> None:
    one = Writer(db, "one")
    one.edit("a\n", "a\nb\n")
    one.edit("a\nb\n", "c\n")
    one.edit("c\n", "a\nb\n", kind="undo")
    assert by(blamed(db, FILE, "a\nb\n")) == ["before", "one-1"]
    one.edit("a\nb\n", "c\n", kind="redo")
    assert by(blamed(db, FILE, "c\n")) == ["one-2"]


def test_several_edits_taken_back_at_once_wrote_nothing(db: SessionDB) -> None:
    one = Writer(db, "one")
    one.edit("a\n", "b\n")
    one.edit("b\n", "c\n")
    one.edit("c\n", "a\n", kind="undo")
    assert by(blamed(db, FILE, "a\n")) == ["before"]


def test_an_edit_that_was_recorded_but_never_made_wrote_nothing(db: SessionDB) -> None:
    """As a process leaves it that was killed between the two."""
    one = Writer(db, "one")
    one.edit("a\n", "a\nb\n")
    one.edit("a\nb\n", "never\n")
    assert by(blamed(db, FILE, "a\nb\n")) == ["before", "one-1"]


def test_a_file_is_followed_through_a_move(db: SessionDB) -> None:
    one, old = Writer(db, "one"), Path("/work/project/old.py")
    one.edit("a\nb\n", "a\nb\nc\n", path=old)
    db.append("one", [user("move it")])
    db.record_edit("one", FILE, (ABSENT, state("a\nb\nc\nd\n")), call_id="move")
    db.record_edit("one", old, (state("a\nb\nc\n"), ABSENT), call_id="move")
    assert by(blamed(db, FILE, "a\nb\nc\nd\n")) == ["before", "before", "one-1", "move"]


def test_a_branch_does_not_claim_what_its_parent_wrote_unless_that_is_gone(db: SessionDB) -> None:
    Writer(db, "one").edit(None, "a\n")
    db.branch("one", "branch")
    assert blamed(db, FILE, "a\n")[0].session_id == "one"
    db.delete_session("one")
    assert blamed(db, FILE, "a\n")[0].session_id == "branch"


def test_line_ends_do_not_make_a_line_another_ones(db: SessionDB) -> None:
    one = Writer(db, "one")
    one.edit("a\r\n", "a\r\nb\r\n")
    assert by(blamed(db, FILE, "a\nb\n")) == ["before", "one-1"]


def test_without_the_content_nobody_can_say(db: SessionDB) -> None:
    one = Writer(db, "one")
    large = FileState.of(b"x" * (LARGEST + 1))
    db.append("one", [user("grow")])
    db.record_edit("one", FILE, (large, state("a\n")), call_id="c")
    one.edit("a\n", "a\nb\n")
    assert by(blamed(db, FILE, "a\nb\n")) == ["unknown", "one-1"]


def test_a_line_that_is_not_there_is_refused(db: SessionDB) -> None:
    with pytest.raises(InvalidParams, match="has 1 lines"):
        blamed(db, FILE, "a\n", 2)


def test_a_place_is_a_file_and_perhaps_a_line(tmp_path: Path) -> None:
    (tmp_path / "odd:7").touch()
    assert place("a.py:7", tmp_path) == (tmp_path / "a.py", 7)
    assert place("a.py", tmp_path) == (tmp_path / "a.py", None)
    assert place("odd:7", tmp_path) == (tmp_path / "odd:7", None)
    with pytest.raises(InvalidParams, match="from 1"):
        place("a.py:0", tmp_path)


@settings(max_examples=60)
@given(
    steps=st.lists(st.tuples(st.sampled_from(["one", "two", "hand"]), st.integers(0, 30), st.booleans()), max_size=14)
)
def test_any_order_of_edits_by_sessions_and_other_hands_is_told_right(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, bool]]
) -> None:
    """Lines that are all different have one true writer; a deleted line can't come back."""
    ledger = SessionDB.open(tmp_path_factory.mktemp("blame") / "state.db")
    writers = {name: Writer(ledger, name) for name in ("one", "two")}
    texts, owners = ["first\n", "second\n"], ["before", "before"]
    nobody = "before"
    for number, (who, at, deletes) in enumerate(steps):
        before = "".join(texts)
        if deletes and texts:
            del texts[at % len(texts)], owners[at % len(owners)]
        else:
            where = at % (len(texts) + 1)
            texts.insert(where, f"line {number}\n")
            owners.insert(where, nobody if who == "hand" else who)
        if who != "hand":
            writers[who].edit(before, "".join(texts))
            nobody = "other"
    found = blamed(ledger, FILE, "".join(texts))
    ledger.close()
    assert [line.session_id if line.by == "session" else line.by for line in found] == owners
