"""What is exported as JSON comes back whole, with its ids, or not at all."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import fulltext
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.exchange import chosen, lossless
from acp_adapter.ledger.exchange.importing import import_file
from acp_adapter.redaction import Redactor
from acp_adapter.transcript import Message
from tests.export.conftest import KEY, fill
from tests.ledger.conftest import change, rows, texts

TABLES = {
    "sessions": "id",
    "messages": "id",
    "message_details": "message_id",
    "attachments": "hash",
    "message_attachments": "message_id, field, path",
    "message_drafts": "session_id, message_id",
    "session_model_usage": "session_id, model",
    "session_pins": "session_id",
    "session_activity": "session_id",
}


def exported(db: SessionDB, file: Path, *asked: str, lineage: bool = False) -> Path:
    nodes = chosen.nodes(db, asked, lineage=lineage) if asked else chosen.all_nodes(db)
    with file.open("w", encoding="utf-8", newline="\n") as out:
        lossless.write(db, nodes, out.write)
    return file


def contents(db: SessionDB) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that belongs to sessions, by column name."""

    def read(sql: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
        return {
            table: [dict(row) for row in sql.execute(f"SELECT * FROM {table} ORDER BY {order}")]
            for table, order in TABLES.items()
        }

    return db.connection.read(read)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sessions.jsonl"


def test_every_row_comes_back_as_it_was(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill(db)
    Care(db).pin("first")
    imported = import_file(empty, exported(db, file))
    assert (imported.sessions, imported.messages, imported.skipped, imported.cut_off) == (4, 17, 0, 0)
    assert contents(empty) == contents(db)
    assert empty.session("branch").fork_point == "told"
    assert [hit.session_id for hit in empty.search("海象")] == ["first"]
    assert Care(empty).verify() == []


def test_the_ledger_of_another_program_comes_back_as_it_was(hermes_path: Path, empty: SessionDB, file: Path) -> None:
    with closing(SessionDB.open(hermes_path)) as hermes:
        import_file(empty, exported(hermes, file))
        assert contents(empty) == contents(hermes)
        assert empty.list_sessions().sessions == hermes.list_sessions().sessions


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(["\x00json:[]", "a\u2028b\r\n"])
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "content": st.none() | TEXT | st.binary(max_size=9),
    "timestamp": st.floats(allow_nan=False),
    "token_count": st.none() | st.integers(-(2**63), 2**63 - 1),
    "effect_disposition": st.none() | TEXT,
    "active": st.sampled_from([0, 1]),
    "compacted": st.sampled_from([0, 1]),
    "platform_message_id": st.none() | st.uuids().map(str),
}


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.fixed_dictionaries(CELLS)), max_size=8))
@settings(max_examples=25)
def test_whatever_stands_in_the_columns_comes_back(made: list[tuple[str, dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder, closing(SessionDB.open(Path(folder) / "a.db")) as db:
        for name in ("a", "b"):
            db.create_session(name, model=None, model_config={}, cwd="/w")
        names = ", ".join(CELLS)
        for session_id, cells in made:
            values = (session_id, "user", *(cells[name] for name in CELLS))
            db.connection.sql.execute(
                f"INSERT INTO messages(session_id, role, {names}) VALUES ({', '.join('?' * len(values))})", values
            )
        with closing(SessionDB.open(Path(folder) / "b.db")) as other:
            import_file(other, exported(db, Path(folder) / "file"))
            assert contents(other) == contents(db)
            assert import_file(other, Path(folder) / "file").skipped == 2


def test_what_is_here_already_is_skipped_and_counted(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill(db)
    import_file(empty, exported(db, file))
    before = contents(empty)
    imported = import_file(empty, file)
    assert (imported.sessions, imported.messages, imported.skipped, imported.renamed) == (0, 0, 4, 0)
    assert contents(empty) == before


@pytest.mark.parametrize(
    "changed",
    [
        "UPDATE messages SET content = 'no' WHERE platform_message_id = 'told' AND session_id = 'branch'",
        "UPDATE sessions SET input_tokens = 99 WHERE id = 'branch'",
        "DELETE FROM messages WHERE session_id = 'branch' AND role = 'user'",
        "UPDATE message_details SET details = '{}' WHERE message_id = (SELECT max(id) FROM messages "
        "WHERE session_id = 'branch' AND role = 'tool')",
        "UPDATE sessions SET parent_session_id = 'other' WHERE id = 'branch'",
    ],
)
def test_other_content_under_the_same_id_stops_all_of_it(
    db: SessionDB, empty: SessionDB, file: Path, changed: str
) -> None:
    fill(db)
    import_file(empty, exported(db, file))
    empty.delete_session("other")
    change(empty.connection.path, changed)
    before = contents(empty)
    with pytest.raises(InvalidParams, match="session branch is here already, with another"):
        import_file(empty, file)
    assert contents(empty) == before


def test_a_dry_run_counts_and_keeps_nothing(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill(db)
    before = contents(empty)
    assert import_file(empty, exported(db, file), dry_run=True).sessions == 4
    assert contents(empty) == before
    assert import_file(empty, file).sessions == 4


def test_messages_whose_rows_are_taken_keep_their_ids_and_order(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill(db)
    empty.create_session("mine", model="m", model_config={}, cwd="/w", title="The first one")
    empty.append("mine", [Message("user", "a row of my own")])
    change(db.connection.path, "UPDATE messages SET platform_message_id = NULL WHERE content = 'Done, **rose**.'")
    imported = import_file(empty, exported(db, file))
    assert (imported.renamed, imported.sessions) == (3, 4)
    for name in ("first", "branch", "other"):
        assert [(m.id, m.role, m.content, m.details) for m in empty.replay(name)] == [
            (m.id, m.role, m.content, m.details) for m in db.replay(name)
        ]
    assert [empty.session(node).title for node in ("first", "second")] == ["The first one #2", "The first one #4"]
    assert texts(empty.messages("mine")) == ["a row of my own"]
    assert import_file(empty, file).skipped == 4
    assert Care(empty).verify() == []


def test_a_conversation_is_all_of_its_chain_and_a_lineage_all_that_belongs_to_it(db: SessionDB) -> None:
    fill(db)
    db.create_session("agent", model="m", model_config={"_delegate_from": "branch"}, cwd="/w", parent="branch")
    assert chosen.nodes(db, ["second"]) == ["first", "second"]
    assert chosen.nodes(db, ["branch"]) == ["branch"]
    assert set(chosen.nodes(db, ["branch"], lineage=True)) == {"first", "branch", "second", "agent"}
    assert chosen.conversations(db, chosen.all_nodes(db)) == ["first", "other", "branch", "agent"]


def test_a_branch_without_its_parent_is_tied_to_it_when_it_comes(
    db: SessionDB, empty: SessionDB, tmp_path: Path
) -> None:
    fill(db)
    imported = import_file(empty, exported(db, tmp_path / "branch", "branch"))
    assert (imported.sessions, imported.cut_off) == (1, 1)
    assert (empty.session("branch").parent_session_id, empty.session("branch").edge) == (None, "branch")
    imported = import_file(empty, exported(db, tmp_path / "all"))
    assert (imported.sessions, imported.skipped, imported.cut_off) == (3, 1, 0)
    assert empty.session("branch").parent_session_id == "first"


def test_columns_that_nobody_knows_are_kept(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill(db)
    change(
        db.connection.path, "ALTER TABLE messages ADD COLUMN mood TEXT", "UPDATE messages SET mood = 'ok' WHERE id = 1"
    )
    import_file(empty, exported(db, file))
    assert rows(empty.connection.path, "SELECT id FROM messages WHERE mood = 'ok'") == [(1,)]
    assert import_file(empty, file).skipped == 4


def test_what_comes_in_below_an_index_that_is_being_filled_is_in_it_once(
    db: SessionDB, empty: SessionDB, file: Path
) -> None:
    fill(db)
    empty.create_session("mine", model="m", model_config={}, cwd="/w")
    empty.append("mine", [Message("user", "walrus")])
    change(empty.connection.path, "UPDATE messages SET id = 500")
    empty.connection.write(fulltext.begin)
    import_file(empty, exported(db, file))
    assert [hit.session_id for hit in empty.search("walrus")] == ["mine"]
    assert len(empty.search("海象")) == 1
    # FTS5 counts its rows in the record 1, as the first varint (sqlite.org/fts5.html, section 9.2).
    [[totals]] = empty.connection.sql.execute("SELECT block FROM messages_fts_data WHERE id = 1").fetchall()
    assert totals[0] == len(contents(empty)["messages"])


def without_line(at: int) -> Callable[[list[str]], list[str]]:
    return lambda lines: lines[:at] + lines[at + 1 :]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda lines: lines[:-1], "cut off"),
        (without_line(0), "no export of sessions"),
        (without_line(1), "does not belong"),
        (without_line(2), "does not hold what its end says"),
        (lambda lines: [*lines, lines[1]], "does not hold what its end says"),
        (lambda lines: [lines[0][:9], *lines[1:]], "line 1 is not JSON"),
        (lambda lines: [lines[0], "[]\n"], "line 2 is no JSON object"),
        (lambda lines: [lines[0].replace('"version":1', '"version":2'), *lines[1:]], "version 2"),
        (lambda lines: [lines[0], '{"table":"secrets","row":{}}\n'], "no table 'secrets'"),
        (lambda lines: [lines[0], '{"table":"sessions","row":{"id":"x","cwd":[1]}}\n'], "value of 'cwd'"),
        (lambda lines: [], "no export of sessions"),
        (
            lambda lines: [lines[0], '{"table":"sessions","row":{"id":"x"}}\n', '{"end":{"sessions":1,"rows":1}}\n'],
            "NOT NULL",
        ),
        (
            lambda lines: [
                lines[0],
                '{"table":"sessions","row":{"id":"x","source":"a","started_at":1,"a\\"b":1}}\n',
                '{"end":{"sessions":1,"rows":1}}\n',
            ],
            "name of a column",
        ),
    ],
)
def test_a_damaged_file_is_refused_and_nothing_is_imported(
    db: SessionDB, empty: SessionDB, file: Path, damage: Callable[[list[str]], list[str]], told: str
) -> None:
    fill(db)
    lines = exported(db, file).read_text("utf-8").split("\n")
    file.write_text("".join(damage([line + "\n" for line in lines[:-1]])), "utf-8")
    with pytest.raises(InvalidParams, match=told):
        import_file(empty, file)
    assert contents(empty)["sessions"] == []


def test_a_redacted_export_can_be_imported(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill(db)
    redactor = Redactor()
    with file.open("w", encoding="utf-8") as out:
        lossless.write(db, chosen.all_nodes(db), out.write, redactor.text)
    assert KEY not in file.read_text("utf-8")
    assert redactor.count == 2
    assert json.loads(file.read_text("utf-8").split("\n")[0])["redacted"] is True
    import_file(empty, file)
    assert empty.replay("first")[0].text() == "My key is [redacted]"
