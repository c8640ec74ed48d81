"""How a ledger is opened, whatever state its file is in, and what the user is told about it."""

from __future__ import annotations

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
    """What our own tables would hold, as temporary tables: a file that another program wrote reads like ours."""
    try:
        missing = connection.read(migrations.pending)
    except LedgerTooNew:
        return
    if migrations.OWN_TABLES not in missing:
        return
    with_temporary = [f"CREATE TEMP TABLE {name} ({columns})" for name, columns in schema.OWN_TABLES.items()]
    connection.read(lambda sql: [sql.execute(statement) for statement in (*with_temporary, schema.FILL_ACTIVITY)])
