"""A lossless file brought back into a ledger: all of it or nothing, with the ids that it had."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import define

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import attachments, fulltext, sessions
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.exchange import reading
from acp_adapter.ledger.exchange.lossless import Row, rows_of
from acp_adapter.ledger.exchange.reading import Session

_COMPARED = (
    *("sessions", "messages", "message_details", "message_attachments"),
    *("file_edits", "message_drafts", "session_model_usage"),
)
_NUMBERED_TITLE = re.compile(r" #\d+$")
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@define
class Imported:
    """What was brought in. `skipped` sessions were here already, the same; `renamed` ones had a title that another
    session has; `cut_off` ones came from a session that is neither in the file nor here."""

    sessions: int = 0
    messages: int = 0
    skipped: int = 0
    renamed: int = 0
    cut_off: int = 0


class _DryRun(Exception):
    """Undoes the transaction."""


def import_file(
    db: SessionDB,
    path: Path,
    *,
    dry_run: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> Imported:
    """Bring the sessions of a file in, in one transaction; other writers wait meanwhile.

    Ids stay. Row numbers of messages stay where they are free; else a session's messages are numbered anew, in order,
    and keep their message ids. Columns that this ledger has never heard of are added to it. With `dry_run` nothing
    is kept. Raises InvalidParams for a file that is not whole, and for a session that is here with other content.
    """
    whole = sum(1 for _ in reading.sessions(path))
    imported = Imported()

    def run(sql: sqlite3.Connection) -> None:
        writer, parents = _Writer(sql), {}
        for done, session in enumerate(reading.sessions(path), 1):
            _bring_in(writer, session, imported)
            if session.own.get("parent_session_id") is not None:
                parents[session.id] = session.own["parent_session_id"]
            if progress:
                progress(done, whole)
        imported.cut_off = _link(sql, parents)
        if not fulltext.is_whole(sql):
            # What is unfilled is known by row numbers only, and rows may have come in below the mark.
            fulltext.begin(sql)
        if dry_run:
            raise _DryRun

    with contextlib.suppress(_DryRun):
        db.connection.write(run)
    return imported


class _Writer:
    """Writes rows into tables whose columns it has looked up once."""

    def __init__(self, sql: sqlite3.Connection) -> None:
        self.sql = sql
        self._known: dict[str, set[str]] = {}

    def insert(self, table: str, row: Row) -> int:
        """The number of the new row. Raises InvalidParams for a row that the table can't take."""
        columns = self._columns(table, row)
        names, marks = ", ".join(f'"{column}"' for column in columns), ", ".join("?" * len(columns))
        try:
            values = [row[column] for column in columns]
            number = self.sql.execute(f"INSERT INTO {table}({names}) VALUES ({marks})", values).lastrowid
        except sqlite3.IntegrityError as fault:
            whose = row.get("session_id") or row.get("id")
            raise InvalidParams(f"A row of {table} of {whose} can't be: {fault}. Nothing was imported.") from fault
        assert number is not None
        return number

    def _columns(self, table: str, row: Row) -> list[str]:
        """The columns to write. One that the table lacks is added to it, unless there is nothing to put there."""
        if table not in self._known:
            self._known[table] = {found["name"] for found in self.sql.execute(f"PRAGMA table_info({table})")}
        known = self._known[table]
        for column in [column for column, value in row.items() if column not in known and value is not None]:
            if not _COLUMN.fullmatch(column):
                raise InvalidParams(f"{column[:80]!r} can't be the name of a column. Nothing was imported.")
            self.sql.execute(f'ALTER TABLE {table} ADD COLUMN "{column}"')
            known.add(column)
        return [column for column in row if column in known]


def _bring_in(writer: _Writer, session: Session, imported: Imported) -> None:
    if sessions.exists(writer.sql, session.id):
        difference = _difference(session, _stored(writer.sql, session.id))
        if difference:
            raise InvalidParams(
                f"The session {session.id} is here already, with another {difference}. Nothing was imported. "
                "Import into another ledger, or delete the session here first.",
                sessionId=session.id,
            )
        imported.skipped += 1
        return
    imported.renamed += _insert(writer, session)
    imported.sessions += 1
    imported.messages += len(session.messages)


def _stored(sql: sqlite3.Connection, session_id: str) -> Session:
    session = Session(session_id)
    for table, row in rows_of(sql, session_id):
        session.add(table, row)
    return session


def _difference(new: Session, stored: Session) -> str | None:
    """Where the two differ, in words; None if they say the same."""
    for table in _COMPARED:
        ours, theirs = _comparable(new, table), _comparable(stored, table)
        if len(ours) != len(theirs):
            return f"number of {table.replace('_', ' ')}"
        for row, there in zip(ours, theirs, strict=True):
            for column, value in row.items():
                if value != there.get(column) and not (column == "parent_session_id" and there[column] is None):
                    return f"{column} in {table}" + (f" (message {there['id']})" if table == "messages" else "")
    return None


def _comparable(session: Session, table: str) -> list[Row]:
    """The rows without what an import may change: row numbers, a title's number."""
    rows = session.rows[table]
    if table == "sessions":
        title = session.own.get("title")
        free = {"title": _NUMBERED_TITLE.sub("", title) if isinstance(title, str) else title}
        return [{**session.own, **free}]
    if table == "messages":
        return [{**row, "id": _message_id(row), "platform_message_id": _message_id(row)} for row in rows]
    if table in ("message_details", "message_attachments"):
        position = {message["id"]: at for at, message in enumerate(session.messages)}
        return [{**row, "message_id": position[row["message_id"]]} for row in rows]
    return [{**row, "id": None} for row in rows] if table == "file_edits" else rows


def _message_id(row: Row) -> str:
    """The id that clients know the message by."""
    return str(row.get("platform_message_id") or f"row-{row['id']}")


def _insert(writer: _Writer, session: Session) -> bool:
    """Write a session's rows, without the link to its parent. Whether it got another title."""
    title = session.own.get("title")
    taken = writer.sql.execute("SELECT 1 FROM sessions WHERE title = ?", (title,)).fetchone() is not None
    free = sessions.next_title(writer.sql, str(title)) if taken else title
    writer.insert("sessions", {**session.own, "title": free, "parent_session_id": None})
    numbers = _insert_messages(writer, session.messages)
    for row in session.rows["attachments"]:
        if not writer.sql.execute("SELECT 1 FROM attachments WHERE hash = ?", (row["hash"],)).fetchone():
            writer.insert("attachments", row)
    for number in numbers.values():
        attachments.forget(writer.sql, number, "content")
    for table in ("message_details", "message_attachments"):
        for row in session.rows[table]:
            writer.insert(table, {**row, "message_id": numbers[row["message_id"]]})
    for row in session.rows["file_edits"]:
        writer.insert("file_edits", {**row, "id": None})
    for table in ("message_drafts", "session_model_usage", "session_pins"):
        for row in session.rows[table]:
            writer.insert(table, row)
    return taken


def _insert_messages(writer: _Writer, messages: Sequence[Row]) -> dict[int, int]:
    """Write message rows; the number of each by the number that it had."""
    find = "SELECT 1 FROM messages WHERE id = ?"
    taken = any(writer.sql.execute(find, (row["id"],)).fetchone() for row in messages)
    numbers: dict[int, int] = {}
    for row in messages:
        new = {**row, "id": None, "platform_message_id": _message_id(row)} if taken else row
        numbers[row["id"]] = writer.insert("messages", new)
    return numbers


def _link(sql: sqlite3.Connection, parents: Mapping[str, str]) -> int:
    """Tie sessions to their parents, also one that was here before and whose parent came only now.

    How many have a parent that is not here.
    """
    here = {child: parent for child, parent in parents.items() if sessions.exists(sql, parent)}
    for child, parent in here.items():
        sql.execute(
            "UPDATE sessions SET parent_session_id = ? WHERE id = ? AND parent_session_id IS NULL", (parent, child)
        )
    return len(parents) - len(here)
