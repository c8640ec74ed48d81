"""Passages: what a search found, by session, with the messages around each hit."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from attrs import frozen

from acp_adapter.ledger import messages
from acp_adapter.ledger.attachments import Reader
from acp_adapter.ledger.search import Hit
from acp_adapter.transcript import Message


@frozen
class Passage:
    """A hit between its neighbours, in order."""

    hit: Hit
    messages: list[Message]


@frozen
class FoundSession:
    """A session with its best passages. `session_id` opens it."""

    session_id: str
    title: str | None
    source: str
    passages: list[Passage]


def by_session(sql: sqlite3.Connection, hits: Sequence[Hit], per_session: int, context: int) -> list[FoundSession]:
    """The hits grouped, sessions in the order of their best hit; neighbours of one passage are not hits again."""
    grouped: dict[str, list[Passage]] = {}
    for hit in hits:
        passages = grouped.setdefault(hit.session_id, [])
        shown = {message.row for passage in passages for message in passage.messages}
        if len(passages) < per_session and hit.row not in shown:
            passages.append(Passage(hit, around(sql, hit.row, context, context)))
    return [
        FoundSession(session_id, passages[0].hit.title, passages[0].hit.source, passages)
        for session_id, passages in grouped.items()
    ]


def around(sql: sqlite3.Connection, row: int, before: int, after: int) -> list[Message]:
    """The message of that row with its neighbours in the same node, rewound ones left out."""
    same = f"{messages.SELECT} WHERE m.session_id = (SELECT session_id FROM messages WHERE id = ?)"
    kept = "(m.active != 0 OR m.compacted != 0)"
    earlier = sql.execute(f"{same} AND m.id <= ? AND {kept} ORDER BY m.id DESC LIMIT ?", (row, row, before + 1))
    reader = Reader(sql)
    found = messages.of_rows(earlier, reader)[::-1]
    later = sql.execute(f"{same} AND m.id > ? AND {kept} ORDER BY m.id LIMIT ?", (row, row, after))
    return found + messages.of_rows(later, reader)
