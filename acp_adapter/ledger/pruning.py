"""Pruning: whole conversations deleted by age, source or the size of the file, the ones longest unused first."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence

from attrs import frozen

from acp_adapter.ledger import file_edits, leases, sessions, tree


@frozen
class Prune:
    """What may go: only conversations unused for `older_than` seconds, only those of `sources`, only until the
    file holds about `max_bytes`. At least one of age and size must be given, or nothing goes."""

    older_than: float | None = None
    sources: tuple[str, ...] | None = None
    max_bytes: int | None = None


@frozen
class Pruned:
    """A conversation that goes. `bytes` is about what it takes in the file."""

    id: str
    title: str | None
    source: str
    last_active: float
    message_count: int
    bytes: int


def plan(sql: sqlite3.Connection, wanted: Prune) -> list[Pruned]:
    """The conversations to delete. None that is pinned or being run, nor one whose sub-agents' parent stays."""
    if wanted.older_than is None and wanted.max_bytes is None:
        return []
    excess = _excess(sql, wanted.max_bytes) if wanted.max_bytes is not None else None
    chosen: list[Pruned] = []
    for candidate in _candidates(sql, wanted):
        if excess is not None and excess <= 0:
            break
        chosen.append(candidate)
        excess = None if excess is None else excess - candidate.bytes
    return chosen


def pin(sql: sqlite3.Connection, session_id: str, pinned: bool) -> None:
    root = tree.chain(sql, session_id)[0]
    if pinned:
        sql.execute("INSERT OR IGNORE INTO session_pins(session_id, pinned_at) VALUES (?, ?)", (root, time.time()))
    else:
        sql.execute("DELETE FROM session_pins WHERE session_id = ?", (root,))


def is_pinned(sql: sqlite3.Connection, nodes: Sequence[str]) -> bool:
    marks = ", ".join("?" * len(nodes))
    return sql.execute(f"SELECT 1 FROM session_pins WHERE session_id IN ({marks})", nodes).fetchone() is not None


def _candidates(sql: sqlite3.Connection, wanted: Prune) -> Iterator[Pruned]:
    latest = time.time() - wanted.older_than if wanted.older_than is not None else 9e99
    oldest_first = f"""
        SELECT {sessions.COLUMNS} FROM {sessions.TABLES}
        WHERE a.last_active < ? AND {tree.edge()} != 'delegate' AND {tree.IS_TIP}
        ORDER BY a.last_active, s.id"""
    bytes_per_character = _used(sql) / max(1, _characters(sql, None))
    for row in sql.execute(oldest_first, (latest,)).fetchall():
        node = sessions.of_row(row)
        nodes = tree.chain(sql, node.id)
        first = sessions.get(sql, nodes[0])
        foreign = wanted.sources is not None and node.source not in wanted.sources
        if foreign or first.edge == "delegate" or is_pinned(sql, nodes) or leases.holder(sql, node.id):
            continue
        counts = [sessions.get(sql, each).message_count for each in nodes]
        size = sum(_characters(sql, each) for each in nodes) * bytes_per_character
        title = node.title or first.title
        yield Pruned(tree.known_id(sql, node.id), title, node.source, node.last_active, sum(counts), int(size))


def _excess(sql: sqlite3.Connection, max_bytes: int) -> float:
    return _used(sql) - max_bytes


def _used(sql: sqlite3.Connection) -> float:
    pages, free, size = (sql.execute(f"PRAGMA {name}").fetchone()[0] for name in _PAGES)
    return float((pages - free) * size)


_PAGES = ("page_count", "freelist_count", "page_size")


def _characters(sql: sqlite3.Connection, session_id: str | None) -> int:
    """Roughly what messages are made of; a constant stands for what each row takes besides its text."""
    where, values = ("", ()) if session_id is None else ("WHERE session_id = ?", (session_id,))
    columns = ("content", "tool_calls", "reasoning", "reasoning_details", "api_content")
    size = " + ".join(f"coalesce(length(CAST({column} AS BLOB)), 0)" for column in columns)
    texts = f"SELECT coalesce(sum(200 + {size}), 0) FROM messages {where}"
    held = f"""SELECT coalesce(sum(length(bytes)), 0) FROM attachments
        WHERE hash IN (SELECT hash FROM message_attachments WHERE message_id IN (SELECT id FROM messages {where}))"""
    in_messages = sum(int(sql.execute(query, values).fetchone()[0]) for query in (texts, held))
    return in_messages + file_edits.kept(sql, session_id)
