"""Search in SessionDB, and the indexes that it needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from acp_adapter.errors import LedgerError
from acp_adapter.ledger import fulltext, passages, search
from acp_adapter.ledger.db.access import Access, reads, takes_long
from acp_adapter.ledger.faults import Unexplained
from acp_adapter.ledger.passages import FoundSession
from acp_adapter.ledger.search import Hit, Where
from acp_adapter.transcript import Message


class Search(Access):
    """What was said anywhere, by its words, and single messages by their ids."""

    @takes_long
    def search(
        self,
        text: str,
        *,
        role: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
        cwd: str | None = None,
        since: float | None = None,
        newest_first: bool = False,
        limit: int = 20,
    ) -> list[Hit]:
        """The messages that hold every word of `text` (a quoted phrase as a phrase), the best first.

        All signs mean themselves. Scripts without blanks are found by any part, from one character up. Compacted
        messages are found and marked, rewound ones are not. `since` is in seconds since 1970. Raises InvalidParams
        where `text` is blank.
        """
        where = Where(role, session_id, source, cwd, since)

        def look() -> list[Hit]:
            if not self._read(fulltext.is_whole):
                self.fill_index()
            hits = self._read(lambda sql: search.find(sql, text, where, newest_first, limit))
            if not hits and not self._read(lambda sql: all(fulltext.answers(sql, table) for table in fulltext.TABLES)):
                raise Unexplained("The full-text index has lost messages.")
            return hits

        try:
            return look()
        except LedgerError as fault:
            if isinstance(fault, Unexplained):
                with contextlib.suppress(LedgerError):
                    self.rebuild_index()
                    return look()
        return self._read(lambda sql: search.find_without_index(sql, text, where, limit))

    @reads
    def passages(self, hits: Sequence[Hit], *, per_session: int = 3, context: int = 2) -> list[FoundSession]:
        """What `search` found, by session, with `context` messages before and after each hit."""
        return self._read(lambda sql: passages.by_session(sql, hits, per_session, context))

    @reads
    def around(self, row: int, before: int = 2, after: int = 2) -> list[Message]:
        """A message that a search found, between its neighbours."""
        return self._read(lambda sql: passages.around(sql, row, before, after))

    @reads
    def find_message(self, session_id: str, beginning: str) -> Message:
        """The message of the conversation whose id begins so, compacted ones too, as it was first stored.

        Raises InvalidParams where none does, or several do (an id that is exactly this one counts alone).
        """
        return self._read(lambda sql: passages.find_message(sql, session_id, beginning))

    def rebuild_index(self, progress: Callable[[int], None] | None = None) -> None:
        """Make the full-text indexes anew. `progress` is told how many rows remain, now and then."""
        self.connection.write(fulltext.begin)
        self.fill_index(progress)

    def fill_index(self, progress: Callable[[int], None] | None = None) -> None:
        """Finish indexes that were begun, in transactions that let other writers in between."""
        if not self._read(fulltext.is_begun):
            self.connection.write(fulltext.begin)
        while remaining := self.connection.write(fulltext.fill):
            if progress:
                progress(remaining)
