"""Sessions in SessionDB: made, read, changed, listed, found by what a person types."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Unpack

from acp_adapter.ledger import listing, sessions, tree
from acp_adapter.ledger.db.access import Access, reads
from acp_adapter.ledger.listing import Page
from acp_adapter.ledger.sessions import NewSession, SessionChanges, SessionRow


class Sessions(Access):
    """The nodes of the tree, and the list of conversations."""

    def create_session(self, session_id: str, **new: Unpack[NewSession]) -> SessionRow:
        """A new session without messages. Raises InvalidParams when the id or the title is taken."""
        return self._write(lambda sql: sessions.create(sql, session_id, new))

    @reads
    def session(self, session_id: str) -> SessionRow:
        """That very node."""
        return self._read(lambda sql: sessions.get(sql, session_id))

    @reads
    def current(self, session_id: str) -> SessionRow:
        """The node where the conversation goes on: the newest of its chain."""
        return self._read(lambda sql: sessions.get(sql, tree.tip(sql, session_id)))

    @reads
    def chain(self, session_id: str) -> list[SessionRow]:
        """All nodes of the conversation, from the first to the newest."""
        return self._read(lambda sql: [sessions.get(sql, node) for node in tree.chain(sql, session_id)])

    @reads
    def title(self, session_id: str) -> str | None:
        """What the conversation is called: its newest title, without the number that a compaction adds to it."""
        return sessions.title_of(self.chain(session_id))

    def update_session(self, session_id: str, **changes: Unpack[SessionChanges]) -> SessionRow:
        """Change what is given, in the node where the conversation goes on.

        Raises InvalidParams, naming the other session, for a title that is taken: see `name_session`.
        """
        return self._write(lambda sql: sessions.update(sql, tree.tip(sql, session_id), changes))

    def name_session(self, session_id: str, base: str) -> str:
        """Give it a title that is free, and return it: `base`, or `base #2`, `base #3`, …, at most 100 characters."""

        def name(sql: sqlite3.Connection) -> str:
            title = sessions.next_title(sql, base)
            sessions.update(sql, tree.tip(sql, session_id), {"title": title})
            return title

        return self._write(name)

    @reads
    def resolve(self, text: str) -> str:
        """The id that a person means by an id, a title, or the beginning of an id.

        Raises SessionNotFound, and InvalidParams where several conversations begin so.
        """
        return self._read(lambda sql: sessions.resolve(sql, text))

    @reads
    def list_sessions(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        sources: Sequence[str] | None = None,
        include_archived: bool = False,
    ) -> Page:
        """Conversations by newest activity, one entry a compression chain, branches too, sub-agents' not.

        `cwd` is a folder under any spelling. `cursor` is the `next_cursor` of the page before, with the same
        filter: any other raises InvalidParams.
        """
        chosen = listing.Filter(cwd, None if sources is None else tuple(sources), include_archived)
        return self._read(lambda sql: listing.page(sql, chosen, cursor, limit))
