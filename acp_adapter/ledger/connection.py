"""One connection to the ledger's file: how it is opened, how it waits, and what its failures are called.

A write is one short transaction that takes SQLite's only write lock at its start (BEGIN IMMEDIATE), so that it can
wait at no other point. Waiting is ours, in short random steps: SQLite's own waits are the same for every process,
and then they wait for each other in turn.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from acp_adapter.errors import LedgerError, LedgerUnavailable

T = TypeVar("T")

WAIT_SECONDS = 15.0
"""How long a transaction waits for the lock before it gives up."""

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_INNER = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_INTERNAL}


class Unexplained(LedgerUnavailable):
    """SQLite failed for no outer reason (time, space, rights): perhaps a full-text index is damaged."""


class Damaged(Unexplained):
    """The file can't be read as a database any more, or not all of it."""


class Connection:
    """A connection that turns every SQLite failure into a LedgerError. For one thread at a time.

    `refusal`, where set, is the LedgerError that every write raises: the file may only be read.
    """

    def __init__(self, path: Path, sql: sqlite3.Connection, refusal: LedgerError | None = None) -> None:
        self.path = path
        self.sql = sql
        self.sql.row_factory = sqlite3.Row
        self.refusal = refusal
        self.closed = False
        self._file = _identity(path)

    @classmethod
    def open(cls, path: Path) -> Connection:
        """Open for reading and writing; an absent file is made, empty and private. Raises LedgerUnavailable."""
        with _named(path):
            _make_private(path)
            sql = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            connection = cls(path, sql)
            connection._settle()
            return connection

    @classmethod
    def open_read_only(cls, path: Path, refusal: LedgerError | None = None) -> Connection:
        """Open without ever writing. Raises LedgerUnavailable where there is no file."""
        with _named(path):
            if not path.is_file():
                raise LedgerUnavailable(f"There is no ledger at {path}.")
            refusal = refusal or LedgerUnavailable(f"The ledger {path} was opened for reading only.")
            return cls(path, _connect_read_only(path), refusal)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one unchanging view of the file. Raises LedgerError."""
        with _named(self.path):
            self._begin("BEGIN")
            try:
                return work(self.sql)
            finally:
                _end(self.sql, "COMMIT")

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction: all of it is on the disk afterwards, or nothing. Raises LedgerError."""
        if self.refusal:
            raise self.refusal
        with _named(self.path):
            self._check_in_place()
            self._begin("BEGIN IMMEDIATE")
            try:
                result = work(self.sql)
                self.sql.execute("COMMIT")
                return result
            finally:
                _end(self.sql, "ROLLBACK")

    def copy_to(self, copy: Path) -> Path:
        """A whole, private copy of the file as it is at one moment. Raises LedgerUnavailable."""
        with _named(copy):
            _make_private(copy)
            target = sqlite3.connect(copy, isolation_level=None)
            try:
                self.sql.backup(target)
            finally:
                target.close()
        return copy

    def write_if_possible(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """For what is only tidying up: a failure is left alone."""
        with contextlib.suppress(LedgerError):
            self.write(work)

    def purge(self, indexes: Sequence[str]) -> None:
        """Make deleted text go from the file: merged out of the full-text indexes, then out of the log.

        In small transactions, so that other writers wait for none of it long.
        """
        for index in indexes:
            before = -1
            while self.sql.total_changes - before >= 2:
                before = self.sql.total_changes
                self.write_if_possible(functools.partial(_merge, index=index))
        with _named(self.path):
            retrying(lambda: self.sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone(), self.path)

    def close(self) -> None:
        self.closed = True
        self.sql.close()

    def _settle(self) -> None:
        """The settings of every connection. The switch to WAL needs the file alone for a moment: it waits."""
        retrying(lambda: self.sql.execute("PRAGMA journal_mode = WAL").fetchone(), self.path)
        self.sql.execute("PRAGMA synchronous = FULL")
        self.sql.execute("PRAGMA foreign_keys = ON")
        self.sql.execute("PRAGMA secure_delete = ON")
        self.sql.execute("PRAGMA journal_size_limit = 16777216")

    def _begin(self, statement: str) -> None:
        retrying(lambda: self.sql.execute(statement), self.path)

    def _check_in_place(self) -> None:
        """SQLite would write on, with success, into a file that was deleted under it."""
        if _identity(self.path) != self._file:
            raise LedgerUnavailable(
                f"The ledger {self.path} was removed or replaced while it was in use. "
                "Put it back, or start the program again to begin a new one."
            )


def retrying(attempt: Callable[[], T], path: Path, seconds: float | None = None) -> T:
    """What `attempt` returns, tried again while another process holds the file. Raises LedgerUnavailable."""
    limit = time.monotonic() + (WAIT_SECONDS if seconds is None else seconds)
    longest = 0.002
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as fault:
            if not is_busy(fault) or time.monotonic() > limit:
                raise
        time.sleep(random.uniform(0.0002, longest))
        longest = min(longest * 1.3, 0.02)


def is_busy(fault: sqlite3.Error) -> bool:
    return _code(fault) & 0xFF in _BUSY


def translated(fault: sqlite3.Error, path: Path) -> LedgerError:
    """The LedgerError for an SQLite failure: the cause, then what to do."""
    code = _code(fault)
    if code & 0xFF in _DAMAGED:
        return Damaged(f"The ledger {path} is damaged ({fault}). Run `acp-adapter db verify`.")
    causes = {
        sqlite3.SQLITE_BUSY: "another process has held it locked for too long. Try again",
        sqlite3.SQLITE_LOCKED: "another process has held it locked for too long. Try again",
        sqlite3.SQLITE_FULL: "the disk is full. Free some space and try again",
        sqlite3.SQLITE_READONLY: "it may only be read. Check the rights of the file, its folder and the disk",
        sqlite3.SQLITE_CANTOPEN: "it can't be opened. Check that its folder exists and may be written",
        sqlite3.SQLITE_PERM: "it may not be opened. Check the rights of the file and its folder",
        sqlite3.SQLITE_IOERR: f"the disk failed ({fault}). Check the disk and its free space",
    }
    kind = Unexplained if code & 0xFF in _INNER else LedgerUnavailable
    cause = causes.get(code & 0xFF, f"SQLite says: {fault}")
    return kind(f"The ledger {path} can't be used: {cause}.")


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """The one place where SQLite's and the system's exceptions become LedgerErrors."""
    try:
        yield
    except sqlite3.Error as fault:
        raise translated(fault, path) from fault
    except OSError as fault:
        raise LedgerUnavailable(f"The ledger {path} can't be used: {fault.strerror or fault}.") from fault


def _merge(sql: sqlite3.Connection, index: str) -> None:
    sql.execute(f"INSERT INTO {index}({index}, rank) VALUES ('merge', -200)")


def _code(fault: sqlite3.Error) -> int:
    return getattr(fault, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR


def _end(sql: sqlite3.Connection, statement: str) -> None:
    if sql.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            sql.execute(statement)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  (a third of the time, once for every write)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(path: Path) -> None:
    """Make the folder (0700) and the file (0600) where they are missing; the -wal and -shm follow the file's mode."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with contextlib.suppress(OSError):
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """`immutable` is for a read-only folder, where SQLite can't make the file that readers of a WAL share."""
    uri = path.absolute().as_uri()
    for options in ("mode=ro", "mode=ro&immutable=1"):
        sql = sqlite3.connect(f"{uri}?{options}", uri=True, timeout=1, isolation_level=None, check_same_thread=False)
        try:
            sql.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return sql
        except sqlite3.OperationalError as fault:
            sql.close()
            last = fault
    raise last
