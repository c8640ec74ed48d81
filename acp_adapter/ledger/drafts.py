"""Messages that have no place yet, still being streamed or said to a running turn: kept apart from the history, so that
a killed process loses only a tail."""

from __future__ import annotations

import json
import sqlite3
import time

from attrs import asdict, evolve, fields_dict

from acp_adapter.ledger.encoding import storable
from acp_adapter.transcript import Message


def save(sql: sqlite3.Connection, session_id: str, message: Message) -> None:
    """Write the message as it is so far, in the place of what was saved of it before."""
    text = json.dumps(asdict(message))
    sql.execute(
        "INSERT OR REPLACE INTO message_drafts(session_id, message_id, message, saved_at) VALUES (?, ?, ?, ?)",
        (session_id, storable(message.id), text, time.time()),
    )


def drop(sql: sqlite3.Connection, session_id: str, message_id: str) -> None:
    sql.execute(
        "DELETE FROM message_drafts WHERE session_id = ? AND message_id = ?", (session_id, storable(message_id))
    )


def drop_answers(sql: sqlite3.Connection, session_id: str) -> None:
    """Let go of what was streamed; what the user said goes on waiting."""
    unasked = "session_id = ? AND json_extract(message, '$.role') != 'user'"
    sql.execute(f"DELETE FROM message_drafts WHERE {unasked}", (session_id,))


def move(sql: sqlite3.Connection, session_id: str, to: str) -> None:
    """Keep what waits with the node in which the conversation goes on."""
    sql.execute("UPDATE message_drafts SET session_id = ? WHERE session_id = ?", (to, session_id))


def left(sql: sqlite3.Connection, session_id: str) -> list[Message]:
    """The drafts that nobody finished: answers as they were interrupted, then what the user said meanwhile, in order.

    Calls in them never ran and may be cut off in mid-argument, so they are left out.
    """
    rows = sql.execute(
        "SELECT message FROM message_drafts WHERE session_id = ? ORDER BY saved_at, message_id", (session_id,)
    )
    drafts = sorted((_of_json(row[0]) for row in rows), key=lambda draft: draft.role == "user")
    return [draft if draft.role == "user" else _interrupted(draft) for draft in drafts]


def _interrupted(draft: Message) -> Message:
    return evolve(draft, finish_reason="interrupted", tool_calls=None)


def _of_json(text: str) -> Message:
    known = fields_dict(Message)
    return Message(**{key: value for key, value in json.loads(text).items() if key in known})
