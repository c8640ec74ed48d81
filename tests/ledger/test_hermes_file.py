"""A ledger that another program of this family wrote opens in place, reads the same, and stays what it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.ledger import fulltext
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.pairing import INTERRUPTED, paired
from acp_adapter.transcript import Message
from tests.ledger.conftest import answer, rows, texts, user


@pytest.fixture
def hermes(hermes_path: Path) -> Any:
    db = SessionDB.open(hermes_path)
    yield db
    db.close()


def test_every_conversation_reads_as_expected(hermes: SessionDB, hermes_expected: dict[str, Any]) -> None:
    sessions = {key: value for key, value in hermes_expected.items() if not key.startswith("_")}
    assert sessions
    for session_id, expected in sessions.items():
        read = hermes.messages(session_id)
        for message, entry in zip(read, expected["conversation"], strict=True):
            assert {field: getattr(message, field) for field in entry} == entry
        row = hermes.session(session_id)
        assert (row.message_count, row.tool_call_count) == (expected["message_count"], expected["tool_call_count"])


def test_the_list_and_the_tip_are_as_expected(hermes: SessionDB, hermes_expected: dict[str, Any]) -> None:
    assert [entry.id for entry in hermes.list_sessions().sessions] == hermes_expected["_listed"]
    assert hermes.current("cli-1").id == hermes_expected["_compression_tip_of_cli-1"]
    assert {entry.id: entry.session.edge for entry in hermes.list_sessions().sessions}["br-1"] == "branch"
    assert hermes.session("sub-1").edge == "delegate"


def test_searches_find_what_is_expected_and_what_was_missed(hermes: SessionDB, hermes_expected: dict[str, Any]) -> None:
    wanted = {**hermes_expected["_search"], "gateway/run.py": ["cli-2"]}
    for text, sessions in wanted.items():
        assert [hit.session_id for hit in hermes.search(text)] == sessions, text
    assert [hit.node_id for hit in hermes.search("gateway/run.py")] == ["cli-1"]
    assert [hit.session_id for hit in hermes.search("迁移")] == ["tg-1", "tg-1"]
    assert hermes.search("迁移 履歴") == []
    assert hermes.search("rewind me") == []
    assert [hit.compacted for hit in hermes.search("kumquat")] == [True]


def test_the_same_is_read_where_the_file_is_never_written(hermes_path: Path, hermes_expected: dict[str, Any]) -> None:
    before = hermes_path.read_bytes()
    db = SessionDB.open(hermes_path, read_only=True)
    assert [entry.id for entry in db.list_sessions().sessions] == hermes_expected["_listed"]
    assert texts(db.conversation("cli-1")) == [m["content"] for m in hermes_expected["cli-2"]["conversation"]]
    assert [hit.session_id for hit in db.search("zebra-42")] == ["cli-2"]
    assert db.recover("acp-dangling") == []
    db.close()
    assert hermes_path.read_bytes() == before


def test_replay_shows_the_chain_and_what_was_compacted(hermes: SessionDB) -> None:
    chain = hermes.replay("cli-1")
    assert len(chain) == 4
    assert [bool(message.details) for message in chain] == [False, False, True, False]
    compacted = hermes.replay("acp-3")
    assert [(m.text(), m.compacted, bool(m.details)) for m in compacted] == [
        ("old question about kumquat", True, False),
        ("old answer", True, False),
        ("[summary] earlier talk about fruit", False, True),
        ("ready", False, False),
    ]


def test_a_dangling_call_gets_its_closing_result_once(hermes: SessionDB, hermes_path: Path) -> None:
    before = rows(hermes_path, "SELECT * FROM messages")
    [closing] = hermes.recover("acp-dangling")
    assert (closing.tool_call_id, closing.text(), closing.tool_name) == ("call_x", INTERRUPTED, "terminal")
    assert hermes.recover("acp-dangling") == []
    assert rows(hermes_path, "SELECT * FROM messages")[: len(before)] == before
    assert len(paired(hermes.conversation("acp-dangling"))) == 3
    assert hermes.session("acp-dangling").message_count == 3


def test_reading_changes_no_shared_row(hermes_path: Path) -> None:
    tables = [row[0] for row in rows(hermes_path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    shared = [name for name in tables if not name.startswith(("messages_fts", "sqlite_"))]
    before = {name: rows(hermes_path, f"SELECT * FROM {name}") for name in shared}
    db = SessionDB.open(hermes_path)
    for entry in db.list_sessions().sessions:
        db.conversation(entry.id)
        db.replay(entry.id)
    db.search("zebra")
    db.close()
    assert {name: rows(hermes_path, f"SELECT * FROM {name}") for name in shared} == before


def test_sessions_are_continued_and_branched_by_the_facts_of_the_file(hermes: SessionDB, hermes_path: Path) -> None:
    hermes.append("acp-1", [user("and now?"), answer("Done.")])
    parts = [{"type": "text", "text": "ü"}]
    hermes.append("cli-1", [Message(role="user", content=parts)])
    hermes.branch("acp-1", "br-2", upto_message_id="row-2", cwd="/elsewhere")
    hermes.continue_compressed("acp-2", "acp-2b", user("[summary] kept"), [])
    assert rows(hermes_path, "SELECT version FROM schema_version") == [(22,)]
    assert rows(hermes_path, "SELECT message_count FROM sessions WHERE id IN ('acp-1', 'cli-2') ORDER BY id") == [
        (9,),
        (3,),
    ]
    assert rows(hermes_path, "SELECT content FROM messages WHERE session_id = 'cli-2' ORDER BY id DESC LIMIT 1") == [
        ('\x00json:[{"type": "text", "text": "\\u00fc"}]',)
    ]
    assert rows(
        hermes_path,
        "SELECT parent_session_id, json_extract(model_config, '$._branched_from'), message_count, tool_call_count"
        " FROM sessions WHERE id = 'br-2'",
    ) == [("acp-1", "acp-1", 2, 2)]
    assert rows(hermes_path, "SELECT end_reason FROM sessions WHERE id = 'acp-2'") == [("compression",)]
    triggers = {row[0] for row in rows(hermes_path, "SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    assert set(fulltext.TRIGGERS) <= triggers
    assert Care(hermes).verify() == []


def test_its_own_indexes_are_kept_and_fed(hermes: SessionDB, hermes_path: Path) -> None:
    [(sql,)] = rows(hermes_path, "SELECT sql FROM sqlite_master WHERE name = 'messages_fts'")
    assert "content=" not in sql.replace(" ", "")
    hermes.append("acp-1", [user("walrus 海象 arrives")])
    for text in ("walrus", "海象", "海", "海象 walrus"):
        assert [hit.session_id for hit in hermes.search(text)] == ["acp-1"]


def test_a_session_whose_folder_is_gone_can_be_moved(hermes: SessionDB) -> None:
    assert hermes.update_session("tg-1", cwd="/w").cwd == "/w"
    assert [entry.id for entry in hermes.list_sessions(cwd="/w").sessions] == ["tg-1"]


def test_a_backup_stands_beside_the_file_before_it_is_changed(hermes_path: Path) -> None:
    before = rows(hermes_path, "SELECT name FROM sqlite_master")
    SessionDB.open(hermes_path).close()
    [backup] = hermes_path.parent.glob("state.db.backup-*")
    assert rows(backup, "SELECT name FROM sqlite_master") == before
    assert backup.stat().st_mode & 0o077 == 0
    SessionDB.open(hermes_path).close()
    assert len(list(hermes_path.parent.glob("state.db.backup-*"))) == 1
