"""The messages of a session: appended, read for the model, read for the editor, closed after a crash."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence

from attrs import evolve

from acp_adapter.ledger import drafts, messages, sessions, tree, usage
from acp_adapter.ledger.attachments import Reader
from acp_adapter.pairing import closing_result
from acp_adapter.transcript import Message, Usage

_FOREIGN_SUMMARY = re.compile(r"\[(CONTEXT COMPACTION|CONTEXT SUMMARY|summary)\b", re.IGNORECASE)


def append(
    sql: sqlite3.Connection,
    session_id: str,
    new: Sequence[Message],
    spent: Usage | None,
    model: str | None = None,
    provider: str | None = None,
) -> list[int]:
    """Write the messages at the end of the conversation, count them, drop their drafts. Returns their rows.

    A message whose id the conversation has already is not written or counted again: its old row is returned.
    Raises SessionNotFound.
    """
    nodes = tree.chain(sql, session_id)
    stored = messages.stored_rows(sql, nodes, new)
    unseen = list({message.id: message for message in new if message.id not in stored}.values())
    for message in unseen:
        stored[message.id] = messages.insert(sql, nodes[-1], message)
        drafts.drop(sql, nodes[-1], message.id)
    if unseen:
        usage.count(sql, nodes[-1], unseen, spent, model, provider)
    return [stored[message.id] for message in new]


def of_node(sql: sqlite3.Connection, session_id: str, after: int = 0) -> list[Message]:
    """The active messages of one node beyond row `after`, in order. Raises SessionNotFound."""
    sessions.get(sql, session_id)
    return _select(sql, "m.session_id = ? AND m.active != 0 AND m.id > ?", (session_id, after))


def of_conversation(sql: sqlite3.Connection, session_id: str) -> list[Message]:
    """The whole conversation as a person saw it, from the first message of its chain.

    Compacted messages are in it, rewound ones are not, and what compaction copied is there once, in its first
    place. A summary that stands for compacted messages has `details["summary"]` set.
    """
    first: dict[str, Message] = {}
    reader = Reader(sql)
    for node in tree.chain(sql, session_id):
        shown = _select(sql, "m.session_id = ? AND (m.active != 0 OR m.compacted != 0)", (node,), reader=reader)
        for message in _with_summaries_marked(shown, follows_compaction=bool(first)):
            first.setdefault(message.id, message)
    return list(first.values())


def dangling(sql: sqlite3.Connection, session_id: str) -> list[Message]:
    """Closing results for the calls of the node's last step that got none; empty if the conversation went on."""
    last = _select(sql, "m.session_id = ? AND m.active != 0 AND m.role != 'tool'", (session_id,), newest=1)
    if not last or not last[0].tool_calls:
        return []
    asking = last[0]
    assert asking.row is not None
    answered = {message.tool_call_id for message in of_node(sql, session_id, after=asking.row)}
    open_calls = {call.id: call for call in asking.calls() if call.id not in answered}
    return [closing_result(call) for call in open_calls.values()]


def call_ids(sql: sqlite3.Connection, session_id: str) -> set[str]:
    """See `SessionDB.call_ids`."""
    found = set[str]()
    for node in tree.chain(sql, session_id):
        rows = sql.execute("SELECT tool_call_id FROM messages WHERE session_id = ? AND role = 'tool'", (node,))
        found.update(row[0] for row in rows if row[0])
    return found


def recover(sql: sqlite3.Connection, session_id: str) -> list[Message]:
    """Give the conversation the end that a killed process could not: see `SessionDB.recover`."""
    tip = tree.tip(sql, session_id)
    unfinished = drafts.left(sql, tip)
    told = [draft for draft in unfinished if draft.text() or draft.content or draft.reasoning]
    ending = dangling(sql, tip) + told
    rows = append(sql, tip, ending, None) if ending else []
    sql.execute("DELETE FROM message_drafts WHERE session_id = ?", (tip,))
    return [evolve(message, row=row) for message, row in zip(ending, rows, strict=True)]


def needs_recovery(sql: sqlite3.Connection, session_id: str) -> bool:
    tip = tree.tip(sql, session_id)
    draft = sql.execute("SELECT 1 FROM message_drafts WHERE session_id = ? LIMIT 1", (tip,)).fetchone()
    return draft is not None or bool(dangling(sql, tip))


def _select(
    sql: sqlite3.Connection,
    where: str,
    values: Sequence[object],
    newest: int | None = None,
    reader: Reader | None = None,
) -> list[Message]:
    order = "m.id DESC LIMIT ?" if newest else "m.id"
    rows = sql.execute(f"{messages.SELECT} WHERE {where} ORDER BY {order}", (*values, newest) if newest else values)
    return messages.of_rows(rows, reader or Reader(sql))


def _with_summaries_marked(shown: Sequence[Message], follows_compaction: bool) -> Iterator[Message]:
    """Mark summaries of other programs: by their beginning, and only where compacted messages stand before."""
    for message in shown:
        if message.compacted:
            follows_compaction = True
        elif follows_compaction and _FOREIGN_SUMMARY.match(message.text()):
            message = evolve(message, details={**(message.details or {}), "summary": True})
        yield message
