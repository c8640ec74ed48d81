"""A damaged full-text index never stops writing, and is made again by the next search."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.ledger import fulltext
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from tests.ledger.conftest import change, new_session, rows, user

DAMAGE = [
    "UPDATE {}_data SET block = zeroblob(10)",
    "DELETE FROM {}_data",
    "DROP TABLE {}_data",
    "DELETE FROM {}_config",
    "DROP TABLE {}_config",
    "DROP TABLE {}_idx",
    "DROP TABLE {}_docsize",
    "DROP TRIGGER {}_insert",
]


def filled(path: Path) -> None:
    db = SessionDB.open(path)
    db.append(new_session(db, "s"), [user(f"old zebra {number} 日本語") for number in range(100)])
    db.close()


@pytest.mark.parametrize("table", fulltext.TABLES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_writing_goes_on_and_everything_is_found_again(path: Path, table: str, damage: str) -> None:
    filled(path)
    change(path, damage.format(table))
    db = SessionDB.open(path)
    db.append("s", [user("new zebra 日本語")])
    assert db.session("s").message_count == 101
    for text in ("zebra", "日本語", "日"):
        assert len(db.search(text, limit=200)) == 101
    assert Care(db).verify() == []
    db.close()


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_search_alone_mends_the_index(path: Path, damage: str) -> None:
    filled(path)
    for table in fulltext.TABLES:
        change(path, damage.format(table))
    db = SessionDB.open(path)
    assert len(db.search("zebra", limit=200)) == 100
    assert len(db.search("本", limit=200)) == 100
    assert Care(db).verify() == []
    db.close()


def test_a_damaged_index_is_searched_by_reading_where_the_file_may_not_be_written(path: Path) -> None:
    filled(path)
    change(path, "DROP TABLE messages_fts_data")
    db = SessionDB.open(path, read_only=True)
    assert len(db.search("zebra old", limit=200)) == 100
    assert len(db.search("日")) == 20
    assert db.search("zebra nothing") == []
    db.close()


def test_an_index_is_filled_from_the_newest_message_back_while_others_write(path: Path) -> None:
    filled(path)
    db = SessionDB.open(path)
    db.connection.write(fulltext.begin)
    db.connection.write(lambda sql: fulltext.fill(sql, rows=30))
    assert rows(path, "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'zebra'") == [(30,)]
    change(
        path,
        "DELETE FROM messages WHERE id < 50 OR id = 95",
        "UPDATE messages SET content = 'lion' WHERE id IN (60, 96)",
    )
    db.append("s", [user("newest zebra")])
    assert len(db.search("zebra", limit=200)) == 49
    assert len(db.search("lion")) == 2
    assert Care(db).verify() == []
    db.close()


def test_an_unfinished_index_is_finished_after_a_restart(path: Path) -> None:
    filled(path)
    db = SessionDB.open(path)
    db.connection.write(fulltext.begin)
    db.close()
    db = SessionDB.open(path)
    assert len(db.search("zebra", limit=200)) == 100
    db.close()


def test_a_failure_that_is_not_the_indexs_fault_leaves_the_index_alone(path: Path) -> None:
    filled(path)
    change(path, "CREATE TRIGGER no BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no more'); END")
    db = SessionDB.open(path)
    with pytest.raises(Exception, match="no more"):
        db.append("s", [user("refused")])
    change(path, "DROP TRIGGER no")
    assert rows(path, "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'zebra'") == [(100,)]
    assert db.session("s").message_count == 100
    db.append("s", [user("taken")])
    db.close()


def test_rebuilding_tells_how_far_it_is(path: Path) -> None:
    filled(path)
    db = SessionDB.open(path)
    db.append("s", [user("many") for _ in range(1500)])
    told: list[int] = []
    db.rebuild_index(told.append)
    assert told and told == sorted(told, reverse=True)
    db.close()
