"""What a conversation and a day cost: every model call counted once, to the cent, whatever becomes of the session."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from acp_adapter.errors import SessionNotFound
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.usage import Spent
from acp_adapter.ledger.worker import Ledger
from acp_adapter.transcript import Transcript, Usage
from tests.ledger.conftest import answer, change, new_session, rows, user


def test_a_conversation_and_its_day_count_what_each_call_cost(db: SessionDB) -> None:
    for session in ("s", "other"):
        new_session(db, session)
    assert db.spent("s") == Spent(0, 0.0, 0, 0.0)
    for _ in range(10):
        db.append("s", [answer("a")], Usage(100, 10, cache_read_tokens=60, cache_write_tokens=20, cost=0.1))
    db.append("other", [answer("b")], Usage(7, 3))
    assert db.spent("s") == Spent(1100, sum([0.1] * 10), 1110, sum([0.1] * 10))
    assert db.spent("other") == Spent(10, 0.0, 1110, sum([0.1] * 10))


def test_helper_calls_are_spent_but_are_no_part_of_the_conversation(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [answer("a")], Usage(10, 5, cost=0.5))
    db.charge("s", Usage(3, 2, cost=0.25), task="title", model="small", provider="p")
    db.charge("s", Usage(30, 20), task="compression")
    assert db.spent("s") == Spent(70, 0.75, 70, 0.75)
    row = db.session("s")
    assert (row.api_call_count, row.input_tokens, row.estimated_cost_usd) == (1, 10, 0.5)
    assert rows(
        path,
        """SELECT task, model, billing_provider, api_call_count, input_tokens, estimated_cost_usd
           FROM session_model_usage ORDER BY task""",
    ) == [("", "m-1", "", 1, 10, 0.5), ("compression", "unknown", "", 1, 30, 0.0), ("title", "small", "p", 1, 3, 0.25)]


def test_a_compacted_conversation_goes_on_counting_and_a_branch_begins_anew(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [answer("a")], Usage(10, 5, cost=0.5))
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.append("s", [answer("b")], Usage(1, 1, cost=0.25))
    db.branch("s", "b")
    assert db.spent("s") == db.spent("s-2") == Spent(17, 0.75, 17, 0.75)
    assert db.spent("b") == Spent(0, 0.0, 17, 0.75)


def test_what_was_spent_today_stays_spent_when_its_session_is_deleted(db: SessionDB, path: Path) -> None:
    for session in ("s", "other"):
        new_session(db, session)
    db.append("s", [answer("a")], Usage(10, 5, cost=0.5))
    db.charge("s", Usage(1, 1, cost=0.5), task="title")
    db.delete_session("s")
    assert db.spent("other") == Spent(0, 0.0, 17, 1.0)
    assert rows(path, "SELECT * FROM daily_usage") == [(time.strftime("%Y-%m-%d"), 17, 1.0)]


def test_another_day_begins_at_nothing(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [answer("a")], Usage(10, 5, cost=0.5))
    change(path, "UPDATE daily_usage SET day = '2001-02-03'")
    assert db.spent("s") == Spent(15, 0.5, 0, 0.0)
    db.append("s", [answer("b")], Usage(1, 1))
    assert db.spent("s") == Spent(17, 0.5, 2, 0.0)


def test_an_append_that_is_repeated_or_fails_costs_nothing_more(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    batch = [answer("a")]
    for _ in range(2):
        db.append("s", batch, Usage(10, 5, cost=0.5))
    with pytest.raises(TypeError):
        db.append("s", [answer("bad", details={"no": object()})], Usage(10, 5, cost=0.5))
    change(path, "CREATE TRIGGER refuse BEFORE INSERT ON daily_usage BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(Exception, match="no"):
        db.append("s", [answer("never counted, never stored")], Usage(10, 5, cost=0.5))
    assert db.spent("s") == Spent(15, 0.5, 15, 0.5)
    assert len(db.messages("s")) == 1


def test_an_unknown_session_has_spent_nothing_and_can_be_charged_nothing(db: SessionDB, path: Path) -> None:
    with pytest.raises(SessionNotFound):
        db.spent("nope")
    with pytest.raises(SessionNotFound):
        db.charge("nope", Usage(1, 1), task="title")
    assert rows(path, "SELECT * FROM daily_usage") == []


def test_what_was_spent_is_found_by_indexes_alone(db: SessionDB) -> None:
    """However many sessions there are: no table is read from end to end."""
    new_session(db, "s")
    for number in range(50):
        new_session(db, f"s{number}")
    db.append("s", [answer("a")], Usage(10, 5, cost=0.5))
    asked: list[str] = []
    db.connection.sql.set_trace_callback(asked.append)
    db.spent("s")
    db.connection.sql.set_trace_callback(None)
    plans = [line for query in asked if "SELECT" in query for line in explained(db.connection.sql, query)]
    assert plans
    assert [line for line in plans if line.startswith("SCAN")] == []


def explained(sql: sqlite3.Connection, query: str) -> list[str]:
    return [row["detail"] for row in sql.execute(f"EXPLAIN QUERY PLAN {query}")]


async def test_a_transcript_charges_through_the_store_and_one_without_a_store_charges_nobody(path: Path) -> None:
    ledger = Ledger(path)
    await ledger(SessionDB.create_session, "s", model="m", model_config={}, cwd="/w")
    await Transcript("s", ledger).charge(Usage(3, 2, cost=0.25), task="title", model="small", provider="p")
    await Transcript("s", None).charge(Usage(3, 2, cost=0.25), task="title")
    assert await ledger(SessionDB.spent, "s") == Spent(5, 0.25, 5, 0.25)
    await ledger.aclose()
