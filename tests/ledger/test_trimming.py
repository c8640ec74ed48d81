"""Trimming changes what the model is sent, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.errors import InvalidParams, LedgerError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.transcript import Message, Transcript
from tests.ledger.conftest import answer, asks, change, new_session, result, rows, texts, user


def sent(messages: list[Message]) -> list[object]:
    """What the model is sent in place of each message's content."""
    return [message.api_content for message in messages]


def test_the_model_is_sent_the_short_form_and_everyone_else_sees_the_whole(db: SessionDB) -> None:
    long = result("c1", "zebra " * 100)
    db.append(new_session(db, "s"), [user("q"), asks("c1"), long])
    db.trim("s", {long.id: "[cut]"})
    assert sent(db.conversation("s")) == [None, None, "[cut]"]
    assert texts(db.replay("s"))[-1] == "zebra " * 100
    assert [hit.message_id for hit in db.search("zebra")] == [long.id]
    db.trim("s", {long.id: ""})
    assert sent(db.conversation("s")) == [None, None, ""]


def test_a_message_that_the_model_is_not_sent_can_not_be_trimmed_and_nothing_else_is(db: SessionDB) -> None:
    old, kept, undone = user("old"), user("kept"), user("undone")
    db.append(new_session(db, "s"), [old, kept, undone])
    db.undo("s", undone.id)
    db.continue_compressed("s", "s-2", user("summary"), db.conversation("s")[-1:])
    for message_id in (old.id, undone.id, "nope"):
        with pytest.raises(InvalidParams, match=message_id):
            db.trim("s", {kept.id: "k", message_id: "x"})
    assert sent(db.replay("s")) == [None, None, None]
    db.trim("s", {kept.id: "k"})
    assert sent(db.conversation("s")) == [None, "k"]
    assert sent(db.messages("s")) == [None, None]


def test_branch_compaction_and_undo_keep_the_short_form(db: SessionDB) -> None:
    first, second = user("first"), answer("second")
    db.append(new_session(db, "s"), [first, second])
    db.trim("s", {first.id: "1", second.id: "2"})
    db.branch("s", "b")
    assert sent(db.conversation("b")) == ["1", "2"]
    db.continue_compressed("s", "s-2", user("summary"), db.conversation("s")[1:])
    assert sent(db.conversation("s")) == [None, "2"]
    assert sent(db.undo("b", second.id)) == ["2"]


def test_a_message_of_another_program_is_trimmed_by_the_id_it_is_known_by(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    change(path, "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('s', 'user', 'theirs', 1.0)")
    db.trim("s", {db.conversation("s")[0].id: "short"})
    assert sent(db.conversation("s")) == ["short"]


def test_what_another_process_trimmed_is_taken_in_at_the_next_look(db: SessionDB, path: Path) -> None:
    expanded = user("link", api_content="the whole file")
    db.append(new_session(db, "s"), [expanded, answer("a")])
    known = db.conversation("s")
    assert db.conversation_if_changed("s", known) is None
    other = SessionDB.open(path)
    for text in ("cut", "cut shorter"):
        other.trim("s", {expanded.id: text})
        changed = db.conversation_if_changed("s", known)
        assert changed and sent(changed) == [text, None]
        assert db.conversation_if_changed("s", changed) is None
        known = changed
    other.close()


async def test_a_transcript_trims_in_the_store_first(path: Path) -> None:
    ledger = Ledger(path)
    await ledger(SessionDB.create_session, "s", model="m", model_config={}, cwd="/w")
    transcript = Transcript("s", ledger)
    question, reply = user("q"), answer("a")
    await transcript.append(question, reply)
    await transcript.trim({reply.id: "short"})
    assert sent(transcript.messages) == [None, "short"]
    assert await ledger(SessionDB.conversation_if_changed, "s", transcript.messages) is None
    with pytest.raises(InvalidParams, match="nope"):
        await transcript.trim({question.id: "q", "nope": "x"})
    change(path, "CREATE TRIGGER refuse BEFORE UPDATE ON messages BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(LedgerError):
        await transcript.trim({question.id: "q"})
    assert sent(transcript.messages) == [None, "short"]
    await ledger.aclose()


async def test_a_transcript_without_a_store_trims_in_memory() -> None:
    question = user("q")
    transcript = Transcript("helper", None, [question])
    await transcript.trim({question.id: "short"})
    assert sent(transcript.messages) == ["short"]


def test_a_deleted_message_takes_its_trim_along_whoever_deletes_it(db: SessionDB, path: Path) -> None:
    message = user("q")
    db.append(new_session(db, "s"), [message])
    db.trim("s", {message.id: "short"})
    change(path, "PRAGMA foreign_keys = ON", "DELETE FROM messages")
    assert rows(path, "SELECT * FROM message_trims") == []
