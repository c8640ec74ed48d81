"""How a ledger is opened, whatever state its file is in, and what the user is told about it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from acp_adapter.errors import LedgerError, LedgerTooNew
from acp_adapter.ledger import migrations, salvage, schema
from acp_adapter.ledger.connection import Connection
from acp_adapter.ledger.faults import Damaged, NotWritable

Opened = tuple[Connection, list[str]]
"""The connection, and sentences for the user."""


def opened(path: Path) -> Opened:
    """The ledger for writing, made new where there is none, brought up to date where it is older.

    One of a newer schema, or one that may not be written, opens for reading only. A damaged one is kept aside, and
    what can be read of it goes into a new one. Raises LedgerUnavailable.
    """
    try:
        if salvage.is_suspect(path):
            return _rescued(path)
        return _opened_for_writing(path), []
    except (LedgerTooNew, NotWritable) as refusal:
        if not path.is_file():
            raise
        return opened_read_only(path, refusal)[0], [refusal.message]
    except Damaged:
        return _rescued(path)


def opened_read_only(path: Path, refusal: LedgerError | None = None) -> Opened:
    """The ledger as it is, never written. Raises LedgerUnavailable."""
    connection = Connection.open_read_only(path, refusal)
    try:
        _stand_in_for_missing_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection, []


def _opened_for_writing(path: Path) -> Connection:
    connection = Connection.open(path)
    try:
        migrations.migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _rescued(path: Path) -> Opened:
    notice = salvage.rescue(path)
    return _opened_for_writing(path), [notice] if notice else []


def _stand_in_for_missing_tables(connection: Connection) -> None:
    """What our own tables would hold, as temporary tables: a file that another program wrote, or an older release of
    this one, reads like ours."""
    with contextlib.suppress(LedgerTooNew):
        connection.read(migrations.pending)
    connection.read(_stand_in)


def _stand_in(sql: sqlite3.Connection) -> None:
    there = {row[0] for row in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    missing = {name: columns for name, columns in schema.OWN_TABLES.items() if name not in there}
    for name, columns in missing.items():
        sql.execute(f"CREATE TEMP TABLE {name} ({columns})")
    if "session_activity" in missing:
        sql.execute(schema.FILL_ACTIVITY)
