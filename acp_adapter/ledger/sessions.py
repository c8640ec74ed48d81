"""Session rows: made, read, changed, found by what a person types."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from attrs import frozen

from acp_adapter.errors import InvalidParams, SessionNotFound
from acp_adapter.ledger import tree
from acp_adapter.ledger.encoding import storable

TITLE_LENGTH = 100
_NUMBER = re.compile(r" #\d+$")
"""What `next_title` adds where a title is taken."""


@frozen
class SessionRow:
    """One node of the session tree, as it stands. Times are seconds since 1970; cost is in US dollars; `input_tokens`
    are whole prompts, as in `Usage`.

    `cwd` is where its tools work. `last_active` is the time of its newest message, or of its start.
    """

    id: str
    source: str
    model: str | None
    model_config: dict[str, Any]
    system_prompt: str | None
    parent_session_id: str | None
    edge: tree.Edge
    started_at: float
    ended_at: float | None
    end_reason: str | None
    last_active: float
    title: str | None
    cwd: str
    archived: bool
    message_count: int
    tool_call_count: int
    api_call_count: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    estimated_cost_usd: float
    rewind_count: int

    @property
    def fork_point(self) -> str | None:
        """The id of the last message that a branch shares with its parent, where it is on record."""
        return self.model_config.get(tree.FORK_POINT)


_COUNTERS = (
    "message_count",
    "tool_call_count",
    "api_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "rewind_count",
)
_PLAIN = (
    "id",
    "source",
    "model",
    "system_prompt",
    "parent_session_id",
    "started_at",
    "ended_at",
    "end_reason",
    "title",
)

COLUMNS = (
    "".join(f"s.{column}, " for column in (*_PLAIN, *_COUNTERS))
    + "s.model_config, s.cwd, s.archived, s.estimated_cost_usd, coalesce(a.last_active, s.started_at) AS last_active, "
    + f"{tree.edge()} AS edge"
)
TABLES = """sessions s LEFT JOIN sessions p ON p.id = s.parent_session_id
    LEFT JOIN session_activity a ON a.session_id = s.id"""


def of_row(row: sqlite3.Row) -> SessionRow:
    """The session of a row of COLUMNS."""
    config = config_of(row["model_config"])
    values: dict[str, Any] = {column: row[column] for column in _PLAIN}
    values |= {column: row[column] or 0 for column in _COUNTERS}
    values["input_tokens"] += values["cache_read_tokens"] + values["cache_write_tokens"]
    return SessionRow(
        **values,
        model_config=config,
        cwd=str(config.get("cwd") or row["cwd"] or ""),
        archived=bool(row["archived"]),
        estimated_cost_usd=row["estimated_cost_usd"] or 0.0,
        last_active=row["last_active"],
        edge=row["edge"],
    )


def get(sql: sqlite3.Connection, session_id: str) -> SessionRow:
    """Raises SessionNotFound."""
    row = sql.execute(f"SELECT {COLUMNS} FROM {TABLES} WHERE s.id = ?", (session_id,)).fetchone()
    if row is None:
        raise SessionNotFound(session_id)
    return of_row(row)


def exists(sql: sqlite3.Connection, session_id: str) -> bool:
    return sql.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is not None


class NewSession(TypedDict):
    """What a session begins with. `parent` is the node that it comes from, `source` the program ("acp")."""

    model: str | None
    model_config: Mapping[str, Any]
    cwd: str
    source: NotRequired[str]
    system_prompt: NotRequired[str | None]
    parent: NotRequired[str | None]
    title: NotRequired[str | None]


class SessionChanges(TypedDict, total=False):
    """What may change; None clears model, prompt and title.

    Keys of `model_config` are merged in; a key of value None is taken out. `cwd` moves the session to another folder.
    """

    model: str | None
    model_config: Mapping[str, Any]
    system_prompt: str | None
    title: str | None
    cwd: str


def create(sql: sqlite3.Connection, session_id: str, new: NewSession) -> SessionRow:
    """Make the row. `cwd` stands in its column and in `model_config`, where programs of this family look for it.

    Raises InvalidParams when the id or the title is taken, SessionNotFound for a parent that is not there.
    """
    if exists(sql, session_id):
        raise InvalidParams(f"There is already a session {session_id!r}.", sessionId=session_id)
    parent, cwd = new.get("parent"), new["cwd"]
    if parent is not None and not exists(sql, parent):
        raise SessionNotFound(parent)
    sql.execute(
        """INSERT INTO sessions
           (id, source, model, model_config, system_prompt, parent_session_id, started_at, cwd, title)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            session_id,
            new.get("source", "acp"),
            new["model"],
            json.dumps({**new["model_config"], "cwd": cwd}),
            storable(new.get("system_prompt")),
            parent,
            time.time(),
            storable(cwd),
            checked_title(sql, new.get("title"), session_id),
        ),
    )
    return get(sql, session_id)


def update(sql: sqlite3.Connection, session_id: str, changes: SessionChanges) -> SessionRow:
    """Change what is given. Raises SessionNotFound, and InvalidParams for a title that another session has."""
    row = get(sql, session_id)
    columns: dict[str, Any] = {}
    if "model" in changes:
        columns["model"] = changes["model"]
    if "system_prompt" in changes:
        columns["system_prompt"] = storable(changes["system_prompt"])
    if "title" in changes:
        columns["title"] = checked_title(sql, changes["title"], session_id)
    config = {**row.model_config, **changes.get("model_config", {})}
    if "cwd" in changes:
        columns["cwd"] = config["cwd"] = storable(changes["cwd"])
    config = {key: value for key, value in config.items() if value is not None}
    if config != row.model_config:
        columns["model_config"] = json.dumps(config)
    if columns:
        assignments = ", ".join(f"{column} = ?" for column in columns)
        sql.execute(f"UPDATE sessions SET {assignments} WHERE id = ?", (*columns.values(), session_id))
    return get(sql, session_id)


def resolve(sql: sqlite3.Connection, text: str) -> str:
    """The session that a person means: by id, by title, or by the beginning of an id that only one conversation has.

    Raises SessionNotFound, and InvalidParams naming some of the ids that begin so.
    """
    text = text.strip()
    found = sql.execute(
        "SELECT id FROM sessions WHERE id = ? UNION ALL SELECT id FROM sessions WHERE title = ? LIMIT 1", (text, text)
    ).fetchone()
    if found:
        return str(found[0])
    starting = sql.execute(
        "SELECT id FROM sessions WHERE id >= ? AND substr(id, 1, ?) = ? ORDER BY id LIMIT 100", (text, len(text), text)
    ).fetchall()
    conversations = {tree.root(sql, row[0]): row[0] for row in reversed(starting)} if text else {}
    if len(conversations) > 1:
        some = ", ".join(sorted(conversations)[:5])
        raise InvalidParams(f"Several sessions begin with {text!r}: {some}. Give more of the id.")
    if not conversations:
        raise SessionNotFound(text)
    return str(next(iter(conversations.values())))


def checked_title(sql: sqlite3.Connection, title: str | None, session_id: str) -> str | None:
    """The title as it is stored: one line of at most 100 characters. Raises InvalidParams if another has it."""
    title = " ".join((storable(title) or "").split())[:TITLE_LENGTH].rstrip() or None
    taken = sql.execute("SELECT id FROM sessions WHERE title = ? AND id != ?", (title, session_id)).fetchone()
    if taken:
        raise InvalidParams(f"The session {taken[0]} already has the title {title!r}.", sessionId=taken[0])
    return title


def next_title(sql: sqlite3.Connection, base: str) -> str:
    """A title along a lineage that is free: `name`, then `name #2`, `name #3`, …"""
    name = _unnumbered(" ".join((storable(base) or "").split()))
    taken = {
        row[0]
        for row in sql.execute(
            "SELECT title FROM sessions WHERE title >= ? AND title < ?", (name[:80], name[:80] + "\U0010ffff")
        )
    }
    number, title = 1, name[:TITLE_LENGTH]
    while title in taken:
        number += 1
        ending = f" #{number}"
        title = name[: TITLE_LENGTH - len(ending)].rstrip() + ending
    return title


def title_of(chain: Sequence[SessionRow]) -> str | None:
    """What the conversation of these nodes is called: its newest title that compaction did not make."""
    named = [node for node in chain if node.title]
    while len(named) > 1 and _is_numbered(named[-1], named[-2]):
        named.pop()
    return named[-1].title if named else None


def _is_numbered(node: SessionRow, before: SessionRow) -> bool:
    """Whether compaction named the node after the one before: ours is on record, others' is known by its number."""
    title, earlier = node.title or "", before.title or ""
    alike = _unnumbered(earlier).startswith(_unnumbered(title)) and bool(_NUMBER.search(title))
    return alike or node.model_config.get(tree.NUMBERED) == title


def _unnumbered(title: str) -> str:
    return _NUMBER.sub("", title)


def config_of(text: str | None) -> dict[str, Any]:
    """The object in a `model_config` column; empty where there is none."""
    try:
        config = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}
