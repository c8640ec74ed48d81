"""File edits in SessionDB: what sessions changed, for taking back and for tracing."""

from __future__ import annotations

from pathlib import Path

from acp_adapter.ledger import file_edits
from acp_adapter.ledger.db.access import Access, reads
from acp_adapter.ledger.file_edits import EditKind, FileEdit, FileState


class Files(Access):
    """What each file was before and after a session changed it."""

    def record_edit(
        self,
        session_id: str,
        path: Path,
        states: tuple[FileState, FileState],
        *,
        kind: EditKind = "edit",
        call_id: str = "",
        turn: str | None = None,
    ) -> int:
        """Write down that a file is about to change from one state to another; the number of the row.

        Without `turn` it is that of the conversation's last prompt. Contents of more than `file_edits.LARGEST` are
        known by their hash only; a session that keeps more than `file_edits.KEPT` forgets its oldest edits.
        """
        return self._write(lambda sql: file_edits.record(sql, session_id, path, states, kind, call_id, turn))

    def forget_edit(self, row: int) -> None:
        """The change was not made after all."""
        self._write(lambda sql: file_edits.forget(sql, row))

    @reads
    def edits(self, session_id: str) -> list[FileEdit]:
        """What the conversation changed, in order, without contents; in a branch also what led to it."""
        return self._read(lambda sql: file_edits.of_conversation(sql, session_id))

    @reads
    def edits_of(self, path: Path) -> list[FileEdit]:
        """What all sessions changed in a file, in order, without contents; each change once."""
        return self._read(lambda sql: file_edits.of_path(sql, path))

    @reads
    def edits_of_call(self, session_id: str, call_id: str) -> list[FileEdit]:
        """What one tool call changed."""
        return self._read(lambda sql: file_edits.of_call(sql, session_id, call_id))

    @reads
    def content(self, digest: str) -> bytes | None:
        """A content by its hash; None where it is not kept."""
        return self._read(lambda sql: file_edits.content(sql, digest))
