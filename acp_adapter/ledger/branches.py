"""What grows and cuts the session tree: branch, compression continuation, undo, archive, delete."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from attrs import evolve

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import attachments, drafts, file_edits, history, messages, sessions, tree
from acp_adapter.ledger.sessions import NewSession, SessionRow
from acp_adapter.transcript import Message


class BranchChanges(TypedDict, total=False):
    """What a branch has otherwise than the session it leaves; keys of `model_config` are merged in."""

    cwd: str
    model: str
    model_config: Mapping[str, Any]
    source: str


def branch(sql: sqlite3.Connection, session_id: str, new_id: str, upto: str | None, other: BranchChanges) -> SessionRow:
    """See `SessionDB.branch`. Without `upto` the branch begins as the newest node stands: summary and tail."""
    parent = sessions.get(sql, tree.tip(sql, session_id))
    copied = _up_to(sql, parent.id, upto)
    own = {key: value for key, value in parent.model_config.items() if not key.startswith("_")}
    config = {**own, **other.get("model_config", {}), tree.BRANCHED_FROM: parent.id}
    if copied:
        config[tree.FORK_POINT] = copied[-1].id
    titles = [node.title for node in (sessions.get(sql, id) for id in tree.chain(sql, parent.id)) if node.title]
    begun: NewSession = {
        "source": other.get("source", parent.source),
        "model": other.get("model", parent.model),
        "model_config": config,
        "cwd": other.get("cwd", parent.cwd),
        "system_prompt": parent.system_prompt,
        "parent": parent.id,
        "title": sessions.next_title(sql, titles[-1]) if titles else None,
    }
    sessions.create(sql, new_id, begun)
    _copy(sql, new_id, copied)
    file_edits.copy(sql, parent.id, new_id, upto)
    return sessions.get(sql, new_id)


def continue_compressed(
    sql: sqlite3.Connection, session_id: str, new_id: str, summary: Message, tail: Sequence[Message]
) -> SessionRow:
    """See `SessionDB.continue_compressed`."""
    parent = sessions.get(sql, tree.tip(sql, session_id))
    tree.make_explicit(sql, parent.id)
    carried = [evolve(summary, details={**(summary.details or {}), "summary": True}), *tail]
    own = {key: value for key, value in parent.model_config.items() if not key.startswith("_")}
    title = sessions.next_title(sql, parent.title) if parent.title else None
    compressed = {tree.COMPRESSED_FROM: parent.id, tree.CARRIED: len(carried), tree.NUMBERED: title}
    begun: NewSession = {
        "source": parent.source,
        "model": parent.model,
        "model_config": {**own, **compressed},
        "cwd": parent.cwd,
        "system_prompt": parent.system_prompt,
        "parent": parent.id,
        "title": title,
    }
    sessions.create(sql, new_id, begun)
    sql.execute("UPDATE sessions SET end_reason = 'compression', ended_at = ? WHERE id = ?", (time.time(), parent.id))
    _copy(sql, new_id, carried)
    drafts.move(sql, parent.id, new_id)
    return sessions.get(sql, new_id)


def undo(sql: sqlite3.Connection, session_id: str, upto: str) -> list[Message]:
    """See `SessionDB.undo`."""
    *older, tip = tree.chain(sql, session_id)
    active = history.of_node(sql, tip)
    undone = active[_position(active, upto) :]
    if any((message.details or {}).get("summary") for message in undone):
        raise InvalidParams("What was compacted can't be undone. Branch from an older message instead.")
    sql.execute("UPDATE messages SET active = 0 WHERE session_id = ? AND active != 0 AND id >= ?", (tip, undone[0].row))
    for node in older:
        _undo_originals(sql, node, undone)
    sql.execute("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", (tip,))
    drafts.drop_answers(sql, tip)
    return [evolve(message, active=False) for message in undone]


def _undo_originals(sql: sqlite3.Connection, node: str, undone: Sequence[Message]) -> None:
    """What compaction carried over is undone where it came from too, or it would be shown and found again."""
    for message in undone:
        sql.execute(
            """UPDATE messages SET active = 0
               WHERE session_id = ? AND coalesce(platform_message_id, 'row-' || id) = ? AND active != 0""",
            (node, message.id),
        )


def archive(sql: sqlite3.Connection, session_id: str, archived: bool) -> None:
    for node in tree.chain(sql, session_id):
        sql.execute("UPDATE sessions SET archived = ? WHERE id = ?", (int(archived), node))


def delete(sql: sqlite3.Connection, session_id: str) -> bool:
    """See `SessionDB.delete_session`. Sub-agents' sessions go with their parent; branches lose only the parent's id."""
    if sql.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is None:
        return False
    doomed = tree.chain(sql, session_id)
    for node in doomed:
        doomed += [child for child in tree.children(sql, node, "delegate") if child not in doomed]
    for node in doomed:
        sql.execute("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", (node,))
        sql.execute("DELETE FROM messages WHERE session_id = ?", (node,))
        sql.execute("DELETE FROM compression_locks WHERE session_id = ?", (node,))
        sql.execute("DELETE FROM sessions WHERE id = ?", (node,))
    attachments.purge(sql)
    return True


def _up_to(sql: sqlite3.Connection, tip: str, upto: str | None) -> list[Message]:
    """The messages that a branch copies: those of the newest node, or, for an older message, of the node it is in."""
    active = history.of_node(sql, tip)
    if upto is None or any(message.id == upto for message in active):
        return active if upto is None else active[: _position(active, upto) + 1]
    for node in reversed(tree.chain(sql, tip)[:-1]):
        older = history.of_node(sql, node)
        if any(message.id == upto for message in older):
            return older[: _position(older, upto) + 1]
    raise InvalidParams(f"The session has no message {upto!r}.", messageId=upto)


def _position(active: Sequence[Message], message_id: str) -> int:
    for at, message in enumerate(active):
        if message.id == message_id:
            return at
    raise InvalidParams(f"The session has no message {message_id!r} that could be taken.", messageId=message_id)


def _copy(sql: sqlite3.Connection, session_id: str, copied: Sequence[Message]) -> None:
    for message in copied:
        messages.insert(sql, session_id, evolve(message, active=True, compacted=False))
    calls = sum(len(message.tool_calls or ()) for message in copied)
    sql.execute(
        "UPDATE sessions SET message_count = ?, tool_call_count = ? WHERE id = ?", (len(copied), calls, session_id)
    )
