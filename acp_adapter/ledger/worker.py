"""Ledger: the SessionDB behind a thread of its own, so that no wait for the disk or a lock holds up the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, Usage, new_id

P = ParamSpec("P")
T = TypeVar("T")


class Ledger:
    """Asynchronous access to one SessionDB; implements `transcript.Store`. Opens the file at its first use.

    `await ledger(SessionDB.session, session_id)` runs that method in the thread and returns or raises what it does.
    Calls run one after the other in their order; cancelling the awaiter does not stop a call that has begun.
    """

    def __init__(self, path: Path, *, program: str = "acp-adapter") -> None:
        self.path = path
        self._program = program
        self._db: SessionDB | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")

    async def __call__(self, method: Callable[Concatenate[SessionDB, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: method(self._opened(), *args, **kwargs)
        )

    async def append(self, session_id: str, messages: Sequence[Message], usage: Usage | None) -> list[int]:
        return await self(SessionDB.append, session_id, messages, usage)

    async def save_draft(self, session_id: str, message: Message) -> None:
        await self(SessionDB.save_draft, session_id, message)

    async def compress(self, session_id: str, summary: Message, tail: Sequence[Message]) -> list[Message]:
        await self(SessionDB.continue_compressed, session_id, new_id(), summary, tail)
        return await self(SessionDB.conversation, session_id)

    async def rewind(self, session_id: str, message_id: str) -> None:
        await self(SessionDB.undo, session_id, message_id)

    async def notices(self) -> list[str]:
        """What the user must know about the opening of the file; each is given once."""
        return await self(_take_notices)

    async def aclose(self) -> None:
        """Finish what is under way and close the file. May be called twice."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._thread.shutdown(wait=True)
        if self._db:
            self._db.close()
            self._db = None

    def _opened(self) -> SessionDB:
        if self._db is None:
            self._db = SessionDB.open(self.path, program=self._program)
        return self._db


def _take_notices(db: SessionDB) -> list[str]:
    notices, db.notices = db.notices, []
    return notices
