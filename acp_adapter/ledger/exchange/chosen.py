"""Which sessions are meant: those asked for, their whole lineage, or all."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from acp_adapter.ledger import tree
from acp_adapter.ledger.db import SessionDB

_LINEAGE = """
    WITH RECURSIVE
        above(id, parent) AS (
            SELECT id, parent_session_id FROM sessions WHERE id = ?
            UNION SELECT s.id, s.parent_session_id FROM above JOIN sessions s ON s.id = above.parent),
        related(id) AS (
            SELECT id FROM above
            UNION SELECT s.id FROM related JOIN sessions s ON s.parent_session_id = related.id)
    SELECT id FROM related"""


def nodes(db: SessionDB, asked: Sequence[str], *, lineage: bool = False) -> list[str]:
    """Every node of the conversations asked for, in the order in which they were made.

    With `lineage` also the conversations they came from, and everything that came from those: branches,
    continuations, sub-agents. Raises SessionNotFound.
    """

    def find(sql: sqlite3.Connection) -> list[str]:
        found = {node for session_id in asked for node in tree.chain(sql, session_id)}
        if lineage:
            found |= {row[0] for node in found for row in sql.execute(_LINEAGE, (node,))}
        return [node for node in _all(sql) if node in found]

    return db.connection.read(find)


def all_nodes(db: SessionDB) -> list[str]:
    """Every node there is, hidden ones too, in the order in which they were made."""
    return db.connection.read(_all)


def conversations(db: SessionDB, chosen: Sequence[str]) -> list[str]:
    """The conversations that these nodes are part of, by the ids of their first nodes."""
    return db.connection.read(lambda sql: list(dict.fromkeys(tree.root(sql, node) for node in chosen)))


def _all(sql: sqlite3.Connection) -> list[str]:
    return [row[0] for row in sql.execute("SELECT id FROM sessions ORDER BY started_at, rowid")]
