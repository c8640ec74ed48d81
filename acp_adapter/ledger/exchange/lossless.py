"""The lossless form: JSON Lines, one row of the ledger a line, every column of it.

    {"format": "acp-adapter-sessions", "version": 1, "schema": 22, "exported_at": 1767225600.0, "redacted": false}
    {"table": "sessions", "row": {"id": "5f0c…", "source": "acp", …}}
    {"table": "messages", "row": {"id": 1, "session_id": "5f0c…", "role": "user", …}}
    …
    {"end": {"sessions": 1, "rows": 2}}

A session's rows follow its own line; an attachment that several sessions hold stands with the first of them. Columns
stand as SQLite has them: JSON that is text in the ledger is text here. What JSON has no form for is `{"base64": "…"}`
(a blob) and `{"float": "inf"}`. Without its end a file was cut off. What belongs to a running process or to another
program's routing (leases, locks, deliveries) is left out. Files that a session changed can't be searched for secrets as
texts can: where secrets are taken out, what was changed is told and the contents of the files are left out.
"""

from __future__ import annotations

import base64
import json
import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from acp_adapter.ledger import schema
from acp_adapter.ledger.db import SessionDB

FORMAT = "acp-adapter-sessions"
VERSION = 1

OF_MESSAGES = """hash IN (SELECT hash FROM message_attachments
    WHERE message_id IN (SELECT id FROM messages WHERE session_id = :node))"""
OF_EDITS = """hash IN (SELECT before_hash FROM file_edits WHERE session_id = :node
    UNION SELECT after_hash FROM file_edits WHERE session_id = :node)"""

TABLES: dict[str, str] = {
    "sessions": "id = :node",
    "messages": "session_id = :node ORDER BY id",
    "message_details": "message_id IN (SELECT id FROM messages WHERE session_id = :node) ORDER BY message_id",
    "attachments": f"({OF_MESSAGES} OR {OF_EDITS}) ORDER BY hash",
    "message_attachments": """message_id IN (SELECT id FROM messages WHERE session_id = :node)
        ORDER BY message_id, field, path""",
    "file_edits": "session_id = :node ORDER BY id",
    "message_drafts": "session_id = :node ORDER BY message_id",
    "session_model_usage": "session_id = :node ORDER BY model, billing_provider, billing_base_url, billing_mode, task",
    "session_pins": "session_id = :node",
}
"""What a session consists of: table → which of its rows, in which order."""

_IDS = {
    *("id", "session_id", "parent_session_id", "message_id", "platform_message_id", "tool_call_id", "hash"),
    *("turn", "call_id", "before_hash", "after_hash"),
}

Clean = Callable[[str], str]
Row = dict[str, Any]


class _NotWritten(Exception):
    """Carries a failure of the output past those of the ledger."""

    def __init__(self, fault: OSError) -> None:
        super().__init__(fault)
        self.fault = fault


def write(
    db: SessionDB,
    nodes: Sequence[str],
    out: Callable[[str], object],
    clean: Clean | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> int:
    """Give `out` line after line, all of one moment of the ledger; the number of rows.

    `clean` is applied to every text but ids, and leaves out the contents of files. A node that was deleted meanwhile
    is left out. Raises LedgerError, and the OSError that `out` raises.
    """

    def put(value: Any) -> None:
        try:
            out(_line(value))
        except OSError as fault:
            raise _NotWritten(fault) from fault

    def run(sql: sqlite3.Connection) -> int:
        head = {"format": FORMAT, "version": VERSION, "schema": schema.VERSION}
        put({**head, "exported_at": time.time(), "redacted": clean is not None})
        sessions = total = 0
        attached = set[str]()
        for done, node in enumerate(nodes, 1):
            for table, row in rows_of(sql, node, files=clean is None):
                if table == "attachments" and row["hash"] in attached:
                    continue
                attached |= {row["hash"]} if table == "attachments" else set()
                put({"table": table, "row": {name: _cell(name, value, clean) for name, value in row.items()}})
                sessions += table == "sessions"
                total += 1
            if progress:
                progress(done, len(nodes))
        put({"end": {"sessions": sessions, "rows": total}})
        return total

    try:
        return db.connection.read(run)
    except _NotWritten as failed:
        raise failed.fault from None


def rows_of(sql: sqlite3.Connection, node: str, *, files: bool = True) -> Iterator[tuple[str, Row]]:
    """All that stands about one node: table and row, its own row first; contents of files only where `files` says."""
    for table, where in TABLES.items():
        chosen = where if files or table != "attachments" else f"{OF_MESSAGES} ORDER BY hash"
        for row in sql.execute(f"SELECT * FROM {table} WHERE {chosen}", {"node": node}):
            yield table, dict(row)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def _cell(column: str, value: Any, clean: Clean | None) -> Any:
    if isinstance(value, str):
        return value if clean is None or column in _IDS else clean(value)
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value
