"""Message ⇄ row: how a message is written, and what it reads back as, byte for byte."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from acp_adapter.ledger import attachments
from acp_adapter.ledger.encoding import decoded, encoded, json_text, json_value, storable
from acp_adapter.transcript import Message

_JSON_COLUMNS = ("reasoning_details", "codex_reasoning_items", "codex_message_items")

_INSERT = """
    INSERT INTO messages(session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, token_count,
        finish_reason, reasoning, reasoning_content, reasoning_details, codex_reasoning_items, codex_message_items,
        platform_message_id, api_content, observed, active, compacted)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)"""

SELECT = """
    SELECT m.id, m.session_id, m.role, m.content, m.tool_call_id, m.tool_calls, m.tool_name, m.timestamp, m.token_count,
        m.finish_reason, m.reasoning, m.reasoning_content, m.reasoning_details, m.codex_reasoning_items,
        m.codex_message_items, m.platform_message_id, m.api_content, m.active, m.compacted, d.details,
        EXISTS (SELECT 1 FROM message_attachments WHERE message_id = m.id) AS attached
    FROM messages m LEFT JOIN message_details d ON d.message_id = m.id"""
"""The columns that `of_rows` reads; a caller adds WHERE and ORDER BY."""


def insert(sql: sqlite3.Connection, session_id: str, message: Message) -> int:
    """Write one row, and its details and attachments beside it. Returns the row's number."""
    content, in_content = attachments.of_parts(message.content)
    api_content, in_api_content = attachments.of_parts(message.api_content)
    details, in_details = attachments.of_details(message.details)
    cursor = sql.execute(
        _INSERT,
        (
            session_id,
            message.role,
            encoded(content),
            storable(message.tool_call_id),
            json_text(message.tool_calls),
            storable(message.tool_name),
            message.timestamp,
            message.token_count,
            storable(message.finish_reason),
            storable(message.reasoning),
            storable(message.reasoning_content),
            json_text(message.reasoning_details),
            json_text(message.codex_reasoning_items),
            json_text(message.codex_message_items),
            storable(message.id),
            encoded(api_content),
            int(message.active),
            int(message.compacted),
        ),
    )
    row = cursor.lastrowid
    assert row is not None
    if details:
        sql.execute("INSERT INTO message_details(message_id, details) VALUES (?, ?)", (row, json_text(details)))
    if isinstance(content, list):
        attachments.forget(sql, row, "content")  # texts of its own may look like what stands for an attachment
    attachments.keep(sql, row, "content", in_content)
    attachments.keep(sql, row, "api_content", in_api_content)
    attachments.keep(sql, row, "details", in_details)
    return row


def of_rows(rows: Iterable[sqlite3.Row], reader: attachments.Reader) -> list[Message]:
    """The messages of rows of SELECT."""
    return [_of_row(row, reader) for row in rows]


def _of_row(row: sqlite3.Row, reader: attachments.Reader) -> Message:
    parts = {
        "content": decoded(row["content"]),
        "api_content": decoded(row["api_content"]),
        "details": json_value(row["details"]),
    }
    if row["attached"]:
        parts = reader.put_back(row["id"], parts)
    return Message(
        role=row["role"],
        id=row["platform_message_id"] or f"row-{row['id']}",
        tool_calls=json_value(row["tool_calls"]),
        tool_call_id=row["tool_call_id"],
        tool_name=row["tool_name"],
        finish_reason=row["finish_reason"],
        reasoning=row["reasoning"],
        reasoning_content=row["reasoning_content"],
        **{column: json_value(row[column]) for column in _JSON_COLUMNS},
        timestamp=row["timestamp"],
        token_count=row["token_count"],
        row=row["id"],
        active=row["active"] != 0,
        compacted=bool(row["compacted"]),
        **parts,
    )


def stored_rows(sql: sqlite3.Connection, session_ids: Sequence[str], messages: Iterable[Message]) -> dict[str, int]:
    """Which of the messages are rows of these sessions already: message id → row."""
    stored: dict[str, int] = {}
    for message in messages:
        for session_id in session_ids:
            found = sql.execute(
                "SELECT id FROM messages WHERE session_id = ? AND platform_message_id = ?", (session_id, message.id)
            ).fetchone()
            if found:
                stored.setdefault(message.id, found[0])
    return stored
