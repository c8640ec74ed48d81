"""What becomes of a damaged ledger: it is kept aside as it is, and a new one gets what can still be read of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from acp_adapter.errors import LedgerUnavailable
from acp_adapter.ledger import attachments, migrations, processes, schema
from acp_adapter.ledger.connection import Connection
from acp_adapter.ledger.faults import Damaged, named

_TABLES = (
    "sessions",
    "messages",
    "message_details",
    "attachments",
    "message_attachments",
    "file_edits",
    "message_drafts",
    "session_model_usage",
    "gateway_routing",
    "async_delegations",
    "session_activity",
    "daily_usage",
)
_HARMLESS = ("ok", "NULL value", "CHECK constraint", "TEXT value", "NUMERIC value", "non-unique", "row ")
_LOCK_SECONDS = 120.0


def suspect(path: Path) -> None:
    """Remember that reading or writing met damage: the next opening looks closer."""
    with contextlib.suppress(OSError):
        _mark(path).touch(mode=0o600)


def is_suspect(path: Path) -> bool:
    return _mark(path).exists()


def rescue(path: Path) -> str | None:
    """Put a new ledger in the place of a damaged one; None where nothing is wrong with it after all.

    The damaged file is only copied and renamed, never written. Returns what to tell the user. Raises
    LedgerUnavailable.
    """
    with named(path), _alone(path):
        damaged = path.exists() and is_damaged(path)
        _mark(path).unlink(missing_ok=True)
        if not damaged:
            return None
        folder = Path(tempfile.mkdtemp(prefix=f"{path.name}.salvage-", dir=path.parent))
        try:
            fresh, told = _salvaged(path, folder)
            aside = _swap(path, fresh)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return f"The ledger was damaged. It is kept as {aside}, and a new one was made with what could be read: {told}."


def is_damaged(path: Path) -> bool:
    """Look through the whole file."""
    try:
        with named(path), contextlib.closing(sqlite3.connect(path, timeout=15)) as sql:
            found = [str(row[0]) for row in sql.execute("PRAGMA quick_check(100)")]
    except Damaged:
        return True
    return not all(line.startswith(_HARMLESS) for line in found)


def _salvaged(path: Path, folder: Path) -> tuple[Path, str]:
    """A new ledger in `folder` with everything readable, and a count of it."""
    source = _copied(path, folder / "damaged.db")
    fresh = Connection.open(folder / "fresh.db")
    try:
        migrations.migrate(fresh)
        with contextlib.closing(sqlite3.connect(source)) as damaged:
            damaged.execute("PRAGMA writable_schema = ON")  # SQLite then reads a file that is shorter than it says
            damaged.text_factory = lambda raw: raw.decode("utf-8", "replace")
            fresh.write(lambda sql: _copy_rows(damaged, sql))
        counts = fresh.read(lambda sql: [_count(sql, table) for table in ("sessions", "messages")])
        fresh.empty_log()
    finally:
        fresh.close()
    return folder / "fresh.db", f"{counts[0]} sessions with {counts[1]} messages"


def _copied(path: Path, copy: Path) -> Path:
    """A copy to read from, with its log; one whose first bytes are wrong gets those of a sound file."""
    shutil.copyfile(path, copy)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    with copy.open("r+b") as file:
        if file.read(16) != b"SQLite format 3\x00":
            file.seek(0)
            file.write(_header(copy.stat().st_size))
    return copy


def _header(size: int, page_size: int = 4096) -> bytes:
    """The first 100 bytes of a database in WAL mode with pages of the usual size, as the file format has them."""
    pages = size // page_size
    fields = (pages, 0, 0, 1, 4, 0, 0, 1)
    numbers = b"".join(field.to_bytes(4) for field in (1, *fields))
    start = b"SQLite format 3\x00" + page_size.to_bytes(2) + bytes((2, 2, 0, 64, 32, 32)) + numbers
    return start.ljust(92, b"\x00") + (1).to_bytes(4) + (3_040_000).to_bytes(4)


def _copy_rows(damaged: sqlite3.Connection, sql: sqlite3.Connection) -> None:
    sql.execute("PRAGMA defer_foreign_keys = ON")
    for table in _TABLES:
        _copy_table(damaged, sql, table)
    sql.execute(
        """INSERT OR IGNORE INTO sessions(id, source, started_at, title)
           SELECT session_id, 'salvaged', min(timestamp), NULL FROM messages
           WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id"""
    )
    sql.execute("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id NOT IN (SELECT id FROM sessions)")
    for table in ("message_drafts", "session_model_usage", "session_activity", "file_edits"):
        sql.execute(f"DELETE FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)")
    sql.execute("DELETE FROM message_details WHERE message_id NOT IN (SELECT id FROM messages)")
    for digest in attachments.damaged(sql):
        sql.execute("DELETE FROM attachments WHERE hash = ?", (digest,))
    attachments.mend(sql)
    sql.execute(schema.FILL_ACTIVITY)
    sql.execute(
        "UPDATE sessions SET message_count = (SELECT count(*) FROM messages m WHERE m.session_id = sessions.id)"
    )


def _copy_table(damaged: sqlite3.Connection, sql: sqlite3.Connection, table: str) -> None:
    try:
        there = {row[1] for row in damaged.execute(f"PRAGMA table_info({table})")}
    except sqlite3.Error:
        return
    columns = [row[1] for row in sql.execute(f"PRAGMA table_info({table})") if row[1] in there]
    if not columns:
        return
    insert = f"INSERT OR REPLACE INTO {table}({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    for row in _readable(damaged, table, columns):
        with contextlib.suppress(sqlite3.IntegrityError):
            sql.execute(insert, row[1:])


def _readable(damaged: sqlite3.Connection, table: str, columns: list[str]) -> Iterator[tuple[object, ...]]:
    """The rows that can be read: forward up to a hole, then over it in growing steps, and back to its far edge."""
    chosen = f"SELECT rowid, {', '.join(columns)} FROM {table}"
    bottom, gap = -1, 0
    while bottom + gap < 2**62:
        top = bottom + gap
        newest, whole = None, True
        try:
            for row in damaged.execute(f"{chosen} WHERE rowid > ? ORDER BY rowid", (top,)):
                newest = row[0]
                yield row
        except sqlite3.Error:
            whole = False
        if newest is not None:
            yield from _back(damaged, chosen, bottom, top)
            bottom, gap = newest, 0
        if whole:
            return
        gap = max(1, gap * 2)


def _back(damaged: sqlite3.Connection, chosen: str, bottom: int, top: int) -> Iterator[tuple[object, ...]]:
    with contextlib.suppress(sqlite3.Error):
        yield from damaged.execute(f"{chosen} WHERE rowid > ? AND rowid <= ? ORDER BY rowid DESC", (bottom, top))


def _swap(path: Path, fresh: Path) -> Path:
    """Rename the damaged file and its log away and the new file in; the log first, or it would be read as the new's."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for ending in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{ending}").rename(f"{aside}{ending}")
    path.rename(aside)
    fresh.rename(path)
    return aside


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One rescuer at a time; the lock of one that died is taken over."""
    lock = path.with_name(f"{path.name}.salvage-lock")
    limit = time.monotonic() + _LOCK_SECONDS
    while not _locked(lock):
        if time.monotonic() > limit:
            raise LedgerUnavailable(f"Another process is repairing the ledger {path}. Try again later.")
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _locked(lock: Path) -> bool:
    try:
        file = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        with contextlib.suppress(OSError, ValueError):
            if processes.started(int(lock.read_text() or os.getpid())) is None:
                lock.unlink(missing_ok=True)
        return False
    os.write(file, str(os.getpid()).encode())
    os.close(file)
    return True


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.suspect")


def _count(sql: sqlite3.Connection, table: str) -> int:
    return int(sql.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
