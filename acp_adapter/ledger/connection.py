"""One connection to the ledger's file: how it is opened, how it waits, and how it knows that the file is still there.

A write is one short transaction that takes SQLite's only write lock at its start (BEGIN IMMEDIATE), so that it can
wait at no other point. Waiting is ours, in short random steps: SQLite's own waits are the same for every process,
and then they wait for each other in turn.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from acp_adapter.errors import LedgerError
from acp_adapter.ledger.faults import Moved, NotWritable, is_busy, named

T = TypeVar("T")

WAIT_SECONDS = 15.0
"""How long a transaction waits for the lock before it gives up."""

EMPTY_SECONDS = 3.0
"""How long emptying the log waits for readers that are still in the middle of it."""

CROWDED_SECONDS = 1.0
"""How long after a wait other writers are taken to be there still."""
PAUSE_SECONDS = 0.004
"""How long a writer holds back between two writes while there are others: as long as those sleep between tries."""


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
        self._unlocked = self._crowded_until = 0.0

    @classmethod
    def open(cls, path: Path) -> Connection:
        """Open for reading and writing; an absent file is made, empty and private.

        Raises LedgerUnavailable: Damaged for what is no database, NotWritable for what may only be read.
        """
        with named(path):
            _make_private(path)
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, "it may only be read")
            sql = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            try:
                _settle(sql)
            except BaseException:
                sql.close()
                raise
            return cls(path, sql)

    @classmethod
    def open_read_only(cls, path: Path, refusal: LedgerError | None = None) -> Connection:
        """Open without ever writing. Raises LedgerUnavailable where there is no file."""
        with named(path):
            if not path.is_file():
                raise NotWritable(f"There is no ledger at {path}.")
            refusal = refusal or NotWritable(f"The ledger {path} was opened for reading only.")
            return cls(path, _connect_read_only(path), refusal)

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on one unchanging view of the file. Raises LedgerError."""
        with named(self.path):
            self._check_in_place()
            retrying(lambda: self.sql.execute("BEGIN"))
            try:
                return work(self.sql)
            finally:
                _end(self.sql, "COMMIT")

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in one transaction: all of it is on the disk afterwards, or nothing. Raises LedgerError."""
        if self.refusal:
            raise self.refusal
        with named(self.path):
            self._check_in_place()
            self._lock()
            try:
                result = work(self.sql)
                self.sql.execute("COMMIT")
                return result
            finally:
                _end(self.sql, "ROLLBACK")
                self._unlocked = time.monotonic()

    def write_if_possible(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """For what is only tidying up: a failure is left alone."""
        with contextlib.suppress(LedgerError):
            self.write(work)

    def copy_to(self, copy: Path) -> Path:
        """A whole, private copy of the file as it is at one moment. Raises LedgerUnavailable."""
        with named(copy):
            _make_private(copy)
            try:
                with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as target:
                    self.sql.backup(target)
            except BaseException:
                copy.unlink(missing_ok=True)
                raise
        return copy

    def purge(self, indexes: Sequence[str]) -> None:
        """Make deleted text go from the file: merged out of the full-text indexes, then out of the log.

        In small transactions, so that other writers wait for none of it long.
        """
        for index in indexes:
            before = -2
            while self.sql.total_changes - before >= 2:
                before = self.sql.total_changes
                self.write_if_possible(functools.partial(_merge, index=index))
        self.empty_log()

    def empty_log(self) -> bool:
        """Move the whole write-ahead log into the file. False where readers kept it from being emptied for long."""
        limit = time.monotonic() + EMPTY_SECONDS
        with named(self.path):
            while self.sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0:
                if time.monotonic() > limit:
                    return False
                time.sleep(0.005)
        return True

    def run_alone(self, statement: str) -> None:
        """Run what can't be part of a transaction (VACUUM). Raises LedgerError."""
        if self.refusal:
            raise self.refusal
        with named(self.path):
            self._check_in_place()
            retrying(lambda: self.sql.execute(statement))

    def close(self) -> None:
        self.closed = True
        self.sql.close()

    def _lock(self) -> None:
        """Take the write lock. Who has had to wait for it lately lets others go first when it writes again at once."""
        asked = time.monotonic()
        if asked < self._crowded_until and asked - self._unlocked < PAUSE_SECONDS:
            time.sleep(random.uniform(PAUSE_SECONDS / 2, PAUSE_SECONDS))
            asked = time.monotonic()
        retrying(lambda: self.sql.execute("BEGIN IMMEDIATE"))
        if time.monotonic() - asked > PAUSE_SECONDS / 4:
            self._crowded_until = time.monotonic() + CROWDED_SECONDS

    def _check_in_place(self) -> None:
        """SQLite would go on, with success, in a file that was deleted under it and that nobody else sees."""
        if _identity(self.path) != self._file:
            raise Moved(
                f"The ledger {self.path} was removed or replaced while it was in use. "
                "Put it back, or start the program again to begin a new one."
            )


def retrying(attempt: Callable[[], T]) -> T:
    """What `attempt` returns, tried again while another process holds the file, for WAIT_SECONDS at most."""
    limit = time.monotonic() + WAIT_SECONDS
    longest = 0.001
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as fault:
            if not is_busy(fault) or time.monotonic() > limit:
                raise
        time.sleep(random.uniform(0.0002, longest))
        longest = min(longest * 1.2, PAUSE_SECONDS)


def _settle(sql: sqlite3.Connection) -> None:
    """The settings of every connection. The switch to WAL needs the file alone for a moment: it waits.

    `secure_delete` overwrites what is deleted, so that text is gone when its session is.
    """
    retrying(lambda: sql.execute("PRAGMA journal_mode = WAL").fetchone())
    sql.execute("PRAGMA synchronous = FULL")
    sql.execute("PRAGMA foreign_keys = ON")
    sql.execute("PRAGMA secure_delete = ON")
    sql.execute("PRAGMA journal_size_limit = 16777216")


def _merge(sql: sqlite3.Connection, index: str) -> None:
    sql.execute(f"INSERT INTO {index}({index}, rank) VALUES ('merge', -200)")


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
