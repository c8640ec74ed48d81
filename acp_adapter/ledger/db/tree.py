"""The session tree in SessionDB: what grows it, cuts it, and takes back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Unpack

from acp_adapter.ledger import branches, fulltext, leases
from acp_adapter.ledger.branches import BranchChanges
from acp_adapter.ledger.db.access import Access, takes_long
from acp_adapter.ledger.sessions import SessionRow
from acp_adapter.transcript import Message


class Tree(Access):
    """Branches, continuations, undo, archive and deletion."""

    def branch(
        self, session_id: str, new_id: str, *, upto_message_id: str | None = None, **other: Unpack[BranchChanges]
    ) -> SessionRow:
        """A new session that begins as a copy of the conversation up to that message, or of all of it.

        Message ids, details, model, mode and system prompt are kept; both sessions live on. Raises InvalidParams
        for a message that is not in the conversation.
        """
        return self._write(lambda sql: branches.branch(sql, session_id, new_id, upto_message_id, other))

    def continue_compressed(
        self, session_id: str, new_id: str, summary: Message, tail: Sequence[Message]
    ) -> SessionRow:
        """Go on in a new node with the summary and copies of the tail; the old node ends, and keeps everything."""
        return self._write(lambda sql: branches.continue_compressed(sql, session_id, new_id, summary, tail))

    def undo(self, session_id: str, upto: str) -> list[Message]:
        """Rewind: the message `upto` and all after it are marked, not deleted. Returns them.

        Raises InvalidParams for a message that is not active in the newest node, and for its summary of older ones.
        """
        return self._write(lambda sql: branches.undo(sql, session_id, upto))

    def archive(self, session_id: str, archived: bool = True) -> None:
        """Hide the conversation from the list, or show it again."""
        self._write(lambda sql: branches.archive(sql, session_id, archived))

    @takes_long
    def delete_session(self, session_id: str) -> bool:
        """Delete the conversation with all its nodes, messages, drafts and index entries; its branches stay whole.

        False where there is no such session. The text is gone from the file and its write-ahead log afterwards.
        Raises TurnInProgress while another process runs the session.
        """

        def delete(sql: sqlite3.Connection) -> bool:
            if held := leases.held_by_another(sql, session_id, self.token):
                raise leases.in_progress(held)
            return branches.delete(sql, session_id)

        gone = self._write(delete)
        if gone:
            self.connection.purge(fulltext.TABLES)
        return gone
