"""Access: one transaction a method, what becomes of damage, and which thread a method may run in."""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from acp_adapter.ledger import fulltext, leases, opening, salvage
from acp_adapter.ledger.connection import Connection
from acp_adapter.ledger.faults import Damaged, Unexplained

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def reads(method: F) -> F:
    """Marks a method that a `Ledger` may run while another one waits to write."""
    method.lane = "reads"  # type: ignore[attr-defined]
    return method


def takes_long(method: F) -> F:
    """Marks a method for which neither reads nor writes should wait: seconds, in a large ledger."""
    method.lane = "long"  # type: ignore[attr-defined]
    return method


class Access:
    """An open ledger. `notices` are sentences for the user about what happened at opening.

    `program` names us to other processes; connections with the same `token` are one holder of leases.
    """

    def __init__(
        self, connection: Connection, program: str, token: str | None = None, notices: Sequence[str] = ()
    ) -> None:
        self.connection = connection
        self.program = program
        self.token = token or uuid.uuid4().hex
        self.notices = list(notices)

    @classmethod
    def open(
        cls, path: Path, *, program: str = "acp-adapter", read_only: bool = False, token: str | None = None
    ) -> Self:
        """Open the ledger, made new where there is none, brought up to date where it is older.

        A ledger of a newer schema, or one that may not be written, opens for reading only; a damaged one is kept
        aside and a new one made from what can be read; `notices` say so. `program` names us to other processes;
        `token` is given where several connections shall count as one holder of leases. Raises LedgerUnavailable.
        """
        connection, notices = opening.opened_read_only(path) if read_only else opening.opened(path)
        return cls(connection, program, token, notices)

    def close(self) -> None:
        """Give back our leases and close the file. May be called twice."""
        if not self.connection.closed:
            if self.connection.refusal is None:
                self.connection.write_if_possible(lambda sql: leases.release_all(sql, self.token))
            self.connection.close()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Damage that is met in here is looked into, and repaired, when the ledger is opened next."""
        try:
            yield
        except Damaged:
            salvage.suspect(self.connection.path)
            raise

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self.watched():
            return self.connection.read(work)

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A damaged full-text index never stops a write.

        It shows in many ways, so what fails for no outer reason is tried once more with new, empty indexes, in one
        transaction: if that fails too, nothing has changed and the first failure was not theirs.
        """
        try:
            return self.connection.write(work)
        except Unexplained as fault:
            first = fault

        def with_new_indexes(sql: sqlite3.Connection) -> T:
            fulltext.begin(sql)
            return work(sql)

        with self.watched():
            with contextlib.suppress(Unexplained):
                return self.connection.write(with_new_indexes)
            raise first
