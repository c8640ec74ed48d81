"""A conversation that was cut off by a crash gets its end, once, in the ledger."""

from __future__ import annotations

from pathlib import Path

from acp_adapter.ledger.db import SessionDB
from acp_adapter.pairing import INTERRUPTED, paired
from acp_adapter.transcript import Message
from tests.ledger.conftest import answer, asks, new_session, result, rows, texts, user


def test_what_was_streamed_becomes_a_message_after_a_crash(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("q")])
    draft = Message(role="assistant", content="half an ans", reasoning="hm", tool_calls=asks("x").tool_calls)
    db.save_draft("s", Message(role="assistant", content="half", id=draft.id))
    db.save_draft("s", draft)
    assert texts(db.messages("s")) == ["q"]
    [kept] = db.recover("s")
    assert (kept.id, kept.text(), kept.reasoning) == (draft.id, "half an ans", "hm")
    assert (kept.finish_reason, kept.tool_calls) == ("interrupted", None)
    assert db.messages("s")[1] == kept
    assert db.recover("s") == []


def test_a_finished_message_takes_its_draft_away(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    done = answer("whole")
    db.save_draft("s", Message(role="assistant", content="who", id=done.id))
    db.append("s", [done])
    assert rows(path, "SELECT count(*) FROM message_drafts") == [(0,)]
    assert db.recover("s") == []


def test_an_empty_draft_leaves_no_message(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    db.save_draft("s", Message(role="assistant", content=""))
    assert db.recover("s") == []
    assert rows(path, "SELECT count(*) FROM message_drafts") == [(0,)]


def test_a_draft_is_neither_searched_nor_sent(db: SessionDB) -> None:
    new_session(db, "s")
    db.save_draft("s", Message(role="assistant", content="zebra"))
    assert db.search("zebra") == []
    assert db.conversation("s") == []


def test_each_open_call_of_the_last_step_gets_one_closing_result(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("q"), asks("a", "b", "c"), result("b")])
    closed = db.recover("s")
    assert [(m.tool_call_id, m.text(), m.tool_name) for m in closed] == [
        ("a", INTERRUPTED, "run_command"),
        ("c", INTERRUPTED, "run_command"),
    ]
    assert [m.details for m in closed] == [{"status": "failed"}] * 2
    assert db.recover("s") == []
    assert [m.tool_call_id for m in paired(db.conversation("s"))] == [None, None, "a", "b", "c"]


def test_results_come_before_what_was_streamed_after_them(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("q"), asks("a")])
    db.save_draft("s", Message(role="assistant", content="partial"))
    assert texts(db.recover("s")) == [INTERRUPTED, "partial"]


def test_an_old_gap_is_closed_for_the_model_but_not_in_the_file(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [asks("a"), user("went on")])
    assert db.recover("s") == []
    assert texts(paired(db.conversation("s"))) == ["", INTERRUPTED, "went on"]


def test_an_undone_call_is_not_open(db: SessionDB) -> None:
    ask = asks("a")
    db.append(new_session(db, "s"), [user("q"), ask])
    db.undo("s", ask.id)
    assert db.recover("s") == []


def test_a_session_that_another_process_runs_is_left_alone(db: SessionDB, path: Path) -> None:
    other = SessionDB.open(path, program="other")
    other.append(new_session(other, "s"), [asks("a")])
    other.acquire("s")
    assert db.recover("s") == []
    other.release("s")
    assert len(db.recover("s")) == 1
    other.close()


def test_loading_a_finished_session_writes_nothing(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user("q"), asks("a"), result("a"), answer("done")])
    before = rows(path, "SELECT * FROM messages"), path.with_name("state.db-wal").stat().st_size
    db.recover("s")
    db.conversation("s")
    db.replay("s")
    assert (rows(path, "SELECT * FROM messages"), path.with_name("state.db-wal").stat().st_size) == before


def test_recovery_works_at_the_newest_node_of_a_compacted_session(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("q")])
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.append("s", [asks("a")])
    db.save_draft("s", Message(role="assistant", content="partial"))
    assert texts(db.recover("s")) == [INTERRUPTED, "partial"]
    assert texts(db.messages("s-2")) == ["summary", "", INTERRUPTED, "partial"]


def test_what_waits_for_its_turn_outlives_a_compaction_and_an_undo(db: SessionDB, path: Path) -> None:
    first, second, waits = user("q"), user("r"), user("and then?")
    db.append(new_session(db, "s"), [first, answer("a"), second])
    db.save_draft("s", waits)
    db.continue_compressed("s", "s2", user("summary"), [second])
    db.undo("s", upto=second.id)
    assert texts(db.recover("s")) == ["and then?"]
    assert rows(path, "SELECT count(*) FROM message_drafts") == [(0,)]
