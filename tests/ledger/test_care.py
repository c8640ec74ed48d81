"""A ledger is verified, mended, copied, made smaller, pruned and described."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from acp_adapter.errors import SessionNotFound
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.pruning import Prune
from acp_adapter.transcript import Usage
from tests.ledger.conftest import answer, asks, change, new_session, result, rows, texts, user

DAY = 86_400.0


def aged(db: SessionDB, session_id: str, days: float, text: str = "words", **values: object) -> str:
    new_session(db, session_id, **values)
    when = time.time() - days * DAY
    db.append(session_id, [user(text, timestamp=when)])
    change(
        db.connection.path,
        f"UPDATE sessions SET started_at = {when} WHERE id = '{session_id}'",
        f"UPDATE session_activity SET last_active = {when} WHERE session_id = '{session_id}'",
    )
    return session_id


def left(db: SessionDB) -> set[str]:
    return {entry.id for entry in db.list_sessions(limit=1000).sessions}


def test_a_sound_ledger_has_no_problems(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("日本 zebra"), asks("c"), result("c")])
    db.branch("s", "b")
    assert Care(db).verify() == []


def test_problems_are_told_and_mended(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user("zebra")])
    change(path, "DELETE FROM session_activity", "UPDATE messages_fts_data SET block = zeroblob(4) WHERE id > 1")
    problems = Care(db).verify()
    assert "1 sessions are missing from the list." in problems
    assert any("messages_fts is damaged" in problem for problem in problems)
    Care(db).mend()
    assert Care(db).verify() == []
    assert left(db) == {"s"}
    assert len(db.search("zebra")) == 1


def test_a_row_that_an_index_of_its_table_does_not_know_is_told_and_mended(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user(f"zebra {number}") for number in range(5)])
    db.close()
    change(
        path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'session_id, timestamp', 'timestamp, session_id')"
        " WHERE name = 'idx_messages_session'",
    )
    opened = SessionDB.open(path)
    assert any("index" in problem for problem in Care(opened).verify())
    Care(opened).mend()
    assert Care(opened).verify() == []
    opened.close()


def test_a_row_without_its_session_is_a_problem(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    change(path, "INSERT INTO messages(session_id, role, timestamp) VALUES ('nope', 'user', 1)")
    assert Care(db).verify() == ["A row of messages belongs to a row of sessions that is not there."]


def test_a_backup_is_whole_and_private(db: SessionDB, path: Path, tmp_path: Path) -> None:
    db.append(new_session(db, "s"), [user("zebra")])
    for copy in (Care(db).backup(), Care(db).backup(tmp_path / "elsewhere" / "copy.db")):
        assert copy.stat().st_mode & 0o777 == 0o600
        restored = SessionDB.open(copy)
        assert texts(restored.conversation("s")) == ["zebra"]
        restored.close()


def test_vacuum_gives_space_back(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("x" * 1000) for _ in range(500)])
    new_session(db, "t")
    db.delete_session("s")
    before, after = Care(db).vacuum()
    assert after < before / 2
    assert Care(db).verify() == []
    assert left(db) == {"t"}


def test_old_conversations_are_pruned_whole(db: SessionDB, path: Path) -> None:
    aged(db, "old", 40)
    aged(db, "young", 2)
    plan = Care(db).prune(Prune(older_than=30 * DAY), dry_run=True)
    assert [(p.id, p.message_count) for p in plan] == [("old", 1)]
    assert plan[0].bytes > 0
    assert left(db) == {"old", "young"}
    told: list[str] = []
    Care(db).prune(Prune(older_than=30 * DAY), progress=lambda gone: told.append(gone.id))
    assert told == ["old"]
    assert left(db) == {"young"}
    assert rows(path, "SELECT count(*) FROM messages") == [(1,)]


def test_only_the_chosen_sources_are_pruned(db: SessionDB) -> None:
    aged(db, "a", 40, source="acp")
    aged(db, "t", 40, source="telegram")
    Care(db).prune(Prune(older_than=DAY, sources=("telegram",)))
    assert left(db) == {"a"}


def test_nothing_pinned_or_running_is_pruned(db: SessionDB, path: Path) -> None:
    for session in ("pinned", "running", "plain"):
        aged(db, session, 40)
    Care(db).pin("pinned")
    other = SessionDB.open(path)
    other.acquire("running")
    Care(db).prune(Prune(older_than=DAY))
    assert left(db) == {"pinned", "running"}
    other.close()
    Care(db).pin("pinned", False)
    Care(db).prune(Prune(older_than=DAY))
    assert left(db) == set()
    with pytest.raises(SessionNotFound):
        Care(db).pin("plain")


def test_a_pin_holds_the_whole_chain(db: SessionDB, path: Path) -> None:
    aged(db, "s", 40)
    Care(db).pin("s")
    db.continue_compressed("s", "s-2", user("summary"), [])
    change(path, "UPDATE session_activity SET last_active = 1")
    assert Care(db).prune(Prune(older_than=DAY)) == []


def test_pruning_by_size_takes_the_longest_unused_first(db: SessionDB) -> None:
    for number in range(10):
        aged(db, f"s{number}", 40 - number, text="x" * 100_000)
    db.connection.empty_log()
    used = Care(db).stats().bytes
    gone = Care(db).prune(Prune(max_bytes=used // 2))
    assert [p.id for p in gone] == [f"s{number}" for number in range(len(gone))]
    assert 4 <= len(gone) <= 6
    _, after = Care(db).vacuum()
    assert after < used * 0.6


def test_without_a_bound_nothing_is_pruned(db: SessionDB) -> None:
    aged(db, "s", 400)
    assert Care(db).prune(Prune(sources=("acp",))) == []


def test_a_branch_outlives_its_pruned_parent(db: SessionDB, path: Path) -> None:
    aged(db, "s", 40, text="zebra")
    db.branch("s", "b")
    Care(db).prune(Prune(older_than=30 * DAY))
    assert left(db) == {"b"}
    assert texts(db.replay("b")) == ["zebra"]


def test_stats_describe_the_ledger(db: SessionDB, path: Path) -> None:
    undone = user("undone")
    db.append(new_session(db, "a"), [user("q")])
    db.append("a", [answer("r")], Usage(10, 5, cost=0.5))
    db.append("a", [undone])
    db.undo("a", undone.id)
    db.save_draft("a", answer("draft"))
    new_session(db, "b", source="cli")
    stats = Care(db).stats()
    assert (stats.schema, stats.sessions, stats.sessions_by_source) == (22, 2, {"acp": 1, "cli": 1})
    assert (stats.messages, stats.messages_by_role) == (3, {"user": 2, "assistant": 1})
    assert (stats.rewound, stats.compacted, stats.drafts) == (1, 0, 1)
    assert (stats.tokens_by_model, stats.cost) == ({"m-1": 15}, 0.5)
    assert stats.bytes == path.stat().st_size
    assert stats.newest is not None and stats.oldest is not None and stats.newest >= stats.oldest


def test_each_tool_call_is_traced(db: SessionDB) -> None:
    new_session(db, "s")
    db.append("s", [asks("a", "b"), result("a", "日本", details={"status": "failed", "duration": 1.5})])
    [first, second] = db.tool_trace("s")
    assert (first.call_id, first.name, first.status, first.duration) == ("a", "run_command", "failed", 1.5)
    assert (first.argument_bytes, first.result_bytes) == (len('{"command": "ls"}'), 6)
    assert (second.call_id, second.status, second.duration) == ("b", "failed", None)
