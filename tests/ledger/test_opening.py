"""Whatever state the file is in: it opens as well as it can, says so, and nothing readable is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acp_adapter.errors import LedgerTooNew, LedgerUnavailable
from acp_adapter.ledger import fulltext, migrations, schema
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.faults import NotWritable
from acp_adapter.ledger.usage import Spent
from tests.ledger.conftest import answer, change, new_session, rows, texts, user
from tests.ledger.processes import running


def filled(path: Path, messages: int = 3, sessions: int = 1) -> None:
    db = SessionDB.open(path)
    for session in range(sessions):
        new_session(db, f"s{session}", title=f"Title {session}")
        db.append(f"s{session}", [user(f"message {number} " + "x" * 300) for number in range(messages)])
    db.close()


def test_a_new_ledger_is_private(path: Path) -> None:
    db = SessionDB.open(path)
    new_session(db, "s")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600, file
    db.close()


def test_a_file_that_was_open_to_others_is_made_private_and_its_folder_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    filled(path)
    path.chmod(0o644)
    tmp_path.chmod(0o755)
    SessionDB.open(path).close()
    assert (path.stat().st_mode & 0o777, tmp_path.stat().st_mode & 0o777) == (0o600, 0o755)


def test_a_new_ledger_has_what_every_program_expects(path: Path) -> None:
    filled(path)
    assert rows(path, "SELECT version FROM schema_version") == [(schema.VERSION,)]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    names = {row[0] for row in rows(path, "SELECT name FROM sqlite_master")}
    assert set(schema.SHARED_TABLES) | set(schema.SHARED_INDEXES) <= names
    assert "idx_sessions_title_unique" in names
    for table, columns in schema.SHARED_TABLES.items():
        there = [row[1] for row in rows(path, f"PRAGMA table_info({table})")]
        assert all(column in columns for column in there)
    assert list(path.parent.glob("*.backup-*")) == []


def test_several_processes_may_make_it_at_once(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from acp_adapter.ledger.db import SessionDB;"
        "db = SessionDB.open(Path(sys.argv[1]));"
        "db.create_session(sys.argv[2], model=None, model_config={}, cwd='/w'); db.close()"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(path), f"s{n}"], stderr=subprocess.PIPE) for n in range(6)
    ]
    for process in started:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert rows(path, "SELECT count(*) FROM sessions") == [(6,)]
    assert rows(path, "SELECT count(*) FROM schema_version") == [(1,)]
    assert rows(path, "SELECT count(*) FROM acp_adapter_migrations") == [(len(migrations.MIGRATIONS),)]


def test_a_newer_schema_is_read_and_never_written(path: Path) -> None:
    filled(path)
    change(path, "UPDATE schema_version SET version = 23")
    before = path.read_bytes()
    db = SessionDB.open(path)
    assert "schema 23" in db.notices[0]
    assert len(db.conversation("s0")) == 3
    assert [entry.id for entry in db.list_sessions().sessions] == ["s0"]
    assert len(db.search("message")) == 3
    assert db.recover("s0") == []
    with pytest.raises(LedgerTooNew, match="update this program"):
        db.append("s0", [user("new")])
    with pytest.raises(LedgerTooNew):
        new_session(db, "new")
    db.close()
    assert path.read_bytes() == before


def test_an_older_schema_is_brought_up_to_date_with_a_backup_beside_it(path: Path) -> None:
    make_old(path)
    db = SessionDB.open(path)
    assert texts(db.conversation("s1")) == ["hello zebra"]
    assert [entry.title for entry in db.list_sessions().sessions] == ["Same", None]
    assert [hit.session_id for hit in db.search("zebra")] == ["s1"]
    db.append("s1", [answer("hi")], None, model="m")
    assert db.session("s1").message_count == 2
    assert Care(db).verify() == []
    db.close()
    assert rows(path, "SELECT version FROM schema_version") == [(22,)]
    assert rows(path, "SELECT model, task, input_tokens FROM session_model_usage ORDER BY input_tokens") == [
        ("m", "", 0),
        ("old", "", 7),
    ]
    [backup] = path.parent.glob("state.db.backup-*")
    assert rows(backup, "SELECT version FROM schema_version") == [(9,)]


def test_indexes_of_an_older_kind_are_made_anew(path: Path) -> None:
    """They held the content alone, and their triggers go on doing so."""
    make_old(path)
    make_old_triggers(path)
    change(path, "INSERT INTO messages(session_id, role, tool_name, timestamp) VALUES ('s1', 'tool', 'deploy', 2)")
    db = SessionDB.open(path)
    db.append("s1", [user("x", tool_name="rollback")])
    assert len(db.search("deploy")) == len(db.search("rollback")) == len(db.search("zebra")) == 1
    db.close()


def make_old_triggers(path: Path) -> None:
    change(path, "CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, tokenize='trigram')")
    for table in fulltext.TABLES:
        for event, row in (("insert", "new"), ("update", "new"), ("delete", "old")):
            change(
                path,
                f"""CREATE TRIGGER {table}_{event} AFTER {event} ON messages BEGIN INSERT INTO {table}(rowid, content)
                    SELECT {row}.id, {row}.content WHERE '{event}' = 'insert'; END""",
            )


def test_two_that_open_an_old_file_at_once_migrate_it_once(path: Path) -> None:
    path.parent.mkdir()
    change(path, "PRAGMA journal_mode = WAL")
    with running("hold", path, 1.0) as holder, ThreadPoolExecutor(2) as threads:
        holder.wait_for_lines(1)
        opened = [threads.submit(SessionDB.open, path) for _ in range(2)]
        for future in opened:
            future.result(30).close()
    assert rows(path, "SELECT count(*) FROM acp_adapter_migrations") == [(len(migrations.MIGRATIONS),)]
    assert rows(path, "SELECT count(*) FROM schema_version") == [(1,)]


def make_old(path: Path) -> None:
    """As an early version wrote it: fewer columns, titles twice, usage told apart by less, another index."""
    path.parent.mkdir()
    change(
        path,
        "CREATE TABLE schema_version(version INTEGER NOT NULL)",
        "INSERT INTO schema_version VALUES (9)",
        """CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT,
           model_config TEXT, system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL,
           end_reason TEXT, message_count INTEGER DEFAULT 0, tool_call_count INTEGER DEFAULT 0, title TEXT)""",
        """CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
           content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
           token_count INTEGER, finish_reason TEXT)""",
        """CREATE TABLE session_model_usage(session_id TEXT NOT NULL, model TEXT NOT NULL,
           billing_provider TEXT NOT NULL DEFAULT '', billing_base_url TEXT NOT NULL DEFAULT '',
           billing_mode TEXT NOT NULL DEFAULT '', input_tokens INTEGER NOT NULL DEFAULT 0,
           PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode))""",
        "CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id)",
        "INSERT INTO sessions(id, source, started_at, title, message_count) VALUES ('s1', 'cli', 1, 'Same', 1)",
        "INSERT INTO sessions(id, source, started_at, title) VALUES ('s2', 'cli', 2, 'Same')",
        "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('s1', 'user', 'hello zebra', 1)",
        "INSERT INTO session_model_usage(session_id, model, input_tokens) VALUES ('s1', 'old', 7)",
    )


def test_a_migration_that_failed_goes_on_at_the_next_opening(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_old(path)

    def broken(sql: sqlite3.Connection) -> None:
        migrations.own_tables(sql)
        raise sqlite3.OperationalError("the power went")

    monkeypatch.setitem(migrations.MIGRATIONS, migrations.OWN_TABLES, broken)
    with pytest.raises(LedgerUnavailable, match="the power went"):
        SessionDB.open(path)
    assert rows(path, "SELECT name FROM acp_adapter_migrations") == [(migrations.SHARED_TABLES,)]
    assert rows(path, "SELECT count(*) FROM sqlite_master WHERE name = 'session_activity'") == [(0,)]
    monkeypatch.undo()
    db = SessionDB.open(path)
    assert texts(db.conversation("s1")) == ["hello zebra"]
    db.close()


def test_a_database_of_something_else_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    change(path, "CREATE TABLE photos(id)")
    with pytest.raises(LedgerUnavailable, match="something else"):
        SessionDB.open(path)
    assert rows(path, "SELECT name FROM sqlite_master") == [("photos",)]


def test_reading_only_needs_a_file(path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="no ledger"):
        SessionDB.open(path, read_only=True)
    assert not path.exists()


@pytest.mark.parametrize("version", [22, 23])
def test_a_file_without_our_tables_reads_like_one_that_spent_and_trimmed_nothing(path: Path, version: int) -> None:
    filled(path)
    forget = [f"DROP TABLE {table}" for table in schema.OWN_TABLES]
    triggers = [f"DROP TRIGGER {trigger}" for trigger in schema.OWN_TRIGGERS]
    change(
        path, *triggers, *forget, "DROP TABLE acp_adapter_migrations", f"UPDATE schema_version SET version={version}"
    )
    db = SessionDB.open(path, read_only=True)
    assert [entry.id for entry in db.list_sessions().sessions] == ["s0"]
    assert db.spent("s0") == Spent(0, 0.0, 0, 0.0)
    assert db.conversation_if_changed("s0", db.conversation("s0")) is None
    db.close()


def test_a_file_opened_for_reading_only_refuses_writes(path: Path) -> None:
    filled(path)
    db = SessionDB.open(path, read_only=True)
    assert len(db.conversation("s0")) == 3
    with pytest.raises(NotWritable, match="reading only"):
        db.append("s0", [user("new")])
    db.close()


AS_NOBODY = """
import os, sys
from pathlib import Path
from acp_adapter.errors import LedgerUnavailable
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
os.setgid(65534); os.setuid(65534)
path = Path(sys.argv[1])
try:
    db = SessionDB.open(path)
except LedgerUnavailable as refusal:
    print("refused:", refusal.message); sys.exit()
print("notices:", db.notices)
print("read:", len(db.conversation("s0")), len(db.list_sessions().sessions), len(db.search("message")))
try:
    db.append("s0", [Message(role="user", content="new")])
    print("written")
except LedgerUnavailable as refusal:
    print("refused:", refusal.message)
db.close()
"""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs a user whom rights don't bind")
@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o555), (0o444, 0o777)])
def test_a_file_that_may_only_be_read_opens_for_reading_with_a_notice(file_mode: int, folder_mode: int) -> None:
    folder = Path("/tmp") / f"ledger-read-only-{os.getpid()}-{folder_mode:o}"
    try:
        path = folder / "state.db"
        filled(path)
        path.chmod(file_mode)
        folder.chmod(folder_mode)
        said = subprocess.run([sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, timeout=60)
        assert said.returncode == 0, said.stderr
        assert 'notices: ["The ledger' in said.stdout and "it may only be read" in said.stdout
        assert "read: 3 1 3" in said.stdout
        assert "refused: " in said.stdout
    finally:
        shutil.rmtree(folder)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs a user whom rights don't bind")
def test_a_folder_that_may_not_be_written_is_an_error_that_names_it() -> None:
    folder = Path("/tmp") / f"ledger-no-place-{os.getpid()}"
    folder.mkdir(mode=0o555)
    try:
        path = folder / "state.db"
        said = subprocess.run([sys.executable, "-c", AS_NOBODY, str(path)], capture_output=True, text=True, timeout=60)
        assert f"refused: The ledger {path} can't be used: Permission denied" in said.stdout, said.stderr
    finally:
        shutil.rmtree(folder)


# Damage


def overwrite(path: Path, at: int, count: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * count)


def test_a_damaged_header_costs_nothing_but_the_header(path: Path) -> None:
    filled(path, messages=20, sessions=5)
    whole = path.read_bytes()
    overwrite(path, 0, 60)
    broken = path.read_bytes()
    db = SessionDB.open(path)
    assert "5 sessions with 100 messages" in db.notices[0]
    assert len(db.list_sessions().sessions) == 5
    assert texts(db.conversation("s3"))[0].startswith("message 0")
    assert len(db.search("message", limit=200)) == 100
    assert Care(db).verify() == []
    db.append("s3", [user("goes on")])
    db.close()
    [aside] = [file for file in path.parent.glob("state.db.damaged-*") if file.suffix != ".db-wal"]
    assert aside.read_bytes() == broken != whole
    assert aside.name in db.notices[0]
    reopened = SessionDB.open(path)
    assert reopened.notices == []
    reopened.close()


def test_a_file_that_is_no_database_is_kept_aside_and_a_new_one_begun(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database at all, but somebody's text\n" * 10)
    db = SessionDB.open(path)
    assert "0 sessions with 0 messages" in db.notices[0]
    new_session(db, "s")
    db.close()
    [aside] = path.parent.glob("state.db.damaged-*")
    assert aside.read_text().startswith("not a database at all")


def test_a_hole_in_the_messages_costs_only_what_stood_there(path: Path) -> None:
    filled(path, messages=200, sessions=5)
    size = path.stat().st_size
    found: set[int] = set()
    for page in range(20, size // 4096, 61):
        copy = path.with_name(f"copy-{page}.db")
        shutil.copy(path, copy)
        overwrite(copy, page * 4096, 4096)
        kept = after_damage(copy)
        assert kept >= 900, (page, kept)
        found.add(kept)
    assert len(found) > 1, "no page that was overwritten held messages"


def after_damage(path: Path) -> int:
    """How many messages there are once the damage was met: at once, or in use and then at the next opening."""
    db = SessionDB.open(path)
    try:
        kept = count_and_go_on(db)
    except LedgerUnavailable:
        db.close()
        db = SessionDB.open(path)
        assert "damaged" in "".join(db.notices)
        kept = count_and_go_on(db)
    if problems := Care(db).verify():
        assert "damaged" in problems[0]
        db.close()
        db = SessionDB.open(path)
        kept = count_and_go_on(db)
    assert Care(db).verify() == []
    db.close()
    return kept


def count_and_go_on(db: SessionDB) -> int:
    sessions = [entry.id for entry in db.list_sessions().sessions]
    kept = sum(len(db.conversation(session)) for session in sessions)
    db.search("message")
    db.append(sessions[0], [user("goes on")])
    return kept


def test_damage_that_only_a_close_look_finds_is_repaired_at_the_next_opening(path: Path) -> None:
    filled(path)
    [(page,)] = rows(path, "SELECT rootpage FROM sqlite_master WHERE name = 'idx_async_delegations_delivery'")
    overwrite(path, (page - 1) * 4096, 4096)
    db = SessionDB.open(path)
    assert (db.notices, len(db.conversation("s0"))) == ([], 3)
    assert "damaged" in Care(db).verify()[0]
    db.close()
    db = SessionDB.open(path)
    assert "1 sessions with 3 messages" in db.notices[0]
    assert Care(db).verify() == []
    db.close()


def test_a_file_that_was_cut_short_gives_what_is_left(path: Path) -> None:
    filled(path, messages=200, sessions=5)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2 // 4096 * 4096)
    assert 100 < after_damage(path) < 1000
    assert len(list(path.parent.glob("state.db.damaged-*"))) == 1


def test_what_stood_only_in_the_log_is_salvaged_too(path: Path) -> None:
    db = SessionDB.open(path)
    db.append(new_session(db, "s"), [user("in the log")])
    copy = path.with_name("copy.db")
    db.connection.empty_log()
    db.append("s", [user("only in the log")])
    shutil.copy(path, copy)
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    db.close()
    overwrite(copy, 0, 16)
    db = SessionDB.open(copy)
    assert texts(db.conversation("s")) == ["in the log", "only in the log"]
    db.close()


# Gone


def test_a_ledger_that_was_removed_is_an_error_and_no_silent_success(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    shutil.rmtree(path.parent)
    with pytest.raises(LedgerUnavailable, match="removed or replaced"):
        db.append("s", [user("into the void")])
    with pytest.raises(LedgerUnavailable):
        db.append("s", [user("into the void")])


def test_a_ledger_that_was_replaced_is_an_error_too(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    db.connection.empty_log()
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)
    with pytest.raises(LedgerUnavailable, match="removed or replaced"):
        db.append("s", [user("into the void")])
