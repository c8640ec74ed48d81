"""Sessions are made, changed, titled, and found by what a person types."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from acp_adapter.errors import InvalidParams, SessionNotFound
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from tests.ledger.conftest import new_session, rows, user


def test_a_session_reads_back_as_it_was_made(db: SessionDB) -> None:
    made = db.create_session(
        "s", model="m", model_config={"mode": "plan", "roots": ["/a"]}, cwd="/w", system_prompt="p", title="T"
    )
    assert made == db.session("s")
    assert (made.source, made.edge, made.cwd, made.title) == ("acp", "root", "/w", "T")
    assert made.model_config == {"mode": "plan", "roots": ["/a"], "cwd": "/w"}
    assert made.last_active == made.started_at


def test_the_folder_stands_where_every_program_looks_for_it(db: SessionDB, path: Path) -> None:
    new_session(db, "s", cwd="/w")
    db.update_session("s", cwd="/x/ü")
    assert rows(path, "SELECT cwd, json_extract(model_config, '$.cwd') FROM sessions") == [("/x/ü", "/x/ü")]


def test_unknown_and_taken_ids_are_refused(db: SessionDB) -> None:
    new_session(db, "s")
    with pytest.raises(InvalidParams, match="already a session 's'"):
        new_session(db, "s")
    with pytest.raises(SessionNotFound):
        db.session("nope")
    with pytest.raises(SessionNotFound):
        new_session(db, "child", parent="nope")
    with pytest.raises((SessionNotFound, InvalidParams)):
        db.session("\ud800")


def test_values_are_merged_kept_and_taken_out(db: SessionDB) -> None:
    new_session(db, "s", model_config={"a": 1, "b": {"c": 2}}, title="T", system_prompt="p")
    db.update_session("s", model_config={"a": None, "d": 3})
    row = db.session("s")
    assert row.model_config == {"b": {"c": 2}, "d": 3, "cwd": "/work/project"}
    assert (row.model, row.title, row.system_prompt) == ("m-1", "T", "p")
    row = db.update_session("s", model=None, title=None)
    assert (row.model, row.title, row.system_prompt) == (None, None, "p")


def test_a_title_is_one_line_of_at_most_100_characters(db: SessionDB) -> None:
    new_session(db, "s", title="  two\n lines  ")
    assert db.session("s").title == "two lines"
    assert db.update_session("s", title="x" * 200).title == "x" * 100
    assert db.update_session("s", title="   ").title is None


def test_a_title_that_is_taken_names_the_other_session(db: SessionDB) -> None:
    new_session(db, "a", title="Plan")
    new_session(db, "b")
    with pytest.raises(InvalidParams, match="The session a already has the title 'Plan'"):
        db.update_session("b", title="Plan")
    assert db.update_session("a", title="Plan").title == "Plan"


def test_titles_are_numbered_along_a_lineage(db: SessionDB) -> None:
    new_session(db, "a")
    assert db.name_session("a", "Plan") == "Plan"
    db.branch("a", "b")
    db.branch("b", "c")
    assert [db.session(s).title for s in "abc"] == ["Plan", "Plan #2", "Plan #3"]
    new_session(db, "d", title="x" * 100)
    assert db.branch("d", "e").title == "x" * 97 + " #2"
    new_session(db, "f", title="100%_sure")
    new_session(db, "g")
    assert db.name_session("g", "100%_sure") == "100%_sure #2"


def test_a_session_is_found_by_id_title_or_beginning(db: SessionDB) -> None:
    new_session(db, "abc-1", title="Plan")
    new_session(db, "abd-1", title="abc")
    assert db.resolve("abc-1") == "abc-1"
    assert db.resolve("Plan") == "abc-1"
    assert db.resolve("abc") == "abd-1"
    assert db.resolve(" abd ") == "abd-1"
    with pytest.raises(InvalidParams, match="abc-1, abd-1"):
        db.resolve("ab")
    for nothing in ("zzz", "", "%", "_"):
        with pytest.raises(SessionNotFound):
            db.resolve(nothing)


def test_a_beginning_that_only_one_conversation_has_is_enough(db: SessionDB) -> None:
    new_session(db, "abc-1")
    db.continue_compressed("abc-1", "abc-2", user("summary"), [])
    assert db.current(db.resolve("abc")).id == "abc-2"


async def test_sessions_that_are_named_alike_at_once_all_get_a_name(tmp_path: Path) -> None:
    ledgers = [Ledger(tmp_path / "state.db") for _ in range(4)]
    for number, ledger in enumerate(ledgers):
        await ledger(SessionDB.create_session, str(number), source="acp", model=None, model_config={}, cwd="/")
    named = [ledger(SessionDB.name_session, str(number), "Plan") for number, ledger in enumerate(ledgers)]
    assert sorted(await asyncio.gather(*named)) == ["Plan", "Plan #2", "Plan #3", "Plan #4"]
    for ledger in ledgers:
        await ledger.aclose()
