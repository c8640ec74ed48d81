"""LedgerHistory: keeps what a session's tools change in files, in the ledger, before it is changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from attrs import define, field

from acp_adapter.agent.calls import Emit
from acp_adapter.agent.events import Noticed
from acp_adapter.agent.watching import Look, changes, look
from acp_adapter.errors import LedgerError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.file_edits import LARGEST, EditKind, FileState
from acp_adapter.ledger.worker import Ledger
from acp_adapter.sizes import size
from acp_adapter.transcript import uninterrupted

log = logging.getLogger(__name__)


@define(eq=False)
class LedgerHistory:
    """Implements `tools.port.FileHistory` for one session.

    What can't be kept is changed all the same, and the user is told that it can't be taken back. `kind` and `turn`
    say what changes: a tool call of the newest turn, unless told otherwise.
    """

    ledger: Ledger
    session_id: str
    emit: Emit
    kind: EditKind = "edit"
    turn: str | None = None
    _told: set[Path] = field(factory=set)
    _watches: list[dict[Path, Look]] = field(factory=list)

    async def begin(self, path: Path, before: FileState, after: FileState, call_id: str) -> int | None:
        return await self._begin(path, before, after, call_id, self.kind)

    async def _begin(self, path: Path, before: FileState, after: FileState, call_id: str, kind: EditKind) -> int | None:
        for watch in self._watches:
            watch[path] = Look(before, (), expected=after)
        try:
            row = await self.ledger(
                SessionDB.record_edit,
                self.session_id,
                path,
                (before, after),
                kind=kind,
                call_id=call_id,
                turn=self.turn,
            )
        except LedgerError as fault:
            self._tell(path, f"What {path} was is not kept, so this change can't be taken back", fault.message)
            return None
        if before.kind == "other" or (before.hash and before.data is None):
            why = f"What is larger than {size(LARGEST)}, or can't be read, is not copied."
            self._tell(path, f"What {path} was is not kept, so this change can't be taken back", why)
        return row

    @asynccontextmanager
    async def watching(self, paths: Iterable[Path], call_id: str) -> AsyncIterator[None]:
        """What changed is written down afterwards: a process that is killed meanwhile has not kept it."""
        watch: dict[Path, Look] = {}
        self._watches.append(watch)
        try:
            changed = await self._changed()
            seen = await asyncio.to_thread(look, [*changed, *paths])
            watch.update({path: each for path, each in seen.items() if path not in watch})
            yield
        finally:
            self._watches.remove(watch)
            await uninterrupted(self._keep_changes(watch, call_id))

    async def _keep_changes(self, watch: dict[Path, Look], call_id: str) -> None:
        for path, before, after in await asyncio.to_thread(changes, watch):
            await self._begin(path, before, after, call_id, "command")

    async def _changed(self) -> list[Path]:
        """What the session has changed before."""
        try:
            return [edit.path for edit in await self.ledger(SessionDB.edits, self.session_id)]
        except LedgerError as fault:
            log.warning("files are not watched: %s", fault)
            return []

    async def withdraw(self, kept: int) -> None:
        try:
            await self.ledger(SessionDB.forget_edit, kept)
        except LedgerError as fault:
            log.warning("a change that was not made is still on record: %s", fault)

    def _tell(self, path: Path, title: str, why: str) -> None:
        """Once for each file."""
        if path not in self._told:
            self._told.add(path)
            self.emit(Noticed("warning", title, why))
