"""Migrations: named, each one transaction, done once a file; a half-done series goes on at the next open."""

from __future__ import annotations

import functools
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from acp_adapter.errors import LedgerTooNew, LedgerUnavailable
from acp_adapter.ledger import fulltext, schema
from acp_adapter.ledger.connection import Connection

Migration = Callable[[sqlite3.Connection], None]

_WHOLE_TEXT_INDEXED = 11
"""The schema since which the indexes hold tool names and calls too."""


def shared_tables(sql: sqlite3.Connection) -> None:
    """Bring the shared tables to schema 22: missing tables, columns and indexes, by name."""
    version = _version(sql)
    _rekey_usage(sql)
    for name, columns in schema.SHARED_TABLES.items():
        sql.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
        _add_missing_columns(sql, name)
    for statement in schema.shared_statements():
        sql.execute(statement)
    _make_titles_unique(sql)
    sql.execute("UPDATE messages SET active = 1 WHERE active IS NULL")
    if 0 < version < _WHOLE_TEXT_INDEXED:
        fulltext.begin(sql)
    sql.execute("DELETE FROM schema_version")
    sql.execute("INSERT INTO schema_version(version) VALUES (?)", (schema.VERSION,))


def own_tables(sql: sqlite3.Connection) -> None:
    """Put our own tables beside the shared ones, and fill them from what is there."""
    for statement in schema.own_statements():
        sql.execute(statement)
    sql.execute(schema.FILL_ACTIVITY)


def full_text(sql: sqlite3.Connection) -> None:
    """Begin the full-text indexes, unless another program has made them; the first search fills them."""
    if not fulltext.is_begun(sql):
        fulltext.begin(sql)


def more_own_tables(sql: sqlite3.Connection) -> None:
    """Put those of our own tables beside the others that came later. They begin empty."""
    for statement in schema.own_statements():
        sql.execute(statement)


SHARED_TABLES = "shared tables, schema 22"
OWN_TABLES = "own tables: details, drafts, activity, leases"
FULL_TEXT = "full-text indexes"

SPENDING = "own tables: spending by day, trims"
ATTACHMENTS = "own tables: attachments"
FILE_EDITS = "own tables: file edits"

MIGRATIONS: dict[str, Migration] = {
    SHARED_TABLES: shared_tables,
    OWN_TABLES: own_tables,
    FULL_TEXT: full_text,
    SPENDING: more_own_tables,
    ATTACHMENTS: more_own_tables,
    FILE_EDITS: more_own_tables,
}
"""In the order of their first release. A name is never changed and never used again."""


def migrate(connection: Connection) -> None:
    """Bring the file up to date; a file with older contents is backed up beside itself first.

    Raises LedgerTooNew for a newer schema and LedgerUnavailable for a database that is no ledger.
    """
    missing = connection.read(pending)
    if not missing:
        return
    if connection.read(_has_sessions):
        back_up(connection)
    for name in missing:
        connection.write(functools.partial(_apply, name=name))


def pending(sql: sqlite3.Connection) -> list[str]:
    """The names of migrations that this file has not had. Raises as `migrate` does."""
    tables = {row[0] for row in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not {"sessions", "messages"} <= tables:
        raise LedgerUnavailable("The file is an SQLite database of something else, not a ledger. Choose another file.")
    version = _version(sql)
    if version > schema.VERSION:
        raise LedgerTooNew(
            f"The ledger has schema {version}, and this program knows {schema.VERSION}. "
            "It can be read but not written: update this program."
        )
    return [name for name in MIGRATIONS if name not in _done(sql, tables, version)]


def birth(sql: sqlite3.Connection) -> float:
    """When this file came to us, which tells it from any other; 0 for one that was never written by us."""
    if sql.execute("SELECT 1 FROM sqlite_master WHERE name = 'acp_adapter_migrations'").fetchone() is None:
        return 0.0
    return float(sql.execute("SELECT min(applied_at) FROM acp_adapter_migrations").fetchone()[0])


def back_up(connection: Connection) -> Path:
    """A copy of the file beside it, whole at one moment, private."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    copy = connection.path.with_name(f"{connection.path.name}.backup-{stamp}")
    return connection.copy_to(copy)


def _apply(sql: sqlite3.Connection, name: str) -> None:
    """Another process may have done it while this one waited for the lock."""
    if name not in pending(sql):
        return
    MIGRATIONS[name](sql)
    sql.execute("CREATE TABLE IF NOT EXISTS acp_adapter_migrations (name TEXT PRIMARY KEY, applied_at REAL NOT NULL)")
    sql.execute("INSERT INTO acp_adapter_migrations(name, applied_at) VALUES (?, ?)", (name, time.time()))


def _done(sql: sqlite3.Connection, tables: set[str], version: int) -> set[str]:
    done = set()
    if "acp_adapter_migrations" in tables:
        done = {row[0] for row in sql.execute("SELECT name FROM acp_adapter_migrations")}
    if version == schema.VERSION and set(schema.SHARED_TABLES) <= tables:
        done.add(SHARED_TABLES)
    return done


def _has_sessions(sql: sqlite3.Connection) -> bool:
    return sql.execute("SELECT 1 FROM sqlite_master WHERE name = 'sessions'").fetchone() is not None


def _add_missing_columns(sql: sqlite3.Connection, table: str) -> None:
    there = {row[1] for row in sql.execute(f"PRAGMA table_info({table})")}
    for column in schema.SHARED_TABLES[table].replace("\n", " ").split(","):
        name, _, declared = column.strip().partition(" ")
        if name not in there and declared and name.islower():
            sql.execute(f"ALTER TABLE {table} ADD COLUMN {name} {declared}")


def _version(sql: sqlite3.Connection) -> int:
    """The file's schema; 0 where none is written."""
    if sql.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchone() is None:
        return 0
    return int(sql.execute("SELECT max(version) FROM schema_version").fetchone()[0] or 0)


def _rekey_usage(sql: sqlite3.Connection) -> None:
    """Usage was once told apart by fewer columns, and SQLite can't change a primary key: copy it over."""
    columns = sql.execute("PRAGMA table_info(session_model_usage)").fetchall()
    if not columns or any(column["name"] == "task" and column["pk"] for column in columns):
        return
    names = ", ".join(column["name"] for column in columns if column["name"] != "task")
    sql.execute("ALTER TABLE session_model_usage RENAME TO session_model_usage_before")
    sql.execute(f"CREATE TABLE session_model_usage ({schema.SHARED_TABLES['session_model_usage']})")
    sql.execute(f"INSERT INTO session_model_usage({names}) SELECT {names} FROM session_model_usage_before")
    sql.execute("DROP TABLE session_model_usage_before")


def _make_titles_unique(sql: sqlite3.Connection) -> None:
    """Of sessions with the same title the newest keeps it."""
    sql.execute(
        """UPDATE sessions SET title = NULL WHERE title IS NOT NULL AND EXISTS
           (SELECT 1 FROM sessions newer WHERE newer.title = sessions.title AND newer.rowid > sessions.rowid)"""
    )
    sql.execute(schema.TITLE_INDEX)
