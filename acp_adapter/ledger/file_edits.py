"""File edits: what each file was before and after a session changed it, so that it can be taken back and traced.

One row for each change of one file, written before the file is. Contents stand once in `attachments`, by their hash,
however many rows, sessions and branches know them; a row whose content is not there any more says only that there was
something. Rows go with their session. A branch has copies of those that led to it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen

from acp_adapter.ledger import attachments, tree

StateKind = Literal["absent", "file", "link", "other"]
"""What stands at a path. The content of a link is the text of its target; `other` is a folder, a device, a pipe."""

EditKind = Literal["edit", "command", "undo", "redo"]

LARGEST = 10 * 1024 * 1024
"""Bytes of the largest content that is kept."""
KEPT = 256 * 1024 * 1024
"""Bytes of contents that one session keeps; beyond, its oldest edits are forgotten."""
_LOOK_EVERY = 32
"""Rows between two looks at how much a session keeps."""


@frozen
class FileState:
    """What stands at a path. `data` is None where there is none, it is too large, or it was not asked for; `mode` are
    permission bits, None where they are not known."""

    kind: StateKind
    mode: int | None = None
    hash: str | None = None
    data: bytes | None = field(default=None, repr=False, eq=False)

    @classmethod
    def of(cls, data: bytes, mode: int | None = None, kind: StateKind = "file") -> FileState:
        kept = data if len(data) <= LARGEST else None
        return cls(kind, mode, hashlib.sha256(data).hexdigest(), kept)


ABSENT = FileState("absent")


@frozen
class FileEdit:
    """One change of one file. `turn` is the id of the prompt that led to it, `call_id` the tool call, empty for what
    the user took back."""

    id: int
    session_id: str
    turn: str
    call_id: str
    kind: EditKind
    path: Path
    before: FileState
    after: FileState
    recorded_at: float


def record(
    sql: sqlite3.Connection,
    session_id: str,
    path: Path,
    states: tuple[FileState, FileState],
    kind: EditKind,
    call_id: str,
    turn: str | None,
) -> int:
    """Write a change down; its number. Without `turn` it is that of the conversation's last prompt."""
    tip = tree.tip(sql, session_id)
    row = sql.execute(
        """INSERT INTO file_edits(session_id, turn, call_id, kind, path, recorded_at, before_kind, before_mode,
               before_hash, after_kind, after_mode, after_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            tip,
            _last_prompt(sql, session_id) if turn is None else turn,
            call_id,
            kind,
            _column(path),
            time.time(),
            *(value for state in states for value in (state.kind, state.mode, state.hash)),
        ),
    ).lastrowid
    assert row is not None
    for state in states:
        if state.hash and state.data is not None:
            sql.execute("INSERT OR IGNORE INTO attachments(hash, bytes) VALUES (?, ?)", (state.hash, state.data))
    if row % _LOOK_EVERY == 0 or any(len(state.data or b"") > LARGEST // 10 for state in states):
        _bound(sql, tip)
    return row


def forget(sql: sqlite3.Connection, row: int) -> None:
    """Drop the row of a change that was not made after all. Its contents go when the next session is deleted."""
    sql.execute("DELETE FROM file_edits WHERE id = ?", (row,))


def of_conversation(sql: sqlite3.Connection, session_id: str) -> list[FileEdit]:
    """The changes that the conversation made, in order, without their contents."""
    nodes = tree.chain(sql, session_id)
    return _select(sql, f"session_id IN ({', '.join('?' * len(nodes))}) ORDER BY id", nodes)


def of_path(sql: sqlite3.Connection, path: Path) -> list[FileEdit]:
    """The changes of a file in every session, in order; what branches copied is there once, where it was made."""
    first: dict[tuple[object, ...], FileEdit] = {}
    for edit in _select(sql, "path = ? ORDER BY id", [_column(path)]):
        first.setdefault((edit.turn, edit.call_id, edit.kind, edit.recorded_at), edit)
    return sorted(first.values(), key=lambda edit: (edit.recorded_at, edit.id))


def of_call(sql: sqlite3.Connection, session_id: str, call_id: str) -> list[FileEdit]:
    """The changes that one tool call made."""
    return _select(sql, "session_id = ? AND call_id = ? ORDER BY id", [session_id, call_id])


def content(sql: sqlite3.Connection, digest: str) -> bytes | None:
    """The content of that hash; None where it was too large to keep, or is not kept any more."""
    found = sql.execute("SELECT bytes FROM attachments WHERE hash = ?", (digest,)).fetchone()
    return None if found is None else bytes(found[0])


def copy(sql: sqlite3.Connection, session_id: str, new_id: str, upto: str | None) -> None:
    """Give a branch the changes of the conversation that it leaves, up to the message where it leaves it."""
    later, moment = _after(sql, tree.chain(sql, session_id), upto)
    for edit in of_conversation(sql, session_id):
        undone_later = not edit.call_id and edit.recorded_at > moment
        if edit.turn not in later and edit.call_id not in later and not undone_later:
            columns = ", ".join(_COPIED)
            sql.execute(
                f"INSERT INTO file_edits(session_id, {columns}) SELECT ?, {columns} FROM file_edits WHERE id = ?",
                (new_id, edit.id),
            )


def kept(sql: sqlite3.Connection, session_id: str | None = None) -> int:
    """Bytes of the contents that the edits of that very node hold, or all."""
    where, values = ("", ()) if session_id is None else ("WHERE session_id = ?", (session_id, session_id))
    held = f"SELECT before_hash FROM file_edits {where} UNION SELECT after_hash FROM file_edits {where}"
    found = sql.execute(f"SELECT coalesce(sum(length(bytes)), 0) FROM attachments WHERE hash IN ({held})", values)
    return int(found.fetchone()[0])


def mend(sql: sqlite3.Connection) -> None:
    """Drop what belongs to no session, as a program leaves it that deletes without a look at foreign keys."""
    sql.execute("DELETE FROM file_edits WHERE session_id NOT IN (SELECT id FROM sessions)")


_COPIED = (
    *("turn", "call_id", "kind", "path", "recorded_at"),
    *("before_kind", "before_mode", "before_hash", "after_kind", "after_mode", "after_hash"),
)


def _after(sql: sqlite3.Connection, nodes: Sequence[str], upto: str | None) -> tuple[set[str], float]:
    """The ids of messages and calls beyond that message, rewound ones too, and its time. Nothing is beyond none."""
    seen, later, moment = set[str](), set[str](), float("inf")
    for node in nodes if upto else ():
        rows = sql.execute(
            """SELECT coalesce(platform_message_id, 'row-' || id), tool_call_id, timestamp FROM messages
               WHERE session_id = ? ORDER BY id""",
            (node,),
        )
        for message_id, call_id, timestamp in rows:
            (later if moment < float("inf") else seen).update({message_id, call_id} - {None})
            if message_id == upto and moment == float("inf"):
                moment = timestamp
    return later - seen, moment


def _last_prompt(sql: sqlite3.Connection, session_id: str) -> str:
    """The newest prompt of the conversation; one that compaction put into a summary, where no other is left."""
    for node in reversed(tree.chain(sql, session_id)):
        found = sql.execute(
            """SELECT coalesce(m.platform_message_id, 'row-' || m.id)
               FROM messages m LEFT JOIN message_details d ON d.message_id = m.id
               WHERE m.session_id = ? AND m.role = 'user' AND (m.active != 0 OR m.compacted != 0)
                   AND coalesce(json_extract(d.details, '$.summary'), 0) = 0
               ORDER BY m.id DESC LIMIT 1""",
            (node,),
        ).fetchone()
        if found:
            return str(found[0])
    return ""


def _bound(sql: sqlite3.Connection, node: str) -> None:
    """Forget the oldest edits of a session that keeps too much."""
    while kept(sql, node) > KEPT:
        oldest = "SELECT id FROM file_edits WHERE session_id = ? ORDER BY id LIMIT 16"
        newest = "SELECT max(id) FROM file_edits WHERE session_id = ?"
        gone = sql.execute(f"DELETE FROM file_edits WHERE id IN ({oldest}) AND id != ({newest})", (node, node))
        if not gone.rowcount:
            return
        attachments.purge(sql)


def _select(sql: sqlite3.Connection, where: str, values: Sequence[Any]) -> list[FileEdit]:
    return [_of_row(row) for row in sql.execute(f"SELECT * FROM file_edits WHERE {where}", values).fetchall()]


def _of_row(row: sqlite3.Row) -> FileEdit:
    before, after = (
        FileState(row[f"{side}_kind"], row[f"{side}_mode"], row[f"{side}_hash"]) for side in ("before", "after")
    )
    path = Path(os.fsdecode(row["path"]))
    own = (row["id"], row["session_id"], row["turn"], row["call_id"], row["kind"])
    return FileEdit(*own, path, before, after, row["recorded_at"])


def _column(path: Path) -> str | bytes:
    """A name that is no text in any encoding stands as its bytes."""
    name = str(path)
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name)
    return name
