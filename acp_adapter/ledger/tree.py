"""The session tree: the one place that decides what an edge between two sessions means.

    root         nobody's child
    compression  goes on where its parent was compacted away: parent and child are one conversation, a chain
    branch       began as a copy of its parent's history; both live on
    delegate     a sub-agent's session, its parent's business only

We write an edge explicitly, as a key of the child's `model_config`. Other programs leave compression to be inferred
from the parent's `end_reason`, and old ones branches too; a child that nothing explains is a delegate. What is
written explicitly stays true whatever else becomes of the parent.
"""

from __future__ import annotations

import sqlite3
from typing import Literal

from acp_adapter.errors import SessionNotFound
from acp_adapter.ledger.schema import json_value

Edge = Literal["root", "compression", "branch", "delegate"]

BRANCHED_FROM = "_branched_from"
DELEGATE_FROM = "_delegate_from"
COMPRESSED_FROM = "_compressed_from"
FORK_POINT = "_fork_point"
CARRIED = "_carried"
"""How many of a chain node's messages repeat or sum up its parent's: the summary and the tail."""
NUMBERED = "_numbered"
"""The title that compaction gave a chain node, since titles are unique: no name of the conversation."""


def edge(child: str = "s", parent: str = "p") -> str:
    """SQL for the Edge of `child`, where `parent` is its parent's row or NULLs (LEFT JOIN)."""
    config = f"{child}.model_config"
    return f"""CASE
        WHEN {json_value(config, DELEGATE_FROM)} IS NOT NULL THEN 'delegate'
        WHEN {json_value(config, BRANCHED_FROM)} IS NOT NULL THEN 'branch'
        WHEN {parent}.id IS NULL THEN 'root'
        WHEN {json_value(config, COMPRESSED_FROM)} IS NOT NULL THEN 'compression'
        WHEN {child}.source = 'tool' THEN 'delegate'
        WHEN {parent}.end_reason = 'compression' THEN 'compression'
        WHEN {parent}.end_reason = 'branched' AND {child}.started_at >= {parent}.ended_at THEN 'branch'
        ELSE 'delegate' END"""


_CONTINUED = f"""
    SELECT s.id FROM sessions p JOIN sessions s ON s.parent_session_id = p.id
    LEFT JOIN session_activity a ON a.session_id = s.id
    WHERE p.id = ? AND {edge()} = 'compression'
    ORDER BY s.end_reason IS 'compression' DESC, s.ended_at IS NULL DESC,
             coalesce(a.last_active, s.started_at) DESC, s.started_at DESC, s.id DESC
    LIMIT 1"""

_PARENT = f"""
    SELECT p.id FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
    WHERE s.id = ? AND {edge()} = 'compression'"""


IS_TIP = f"""NOT EXISTS (
    SELECT 1 FROM sessions c WHERE c.parent_session_id = s.id AND {edge("c", "s")} = 'compression')"""
"""SQL: nothing continues the session `s`."""


def tip(sql: sqlite3.Connection, session_id: str) -> str:
    """The newest node of the chain that the session is part of: where the conversation goes on.

    Of several continuations of one node the one that went on itself counts, then a living one, then the newest.
    Raises SessionNotFound.
    """
    if sql.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        raise SessionNotFound(session_id)
    return _walk(sql, _CONTINUED, session_id)[-1]


def root(sql: sqlite3.Connection, session_id: str) -> str:
    """The first node of the chain: the id that stands for the whole conversation."""
    return _walk(sql, _PARENT, session_id)[-1]


def chain(sql: sqlite3.Connection, session_id: str) -> list[str]:
    """The nodes of one conversation from the first to the newest. Raises SessionNotFound."""
    return _walk(sql, _PARENT, tip(sql, session_id))[::-1]


def known_id(sql: sqlite3.Connection, tip_id: str) -> str:
    """The id under which clients know the conversation that ends at `tip_id`.

    Our own continuations keep the id that the client has, so it is the first node of those we wrote; a
    continuation of another program moved its client to the new node's id.
    """
    explicit = f"{_PARENT} AND {json_value('s.model_config', COMPRESSED_FROM)} IS NOT NULL"
    return _walk(sql, explicit, tip_id)[-1]


def children(sql: sqlite3.Connection, session_id: str, kind: Edge) -> list[str]:
    """The children of one node by that kind of edge, oldest first."""
    found = sql.execute(
        f"""SELECT s.id FROM sessions p JOIN sessions s ON s.parent_session_id = p.id
            WHERE p.id = ? AND {edge()} = ? ORDER BY s.started_at, s.id""",
        (session_id, kind),
    )
    return [row[0] for row in found]


def make_explicit(sql: sqlite3.Connection, parent: str) -> None:
    """Write down what the edges to this parent's children mean now, before the parent's `end_reason` changes."""
    for kind, marker in (("branch", BRANCHED_FROM), ("delegate", DELEGATE_FROM)):
        sql.execute(
            f"""UPDATE sessions SET model_config = json_set(
                    CASE WHEN json_valid(model_config) THEN model_config ELSE '{{}}' END, '$.{marker}', ?)
                WHERE id IN (SELECT s.id FROM sessions p JOIN sessions s ON s.parent_session_id = p.id
                             WHERE p.id = ? AND {edge()} = ? AND {json_value("s.model_config", marker)} IS NULL)""",
            (parent, parent, kind),
        )


def _walk(sql: sqlite3.Connection, step: str, start: str) -> list[str]:
    """The path from `start` by repeated `step`; a loop that some writer made ends where it would close."""
    path = [start]
    while (found := sql.execute(step, (path[-1],)).fetchone()) and found[0] not in path:
        path.append(found[0])
    return path
