"""The session list: the tree projected onto what a person calls a conversation, newest activity first, in pages."""

from __future__ import annotations

import base64
import binascii
import hashlib
import heapq
import json
import os
import sqlite3
import time
from collections.abc import Iterator

from attrs import frozen

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import migrations, sessions, tree
from acp_adapter.ledger.sessions import SessionRow

CURSOR_SECONDS = 24 * 3600


@frozen
class ListedSession:
    """One conversation. `id` is what clients know it by; `session` is its newest node, where it goes on.

    `title` is what the conversation is called, see `sessions.title_of`. `message_count` counts the whole chain, what
    compaction repeated left out; `branch_count` counts the branches that left from any of its nodes. A branch names
    its `parent` as clients know it, None where that was deleted, and as `fork_point` the last message that they share.
    """

    id: str
    session: SessionRow
    title: str | None
    root_id: str
    message_count: int
    branch_count: int
    parent: str | None
    fork_point: str | None


@frozen
class Page:
    """`next_cursor` is None on the last page."""

    sessions: list[ListedSession]
    next_cursor: str | None


@frozen
class Filter:
    """Which conversations. `cwd` is a folder under any spelling; `sources` None means every program's."""

    cwd: str | None = None
    sources: tuple[str, ...] | None = None
    include_archived: bool = False


_Key = tuple[float, str]

_NEWEST: _Key = (9e99, "")


def page(sql: sqlite3.Connection, chosen: Filter, cursor: str | None, limit: int) -> Page:
    """One page. Raises InvalidParams for a cursor of another ledger, another filter, too old, or made up."""
    limit = max(1, limit)
    seal = _seal(sql, chosen)
    start = _opened(cursor, seal) if cursor else _NEWEST
    found: list[ListedSession] = []
    for row in _candidates(sql, chosen, start, limit):
        if len(found) == limit:
            last = found[-1].session
            return Page(found, _sealed((last.last_active, last.id), seal))
        listed = _listed(sql, sessions.of_row(row), chosen)
        if listed:
            found.append(listed)
    return Page(found, None)


def _candidates(sql: sqlite3.Connection, chosen: Filter, start: _Key, limit: int) -> Iterator[sqlite3.Row]:
    """The newest nodes of all conversations beyond `start`, newest first, one sorted stream a folder."""
    folders = [None] if chosen.cwd is None else spellings(sql, chosen.cwd)
    states = (0, 1) if chosen.include_archived else (0,)
    streams = [_stream(sql, chosen, folder, hidden, start, limit) for folder in folders for hidden in states]
    return heapq.merge(*streams, key=lambda row: (row["last_active"], row["id"]), reverse=True)


def _stream(
    sql: sqlite3.Connection, chosen: Filter, folder: str | None, hidden: int, start: _Key, limit: int
) -> Iterator[sqlite3.Row]:
    """Rows in chunks, so that a stream that is only looked into costs one small query."""
    where, values = ["a.hidden = ?", "(a.last_active, a.session_id) < (?, ?)"], [hidden]
    if folder is not None:
        where.insert(1, "a.folder = ?")
        values.append(folder)  # type: ignore[arg-type]
    sources = list(chosen.sources) if chosen.sources is not None else []
    if chosen.sources is not None:
        where.append(f"a.source IN ({', '.join('?' * len(sources))})")
    query = f"""SELECT {sessions.COLUMNS} FROM session_activity a CROSS JOIN sessions s ON s.id = a.session_id
        LEFT JOIN sessions p ON p.id = s.parent_session_id
        WHERE {" AND ".join(where)} AND {tree.edge()} != 'delegate' AND {tree.IS_TIP}
        ORDER BY a.last_active DESC, a.session_id DESC LIMIT ?"""
    while True:
        rows = sql.execute(query, (*values, *start, *sources, limit + 1)).fetchall()
        yield from rows
        if len(rows) <= limit:
            return
        start = (rows[-1]["last_active"], rows[-1]["id"])


def _listed(sql: sqlite3.Connection, session: SessionRow, chosen: Filter) -> ListedSession | None:
    """None where an earlier node of the chain rules it out: archived, or a sub-agent's."""
    nodes = [session]
    if session.edge == "compression":
        nodes = [sessions.get(sql, node) for node in tree.chain(sql, session.id)]
    first = nodes[0]
    if first.edge == "delegate" or (any(node.archived for node in nodes) and not chosen.include_archived):
        return None
    return ListedSession(
        id=tree.known_id(sql, session.id) if len(nodes) > 1 else session.id,
        session=session,
        title=sessions.title_of(nodes),
        root_id=first.id,
        message_count=sum(node.message_count - int(node.model_config.get(tree.CARRIED) or 0) for node in nodes),
        branch_count=sum(len(tree.children(sql, node.id, "branch")) for node in nodes),
        parent=_parent(sql, first),
        fork_point=first.fork_point,
    )


def _parent(sql: sqlite3.Connection, first: SessionRow) -> str | None:
    if first.edge != "branch" or first.parent_session_id is None:
        return None
    return tree.known_id(sql, tree.tip(sql, first.parent_session_id))


def spellings(sql: sqlite3.Connection, cwd: str) -> list[str]:
    """Every way in which the ledger writes this folder."""
    wanted = _place(cwd)
    return list(dict.fromkeys(folder for folder in _folders(sql) if _place(folder) == wanted))


def _folders(sql: sqlite3.Connection) -> Iterator[str]:
    """All folders of the ledger, some twice: by jumps along the index, not by reading every session."""
    for hidden in (0, 1):
        after: str | None = ""
        while after is not None:
            yield after
            step = "SELECT min(folder) FROM session_activity WHERE hidden = ? AND folder > ?"
            after = sql.execute(step, (hidden, after)).fetchone()[0]


def _place(folder: str) -> object:
    """What two spellings of one folder have in common: the folder itself where it is there, else its plain name."""
    try:
        found = os.stat(folder or os.sep)  # noqa: PTH116
        if folder and (found.st_ino or found.st_dev):
            return found.st_dev, found.st_ino
    except (OSError, ValueError):
        pass
    return os.path.normcase(os.path.normpath(folder)) if folder else ""


def _seal(sql: sqlite3.Connection, chosen: Filter) -> str:
    """Binds a cursor to this ledger and this filter."""
    place = chosen.cwd if chosen.cwd is None else str(_place(chosen.cwd))
    bound = json.dumps([migrations.birth(sql), place, chosen.sources, chosen.include_archived])
    return hashlib.sha256(bound.encode()).hexdigest()[:16]


def _sealed(key: _Key, seal: str) -> str:
    text = json.dumps([seal, int(time.time()), *key])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _opened(cursor: str, seal: str) -> _Key:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        its_seal, made, last_active, session_id = json.loads(text)
        key = (float(last_active), str(session_id))
        fresh = abs(time.time() - float(made)) < CURSOR_SECONDS
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise InvalidParams("The cursor is not one of this program. Ask for the first page again.") from None
    if its_seal != seal or not fresh:
        raise InvalidParams(
            "The cursor belongs to another list or is too old. Ask for the first page again with the same filter."
        )
    return key
