"""Message ⇄ row: how a message is written, and what it reads back as, byte for byte."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from acp_adapter.transcript import Message

JSON_MARK = "\x00json:"
"""Content that begins so is JSON: parts, or a text that itself begins so."""

_JSON_COLUMNS = ("reasoning_details", "codex_reasoning_items", "codex_message_items")

_INSERT = """
    INSERT INTO messages(session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, token_count,
        finish_reason, reasoning, reasoning_content, reasoning_details, codex_reasoning_items, codex_message_items,
        platform_message_id, api_content, observed, active, compacted)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)"""

SELECT = """
    SELECT m.id, m.session_id, m.role, m.content, m.tool_call_id, m.tool_calls, m.tool_name, m.timestamp, m.token_count,
        m.finish_reason, m.reasoning, m.reasoning_content, m.reasoning_details, m.codex_reasoning_items,
        m.codex_message_items, m.platform_message_id, m.api_content, m.active, m.compacted, d.details
    FROM messages m LEFT JOIN message_details d ON d.message_id = m.id"""
"""The columns that `of_row` reads; a caller adds WHERE and ORDER BY."""


def insert(sql: sqlite3.Connection, session_id: str, message: Message) -> int:
    """Write one row, and its details beside it. Returns the row's number."""
    cursor = sql.execute(
        _INSERT,
        (
            session_id,
            message.role,
            encoded(message.content),
            storable(message.tool_call_id),
            _json(message.tool_calls),
            storable(message.tool_name),
            message.timestamp,
            message.token_count,
            storable(message.finish_reason),
            storable(message.reasoning),
            storable(message.reasoning_content),
            _json(message.reasoning_details),
            _json(message.codex_reasoning_items),
            _json(message.codex_message_items),
            storable(message.id),
            encoded(message.api_content),
            int(message.active),
            int(message.compacted),
        ),
    )
    row = cursor.lastrowid
    assert row is not None
    if message.details:
        sql.execute("INSERT INTO message_details(message_id, details) VALUES (?, ?)", (row, _json(message.details)))
    return row


def of_row(row: sqlite3.Row) -> Message:
    """The message of a row of SELECT."""
    return Message(
        role=row["role"],
        content=decoded(row["content"]),
        id=row["platform_message_id"] or f"row-{row['id']}",
        tool_calls=_unjson(row["tool_calls"]),
        tool_call_id=row["tool_call_id"],
        tool_name=row["tool_name"],
        finish_reason=row["finish_reason"],
        reasoning=row["reasoning"],
        reasoning_content=row["reasoning_content"],
        **{column: _unjson(row[column]) for column in _JSON_COLUMNS},
        api_content=decoded(row["api_content"]),
        timestamp=row["timestamp"],
        token_count=row["token_count"],
        details=_unjson(row["details"]),
        row=row["id"],
        active=row["active"] != 0,
        compacted=bool(row["compacted"]),
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


def encoded(content: str | list[Any] | dict[str, Any] | None) -> str | None:
    """The text of a content column."""
    if content is None or (isinstance(content, str) and not content.startswith(JSON_MARK)):
        return storable(content)
    return JSON_MARK + json.dumps(_clean(content))


def decoded(text: Any) -> Any:
    """What a content column holds. Text behind the mark that is not JSON is given as it stands."""
    if not isinstance(text, str) or not text.startswith(JSON_MARK):
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    try:
        return json.loads(text.removeprefix(JSON_MARK))
    except (ValueError, RecursionError):
        return text


def storable(text: str | None) -> str | None:
    """The text with each lone surrogate, which no encoding can hold, as U+FFFD."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _json(value: Any) -> str | None:
    """Readable JSON: what the tool calls say is searched as it stands in the column."""
    return None if not value else json.dumps(_clean(value), ensure_ascii=False)


def _unjson(text: str | None) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
