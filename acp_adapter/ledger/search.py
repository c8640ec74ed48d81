"""Search: which messages a query finds, the best first.

A message is found by the indexes, compared with the query where those are too generous, and then ranked: of many
hits only the newest few thousand, because ranking them all costs more than anyone waits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from attrs import evolve, frozen

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import fulltext, listing, query, tree
from acp_adapter.ledger.query import Term

RANKED = 3000
"""So many of the newest hits are ranked."""


@frozen
class Hit:
    """A message that a search found. `session_id` opens its conversation; `node_id` is the node that holds it.

    `snippet` is one line around the hit, `spans` where in it the terms are. `compacted`: the model no longer sees it.
    """

    session_id: str
    node_id: str
    message_id: str
    row: int
    role: str
    title: str | None
    source: str
    timestamp: float
    snippet: str
    spans: list[tuple[int, int]]
    compacted: bool


@frozen
class Where:
    """What a hit must be besides. `session_id` takes in its whole chain, `cwd` a folder under any spelling."""

    role: str | None = None
    session_id: str | None = None
    source: str | None = None
    cwd: str | None = None
    since: float | None = None


def find(sql: sqlite3.Connection, text: str, where: Where, newest_first: bool, limit: int) -> list[Hit]:
    """See `SessionDB.search`. Needs whole indexes: see `fulltext.state`."""
    wanted = _terms(text)
    rows = _found(sql, wanted, where, _by_index, RANKED if not newest_first else limit)
    if not newest_first:
        rows = _ranked(sql, wanted, rows)
    return _hits(sql, wanted, rows, limit)


def find_without_index(sql: sqlite3.Connection, text: str, where: Where, limit: int) -> list[Hit]:
    """The newest hits, by reading all messages: for a file whose indexes are damaged and can't be written."""
    wanted = [evolve(term, literal=True) for term in _terms(text)]
    return _hits(sql, wanted, _found(sql, wanted, where, _by_reading, limit), limit)


def _terms(text: str) -> list[Term]:
    wanted = query.terms(text)
    if not wanted:
        raise InvalidParams("There is nothing to search for. Give a word, a phrase in quotes, or some of the text.")
    return [term if at < query.MOST_TERMS else evolve(term, literal=True) for at, term in enumerate(wanted)]


# Candidates

_Source = Callable[[sqlite3.Connection, Sequence[Term], Where], Iterator[int]]


def _found(sql: sqlite3.Connection, wanted: Sequence[Term], where: Where, source: _Source, enough: int) -> list[int]:
    """The newest rows that the query means, at most `enough`; older candidates are looked at only if needed."""
    condition, values = _condition(sql, where)
    literal = [term for term in wanted if term.literal or term.kind == "signs"]
    text = fulltext.indexed_text("m") if literal else "NULL"
    candidates = source(sql, wanted, where)
    found: list[int] = []
    while len(found) < enough and (rows := list(islice(candidates, max(enough, 200)))):
        marks = ", ".join("?" * len(rows))
        chosen = sql.execute(f"SELECT m.id, {text} FROM messages m WHERE m.id IN ({marks}) {condition}", rows + values)
        found += sorted((row for row, text in chosen if all(query.holds(text, term) for term in literal)), reverse=True)
    return found[:enough]


def _condition(sql: sqlite3.Connection, where: Where) -> tuple[str, list[Any]]:
    parts, values = ["(m.active != 0 OR m.compacted != 0)"], list[Any]()
    for column, operator, value in (("role", "=", where.role), ("timestamp", ">=", where.since)):
        if value is not None:
            parts.append(f"m.{column} {operator} ?")
            values.append(value)
    sessions, chosen = _chosen_sessions(sql, where)
    if sessions:
        parts.append(f"m.session_id IN ({sessions})")
    return "AND " + " AND ".join(parts), values + chosen


def _chosen_sessions(sql: sqlite3.Connection, where: Where) -> tuple[str, list[Any]]:
    """SQL for the ids of the sessions that the filter leaves; empty for all."""
    if where.session_id is not None:
        nodes = tree.chain(sql, where.session_id)
        return ", ".join("?" * len(nodes)), list(nodes)
    parts, values = list[str](), list[Any]()
    if where.source is not None:
        parts.append("source = ?")
        values.append(where.source)
    if where.cwd is not None:
        folders = listing.spellings(sql, where.cwd)
        parts.append(f"folder IN ({', '.join('?' * len(folders))})")
        values += folders
    return (f"SELECT session_id FROM session_activity WHERE {' AND '.join(parts)}" if parts else ""), values


def _by_index(sql: sqlite3.Connection, wanted: Sequence[Term], where: Where) -> Iterator[int]:
    """Rows that may hold all terms, newest first, as the indexes tell."""
    indexed = wanted[: query.MOST_TERMS]
    matches = [(table, match) for table, match in zip(fulltext.TABLES, _matches(indexed), strict=True) if match]
    sets = [_with_piece(sql, term.text.lower()) for term in indexed if term.kind == "piece" and len(term.text) < 3]
    if not matches and not sets:
        return _by_reading(sql, wanted, where)
    if where.session_id is not None:
        sets.append(_of_sessions(sql, where))
    oldest = _oldest_since(sql, where.since) if where.since is not None else 0
    if len(matches) == 1 and not sets:
        table, match = matches[0]
        newest_first = _matching(sql, table, f"{table} MATCH ? AND rowid >= ? ORDER BY rowid DESC", (match, oldest))
        return (row for (row,) in newest_first)
    for table, match in matches:
        sets.append({row for (row,) in _matching(sql, table, f"{table} MATCH ?", (match,))})
    return iter(sorted((row for row in set.intersection(*sets) if row >= oldest), reverse=True))


def _matches(wanted: Sequence[Term]) -> tuple[str, str]:
    """FTS5 expressions for both indexes, in which nothing but phrases and AND is possible; empty for no term."""
    words = [term.text for term in wanted if term.kind == "words"]
    pieces = [term.text for term in wanted if term.kind == "piece" and len(term.text) >= 3]
    quoted = [[f'"{text.replace(chr(34), chr(34) * 2)}"' for text in texts] for texts in (words, pieces)]
    return " AND ".join(quoted[0]), " AND ".join(quoted[1])


def _matching(sql: sqlite3.Connection, table: str, condition: str, values: Sequence[object]) -> sqlite3.Cursor:
    """A cursor of plain tuples: there may be a hundred thousand."""
    cursor = sql.cursor()
    cursor.row_factory = None
    return cursor.execute(f"SELECT rowid FROM {table} WHERE {condition}", values)


def _with_piece(sql: sqlite3.Connection, piece: str) -> set[int]:
    """Rows that hold one or two characters: those of all trigrams that begin with them.

    Every indexed text ends in blanks, so its last characters begin a trigram too.
    """
    sql.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.trigrams USING fts5vocab('main', 'messages_fts_trigram', 'instance')"
    )
    beginning = "SELECT DISTINCT doc FROM temp.trigrams WHERE term >= ? AND term < ?"
    return {row for (row,) in sql.execute(beginning, (piece, piece + "\U0010ffff"))}


def _of_sessions(sql: sqlite3.Connection, where: Where) -> set[int]:
    sessions, values = _chosen_sessions(sql, where)
    return {row for (row,) in sql.execute(f"SELECT id FROM messages WHERE session_id IN ({sessions})", values)}


def _oldest_since(sql: sqlite3.Connection, since: float) -> int:
    """The lowest row of that time or later; higher than any row where there is none."""
    lowest = """SELECT min(m.id) FROM session_activity a JOIN messages m ON m.session_id = a.session_id
        WHERE a.last_active >= ? AND m.timestamp >= ?"""
    found = sql.execute(lowest, (since, since)).fetchone()[0]
    return int(found) if found is not None else 2**62


def _by_reading(sql: sqlite3.Connection, wanted: Sequence[Term], where: Where) -> Iterator[int]:
    """All rows, newest first, that hold what stands for itself; SQLite looks faster than we do."""
    signs = [term.text for term in wanted if term.kind == "signs"]
    having = " AND ".join([f"instr({fulltext.indexed_text('m')}, ?)"] * len(signs)) or "1"
    return (row[0] for row in sql.execute(f"SELECT m.id FROM messages m WHERE {having} ORDER BY m.id DESC", signs))


# Order and shape


def _ranked(sql: sqlite3.Connection, wanted: Sequence[Term], rows: list[int]) -> list[int]:
    """The best first, by bm25 of the words, or of the pieces where there are no words; the newer of equals first."""
    words, pieces = _matches(wanted[: query.MOST_TERMS])
    table, match = (fulltext.TABLES[0], words) if words else (fulltext.TABLES[1], pieces)
    if not match or not rows:
        return rows
    matching = f"SELECT rowid, rank FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"
    one_of_them = f"+rowid IN ({', '.join('?' * len(rows))})"  # + for one pass, not one search a row
    ranks = sql.execute(f"{matching} AND {one_of_them}", (match, rows[-1], rows[0], *rows))
    rank = dict(ranks.fetchall())
    return sorted(rows, key=lambda row: (rank.get(row, 0.0), -row))


_MESSAGE = f"""
    SELECT m.id, m.session_id, m.role, m.platform_message_id, m.timestamp, m.compacted, s.source,
           {fulltext.indexed_text("m")} AS text
    FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.id = ?"""


def _hits(sql: sqlite3.Connection, wanted: Sequence[Term], rows: Sequence[int], limit: int) -> list[Hit]:
    """The first `limit` messages, each once: of a message and its copies in branches and chains, the oldest."""
    originals: dict[tuple[object, str], sqlite3.Row] = {}
    for row in rows:
        message = sql.execute(_MESSAGE, (row,)).fetchone()
        key = (message["platform_message_id"] or row, message["text"])
        if key not in originals and len(originals) == limit:
            break
        if key not in originals or row < originals[key]["id"]:
            originals[key] = message
    return [_hit(sql, wanted, message) for message in originals.values()]


def _hit(sql: sqlite3.Connection, wanted: Sequence[Term], row: sqlite3.Row) -> Hit:
    shown, spans = query.snippet(row["text"].rstrip(), wanted)
    nodes = tree.chain(sql, row["session_id"])
    marks = ", ".join("?" * len(nodes))
    titles = dict(sql.execute(f"SELECT id, title FROM sessions WHERE id IN ({marks})", nodes).fetchall())
    return Hit(
        session_id=tree.known_id(sql, nodes[-1]),
        node_id=row["session_id"],
        message_id=row["platform_message_id"] or f"row-{row['id']}",
        row=row["id"],
        role=row["role"],
        title=next((titles[node] for node in reversed(nodes) if titles[node]), None),
        source=row["source"],
        timestamp=row["timestamp"],
        snippet=shown,
        spans=spans,
        compacted=bool(row["compacted"]),
    )
