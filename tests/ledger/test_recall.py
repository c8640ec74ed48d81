"""One conversation can be searched and read message by message, however often it was compacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.errors import InvalidParams, SessionNotFound
from acp_adapter.ledger.db import SessionDB
from tests.ledger.conftest import answer, asks, change, new_session, result, rows, user
from tests.ledger.test_attachments import image, text, with_parts


def compacted_twice(db: SessionDB) -> None:
    """Three nodes, each with a message about a walrus; `a1` was carried over; `elsewhere` has one too."""
    for session, ids in (("elsewhere", ["e0"]), ("s", ["a0-first", "a1-carried"])):
        db.append(new_session(db, session), [user(f"walrus {name}", id=name) for name in ids])
    db.continue_compressed("s", "s-2", user("summary", id="sum-1"), db.conversation("s")[-1:])
    db.append("s", [answer("walrus b0", id="b0"), asks("c1"), result("c1", "walrus out", id="out")])
    db.continue_compressed("s", "s-3", user("summary", id="sum-2"), [])
    db.append("s", [user("walrus c0", id="c0")])


@pytest.mark.parametrize("node", ["s", "s-2", "s-3"])
def test_a_search_in_one_conversation_finds_what_was_compacted_away(db: SessionDB, node: str) -> None:
    compacted_twice(db)
    hits = db.search("walrus", session_id=node)
    assert {hit.message_id for hit in hits} == {"a0-first", "a1-carried", "b0", "out", "c0"}
    assert len(hits) == 5
    assert {hit.session_id for hit in hits} == {"s"}


def test_what_another_program_compacted_in_place_is_found_and_read_too(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user("walrus", id="old"), user("kept", id="new")])
    change(path, "UPDATE messages SET active = 0, compacted = 1 WHERE platform_message_id = 'old'")
    assert [(hit.message_id, hit.compacted) for hit in db.search("walrus", session_id="s")] == [("old", True)]
    assert db.find_message("s", "old").compacted


@pytest.mark.parametrize("node", ["s", "s-2", "s-3"])
def test_a_message_is_read_by_the_beginning_of_its_id(db: SessionDB, node: str) -> None:
    compacted_twice(db)
    assert db.find_message(node, "a0").text() == "walrus a0-first"
    assert db.find_message(node, " c0 ").text() == "walrus c0"
    assert db.find_message(node, "out").tool_call_id == "c1"


def test_a_message_that_compaction_copied_is_one_message(db: SessionDB, path: Path) -> None:
    compacted_twice(db)
    first = rows(path, "SELECT min(id) FROM messages WHERE platform_message_id = 'a1-carried'")[0][0]
    assert db.find_message("s", "a1").row == first


def test_an_id_that_is_not_the_one_of_one_message_is_refused_and_named(db: SessionDB) -> None:
    compacted_twice(db)
    with pytest.raises(InvalidParams, match="Several messages begin with 'a': a0-first, a1-carried"):
        db.find_message("s", "a")
    with pytest.raises(InvalidParams, match="begins with 'e0'"):
        db.find_message("s", "e0")
    for wild in ("%", "_0", "*", "a0-first-and-more"):
        with pytest.raises(InvalidParams, match="No message"):
            db.find_message("s", wild)
    with pytest.raises(InvalidParams, match="Which message"):
        db.find_message("s", "  ")
    with pytest.raises(SessionNotFound):
        db.find_message("nope", "a0")


def test_an_id_that_is_exactly_given_counts_though_others_begin_so(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("one", id="m"), user("two", id="m2")])
    assert db.find_message("s", "m").text() == "one"


def test_undone_messages_are_not_found(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("one", id="one"), user("two", id="two")])
    db.undo("s", "two")
    with pytest.raises(InvalidParams, match="No message"):
        db.find_message("s", "two")


def test_messages_of_other_programs_are_read_by_their_rows(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    insert = "INSERT INTO messages(id, session_id, role, content, timestamp) VALUES ({0}, 's', 'user', 'm{0}', 1.0)"
    change(path, *(insert.format(row) for row in (1, 2, 12)))
    assert db.find_message("s", "row-12").text() == "m12"
    assert db.find_message("s", "row-1").text() == "m1"
    with pytest.raises(InvalidParams, match="row-1, row-12, row-2"):
        db.find_message("s", "ro")


def test_a_picture_comes_with_its_message(db: SessionDB) -> None:
    picture = with_parts(text("look"), image(1))
    db.append(new_session(db, "s"), [picture])
    assert db.find_message("s", picture.id[:8]).content == picture.content
