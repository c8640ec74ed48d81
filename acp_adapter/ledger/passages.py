"""Passages: what a search found, by session, with the messages around each hit; and single messages by their ids."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from attrs import frozen

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import messages, tree
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


def find_message(sql: sqlite3.Connection, session_id: str, beginning: str) -> Message:
    """See `SessionDB.find_message`."""
    beginning = beginning.strip()
    if not beginning:
        raise InvalidParams("Which message? Give its id, or the beginning of it.")
    found: dict[str, int] = {}
    for node in tree.chain(sql, session_id):
        for row, message_id in _ids_that_begin(sql, node, beginning):
            found.setdefault(message_id, row)
    if beginning in found:
        found = {beginning: found[beginning]}
    if len(found) != 1:
        raise _not_one(beginning, sorted(found))
    rows = sql.execute(f"{messages.SELECT} WHERE m.id = ?", tuple(found.values()))
    return messages.of_rows(rows, Reader(sql))[0]


def _ids_that_begin(sql: sqlite3.Connection, node: str, beginning: str) -> Iterator[tuple[int, str]]:
    """By the index on ids; only rows of other programs, which have none, are looked through."""
    kept = "session_id = ? AND (active != 0 OR compacted != 0)"
    own = f"SELECT id, platform_message_id FROM messages WHERE {kept} AND platform_message_id BETWEEN ? AND ?"
    ordered = f"{own} ORDER BY platform_message_id LIMIT 100"
    yield from map(tuple, sql.execute(ordered, (node, beginning, beginning + "\U0010ffff")))
    if "row-".startswith(beginning[:4]):
        numbered = f"SELECT id, 'row-' || id FROM messages WHERE {kept} AND platform_message_id IS NULL"
        yield from ((row, name) for row, name in sql.execute(numbered, (node,)) if name.startswith(beginning))


def _not_one(beginning: str, found: Sequence[str]) -> InvalidParams:
    if not found:
        return InvalidParams(f"No message of this session has an id that begins with {beginning[:80]!r}.")
    some = ", ".join(found[:5])
    return InvalidParams(f"Several messages begin with {beginning!r}: {some}. Give more of the id.")


def around(sql: sqlite3.Connection, row: int, before: int, after: int) -> list[Message]:
    """The message of that row with its neighbours in the same node, rewound ones left out."""
    same = f"{messages.SELECT} WHERE m.session_id = (SELECT session_id FROM messages WHERE id = ?)"
    kept = "(m.active != 0 OR m.compacted != 0)"
    earlier = sql.execute(f"{same} AND m.id <= ? AND {kept} ORDER BY m.id DESC LIMIT ?", (row, row, before + 1))
    reader = Reader(sql)
    found = messages.of_rows(earlier, reader)[::-1]
    later = sql.execute(f"{same} AND m.id > ? AND {kept} ORDER BY m.id LIMIT ?", (row, row, after))
    return found + messages.of_rows(later, reader)
