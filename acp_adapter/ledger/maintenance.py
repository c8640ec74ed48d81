"""Care of the file: verified, mended, backed up, made smaller, described."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from attrs import frozen

from acp_adapter.errors import LedgerError
from acp_adapter.ledger import attachments, file_edits, fulltext, schema
from acp_adapter.ledger.connection import Connection
from acp_adapter.ledger.faults import Unexplained

DAMAGED = "The file is damaged"


@frozen
class Stats:
    """What the ledger holds. Sizes are in bytes: of the file, of its write-ahead log, and of free pages in it."""

    path: Path
    schema: int
    bytes: int
    log_bytes: int
    free_bytes: int
    sessions: int
    sessions_by_source: dict[str, int]
    messages: int
    messages_by_role: dict[str, int]
    rewound: int
    compacted: int
    drafts: int
    attachments: int
    attachment_bytes: int
    file_edits: int
    oldest: float | None
    newest: float | None
    tokens_by_model: dict[str, int]
    cost: float


def problems(connection: Connection) -> list[str]:
    """What is wrong with the file, in sentences; empty for a sound one. Reads all of it. Raises Damaged."""
    found = connection.read(_structure) + connection.read(_activity) + connection.read(_attachments)
    if not connection.read(fulltext.is_whole):
        return [*found, "The full-text indexes are not complete."]
    return found + [sentence for table in fulltext.TABLES for sentence in _index(connection, table)]


def mend(sql: sqlite3.Connection) -> None:
    """Write anew the indexes of the tables, and what the list is sorted and filtered by; drop what nothing holds."""
    sql.execute("REINDEX")
    file_edits.mend(sql)
    attachments.mend(sql)
    sql.execute("DELETE FROM session_activity")
    sql.execute(schema.FILL_ACTIVITY)


def shrink(connection: Connection) -> tuple[int, int]:
    """Give free space back to the disk. Returns the file's size before and after. Other writers wait meanwhile."""
    before = connection.path.stat().st_size
    for table in fulltext.TABLES:
        connection.write_if_possible(lambda sql, table=table: _command(sql, table, "optimize"))  # type: ignore[misc]
    connection.run_alone("VACUUM")
    connection.empty_log()
    return before, connection.path.stat().st_size


def stats(sql: sqlite3.Connection, path: Path) -> Stats:
    def number(query: str) -> int:
        return int(sql.execute(query).fetchone()[0] or 0)

    def table(query: str) -> dict[str, int]:
        return {str(key): int(value or 0) for key, value in sql.execute(query)}

    page_size = number("PRAGMA page_size")
    log = Path(f"{path}-wal")
    oldest = sql.execute("SELECT min(started_at) FROM sessions").fetchone()[0]
    newest = sql.execute("SELECT max(last_active) FROM session_activity").fetchone()[0]
    tokens = "sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens)"
    return Stats(
        path=path,
        schema=number("SELECT max(version) FROM schema_version"),
        bytes=path.stat().st_size,
        log_bytes=log.stat().st_size if log.exists() else 0,
        free_bytes=number("PRAGMA freelist_count") * page_size,
        sessions=number("SELECT count(*) FROM sessions"),
        sessions_by_source=table("SELECT source, count(*) FROM sessions GROUP BY source ORDER BY 2 DESC"),
        messages=number("SELECT count(*) FROM messages"),
        messages_by_role=table("SELECT role, count(*) FROM messages GROUP BY role ORDER BY 2 DESC"),
        rewound=number("SELECT count(*) FROM messages WHERE active = 0 AND compacted = 0"),
        compacted=number("SELECT count(*) FROM messages WHERE compacted != 0"),
        drafts=number("SELECT count(*) FROM message_drafts"),
        attachments=number("SELECT count(*) FROM attachments"),
        file_edits=number("SELECT count(*) FROM file_edits"),
        attachment_bytes=number("SELECT sum(length(bytes)) FROM attachments"),
        oldest=oldest,
        newest=newest,
        tokens_by_model=table(f"SELECT model, {tokens} FROM session_model_usage GROUP BY model ORDER BY 2 DESC"),
        cost=float(sql.execute("SELECT coalesce(sum(estimated_cost_usd), 0) FROM sessions").fetchone()[0]),
    )


def _structure(sql: sqlite3.Connection) -> list[str]:
    found = [str(row[0]) for row in sql.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
    orphans = sql.execute("PRAGMA foreign_key_check").fetchall()
    return [f"{DAMAGED}: {line}" for line in found] + [
        f"A row of {row[0]} belongs to a row of {row[2]} that is not there." for row in orphans[:20]
    ]


def _activity(sql: sqlite3.Connection) -> list[str]:
    missing = sql.execute(
        "SELECT count(*) FROM sessions WHERE id NOT IN (SELECT session_id FROM session_activity)"
    ).fetchone()[0]
    return [f"{missing} sessions are missing from the list."] if missing else []


def _attachments(sql: sqlite3.Connection) -> list[str]:
    unused = attachments.unused(sql)
    told = [f"{unused} attachments belong to nothing."] if unused else []
    return told + [f"The attachment {digest} is damaged." for digest in attachments.damaged(sql)]


def _index(connection: Connection, table: str) -> list[str]:
    """FTS5's own check, which needs the right to write, and then whether the index knows the messages."""
    try:
        if connection.refusal is None:
            connection.write(lambda sql: _command(sql, table, "integrity-check"))
        whole = connection.read(lambda sql: fulltext.answers(sql, table, probes=2000))
    except Unexplained:
        whole = False
    except LedgerError as fault:
        return [f"The full-text index {table} can't be checked: {fault.message}"]
    return [] if whole else [f"The full-text index {table} is damaged."]


def _command(sql: sqlite3.Connection, table: str, command: str) -> None:
    sql.execute(f"INSERT INTO {table}({table}) VALUES (?)", (command,))
