"""Leases in SessionDB: who runs a session, and what becomes of one whose process was killed."""

from __future__ import annotations

import sqlite3

from acp_adapter.ledger import history, leases
from acp_adapter.ledger.db.access import Access, reads
from acp_adapter.ledger.leases import Lease
from acp_adapter.transcript import Message


class Leases(Access):
    """Who runs a session, and how it is closed when its process was killed."""

    def acquire(self, session_id: str) -> Lease:
        """Say that we run the session now. Raises TurnInProgress, naming the holder, while another process does."""
        return self._write(lambda sql: leases.acquire(sql, session_id, self.token, self.program))

    def renew(self, session_id: str) -> Lease:
        """A sign of life, due every quarter of `leases.EXPIRES_AFTER`. Raises TurnInProgress if the lease was lost."""
        return self.acquire(session_id)

    def release(self, session_id: str) -> None:
        self._write(lambda sql: leases.release(sql, session_id, self.token))

    @reads
    def holder(self, session_id: str) -> Lease | None:
        """Who runs the session, ours or another's; None where nobody does (a dead holder is nobody)."""
        return self._read(lambda sql: leases.holder(sql, session_id))

    def recover(self, session_id: str) -> list[Message]:
        """Give a conversation the end that a killed process could not, once, and return what was added.

        Open tool calls of the last step get their closing result; what was streamed becomes an assistant
        message with finish reason `interrupted`. Writes nothing where there is nothing to do, and nothing while
        another process runs the session.
        """

        def needed(sql: sqlite3.Connection) -> bool:
            held = leases.held_by_another(sql, session_id, self.token)
            return held is None and history.needs_recovery(sql, session_id)

        def close_up(sql: sqlite3.Connection) -> list[Message]:
            return history.recover(sql, session_id) if needed(sql) else []

        if self.connection.refusal is not None or not self._read(needed):
            return []
        return self._write(close_up)
