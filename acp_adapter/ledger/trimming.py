"""Trimming: what the model is sent of a stored message made shorter, while the message itself stays whole."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import attachments, tree
from acp_adapter.ledger.encoding import encoded as column
from acp_adapter.transcript import Message


def trim(sql: sqlite3.Connection, session_id: str, replacements: Mapping[str, str]) -> None:
    """See `SessionDB.trim`. What it set is on record, so that other processes need not compare texts."""
    active = _rows_by_id(sql, tree.tip(sql, session_id))
    for message_id, text in replacements.items():
        if message_id not in active:
            raise InvalidParams(
                f"There is no message {message_id!r} in what the model is sent of this session.", messageId=message_id
            )
        row, encoded = active[message_id], column(text)
        sql.execute("UPDATE messages SET api_content = ? WHERE id = ?", (encoded, row))
        if attachments.forget(sql, row, "api_content"):
            attachments.purge(sql)
        sql.execute(
            "INSERT OR REPLACE INTO message_trims(message_id, digest) VALUES (?, ?)", (row, _digest(encoded or ""))
        )


def are_all(sql: sqlite3.Connection, node: str, known: Sequence[Message]) -> bool:
    """The node's active messages are `known`, in order, trimmed as `known` are."""
    stored = sql.execute(
        """SELECT m.id, t.digest FROM messages m LEFT JOIN message_trims t ON t.message_id = m.id
           WHERE m.session_id = ? AND m.active != 0 ORDER BY m.id""",
        (node,),
    ).fetchall()
    return len(stored) == len(known) and all(
        row == message.row and (digest is None or digest == _digest(column(message.api_content) or ""))
        for (row, digest), message in zip(stored, known, strict=True)
    )


def _rows_by_id(sql: sqlite3.Connection, node: str) -> dict[str, int]:
    rows = sql.execute("SELECT id, platform_message_id FROM messages WHERE session_id = ? AND active != 0", (node,))
    return {message_id or f"row-{row}": row for row, message_id in rows}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:8]
