"""What SQLite's and the system's failures are called here: the one place where they become LedgerErrors."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from acp_adapter.errors import InvalidParams, LedgerError, LedgerUnavailable

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_INNER = {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_INTERNAL}
_NOT_WRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
_BUSY_TOO_LONG = "another process has held it locked for too long. Try again"
_CAUSES = {
    sqlite3.SQLITE_BUSY: _BUSY_TOO_LONG,
    sqlite3.SQLITE_LOCKED: _BUSY_TOO_LONG,
    sqlite3.SQLITE_FULL: "the disk is full. Free some space and try again",
    sqlite3.SQLITE_READONLY: "it may only be read. Check the rights of the file, its folder and the disk",
    sqlite3.SQLITE_CANTOPEN: "it can't be opened. Check that its folder exists and may be written",
    sqlite3.SQLITE_PERM: "it may not be opened. Check the rights of the file and its folder",
    sqlite3.SQLITE_IOERR: "the disk failed or is full. Check the disk and its free space",
}


class NotWritable(LedgerUnavailable):
    """The file is there but may not be written, or there is no place for it."""


class Moved(LedgerUnavailable):
    """The file is not where it was when it was opened."""


class Unexplained(LedgerUnavailable):
    """SQLite failed for no outer reason (time, space, rights): perhaps a full-text index is damaged."""


class Damaged(Unexplained):
    """The file can't be read as a database any more, or not all of it."""


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Raises the failures of SQLite and of the system as LedgerUnavailable: the cause, then what to do.

    A value that SQLite can't take raises InvalidParams; texts that are stored are made storable before.
    """
    try:
        yield
    except sqlite3.Error as fault:
        raise _translated(fault, path) from fault
    except (UnicodeEncodeError, OverflowError) as fault:
        raise InvalidParams(f"A value can't be stored or looked up: {fault}.") from fault
    except OSError as fault:
        kind = NotWritable if fault.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else LedgerUnavailable
        raise kind(f"The ledger {path} can't be used: {fault.strerror or fault}.") from fault


def is_busy(fault: sqlite3.Error) -> bool:
    return _code(fault) & 0xFF in _BUSY


def _translated(fault: sqlite3.Error, path: Path) -> LedgerError:
    code = _code(fault)
    if code == sqlite3.SQLITE_CORRUPT_VTAB:
        return Unexplained(f"The full-text index of the ledger {path} is damaged. Run `acp-adapter db verify --mend`.")
    if code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Damaged(
            f"The ledger {path} is damaged ({fault}). Start the program again: "
            "it then keeps the damaged file aside and saves what can be read."
        )
    kind = LedgerUnavailable
    if code & 0xFF in _INNER:
        kind = Unexplained
    elif code & 0xFF in _NOT_WRITABLE:
        kind = NotWritable
    cause = _CAUSES.get(code & 0xFF, f"SQLite says: {fault}")
    return kind(f"The ledger {path} can't be used: {cause}.")


def _code(fault: sqlite3.Error) -> int:
    return getattr(fault, "sqlite_errorcode", None) or sqlite3.SQLITE_ERROR
