"""Care of a ledger: what `acp-adapter db` does with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from acp_adapter.ledger import branches, fulltext, maintenance, migrations, pruning, salvage
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.faults import Damaged
from acp_adapter.ledger.maintenance import Stats
from acp_adapter.ledger.pruning import Prune, Pruned


class Care:
    """Verify, mend, back up, shrink, prune and describe an open ledger. Every method raises LedgerError."""

    def __init__(self, db: SessionDB) -> None:
        self._db = db
        self._connection = db.connection

    def verify(self) -> list[str]:
        """What is wrong with the file, in sentences; empty for a sound one. Reads all of it.

        A damaged file is repaired when it is opened next; `mend` does the rest.
        """
        try:
            with self._db.watched():
                found = maintenance.problems(self._connection)
        except Damaged as damage:
            return [damage.message]
        if any(problem.startswith(maintenance.DAMAGED) for problem in found):
            salvage.suspect(self._connection.path)
        return found

    def mend(self, progress: Callable[[int], None] | None = None) -> None:
        """Make anew everything that can be made from the messages: all indexes, the list's order.

        `progress` is told how many messages remain, now and then. Raises Damaged where that is not enough.
        """
        with self._db.watched():
            self._connection.write(maintenance.mend)
            self._db.rebuild_index(progress)

    def backup(self, copy: Path | None = None) -> Path:
        """A whole copy, by default beside the file with the time in its name. Others go on writing meanwhile."""
        return self._connection.copy_to(copy) if copy else migrations.back_up(self._connection)

    def vacuum(self) -> tuple[int, int]:
        """Give free space back to the disk: the file's size before and after. Other writers wait meanwhile."""
        return maintenance.shrink(self._connection)

    def stats(self) -> Stats:
        """What the ledger holds, and how large it is."""
        return self._connection.read(lambda sql: maintenance.stats(sql, self._connection.path))

    def pin(self, session_id: str, pinned: bool = True) -> None:
        """Keep the conversation from being pruned, or no longer. Raises SessionNotFound."""
        self._connection.write(lambda sql: pruning.pin(sql, session_id, pinned))

    def prune(
        self, wanted: Prune, *, dry_run: bool = False, progress: Callable[[Pruned], None] | None = None
    ) -> list[Pruned]:
        """Delete what `wanted` describes, or with `dry_run` only say what that is. Nothing pinned or running goes.

        The file keeps its size, with free space in it, until `vacuum`.
        """
        chosen = self._connection.read(lambda sql: pruning.plan(sql, wanted))
        for conversation in () if dry_run else chosen:
            self._connection.write(partial(branches.delete, session_id=conversation.id))
            if progress:
                progress(conversation)
        if chosen and not dry_run:
            self._connection.purge(fulltext.TABLES)
        return chosen
