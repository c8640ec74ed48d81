"""Ledger: SessionDB behind threads of its own, so that no wait for the disk or a lock holds up the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from acp_adapter.errors import LedgerUnavailable
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.faults import Moved
from acp_adapter.transcript import Message, Usage, new_id

P = ParamSpec("P")
T = TypeVar("T")

CLOSE_SECONDS = 2.0


class Ledger:
    """Asynchronous access to one ledger; implements `transcript.Store`. Opens the file at its first use.

    `await ledger(SessionDB.session, session_id)` runs that method in a thread and returns or raises what it does.
    Writes run one after the other in the order of their calls; reads, and what takes long, have connections of their
    own and hold up no writer. A call that was awaited is seen by every later one. Cancelling the awaiter stops no call
    that has begun.
    """

    def __init__(self, path: Path, *, program: str = "acp-adapter") -> None:
        self.path = path
        token = uuid.uuid4().hex
        self._lanes = {name: _Lane(path, program, token) for name in ("writes", "reads", "long")}

    async def __call__(self, method: Callable[Concatenate[SessionDB, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        lane = getattr(method, "lane", "writes")
        return await self._lanes[lane].run(lambda db: method(db, *args, **kwargs))

    async def append(self, session_id: str, messages: Sequence[Message], usage: Usage | None) -> list[int]:
        return await self(SessionDB.append, session_id, messages, usage)

    async def save_draft(self, session_id: str, message: Message) -> None:
        await self(SessionDB.save_draft, session_id, message)

    async def compress(self, session_id: str, summary: Message, tail: Sequence[Message]) -> list[Message]:
        await self(SessionDB.continue_compressed, session_id, new_id(), summary, tail)
        return await self(SessionDB.conversation, session_id)

    async def rewind(self, session_id: str, message_id: str) -> None:
        await self(SessionDB.undo, session_id, message_id)

    async def trim(self, session_id: str, replacements: Mapping[str, str]) -> None:
        await self(SessionDB.trim, session_id, replacements)

    async def charge(
        self, session_id: str, usage: Usage, *, task: str, model: str | None = None, provider: str | None = None
    ) -> None:
        await self(SessionDB.charge, session_id, usage, task=task, model=model, provider=provider)

    async def call_ids(self, session_id: str) -> set[str]:
        return await self(SessionDB.call_ids, session_id)

    async def notices(self) -> list[str]:
        """What the user must know about the opening of the file, opened now if it was not; each is given once."""
        await self._lanes["writes"].run(lambda _: None)
        return list(dict.fromkeys(notice for lane in self._lanes.values() for notice in lane.take_notices()))

    async def aclose(self) -> None:
        """Finish what is under way and close the file; may be called twice. Waits two seconds at most."""
        await asyncio.gather(*(asyncio.to_thread(lane.close) for lane in self._lanes.values()))


class _Lane:
    """One connection and the thread that it lives in. The thread is a daemon: a held lock never holds up the exit."""

    def __init__(self, path: Path, program: str, token: str) -> None:
        self._path = path
        self._program = program
        self._token = token
        self._db: SessionDB | None = None
        self._notices: list[str] = []
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, method: Callable[[SessionDB], T]) -> T:
        if self._closed:
            raise LedgerUnavailable(f"The ledger {self._path} is closed.")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            outcome = _outcome(lambda: self._on_db(method))
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(_tell, answer, *outcome)

        self._calls.put(call)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
            self._thread.start()
        return await answer

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def close(self) -> None:
        self._closed = True
        if self._thread:
            self._calls.put(None)
            self._thread.join(CLOSE_SECONDS)

    def _work(self) -> None:
        while call := self._calls.get():
            call()
        if self._db:
            self._db.close()

    def _on_db(self, method: Callable[[SessionDB], T]) -> T:
        """A ledger that was replaced by another file is opened again; one that is gone is an error."""
        try:
            return method(self._opened())
        except Moved:
            if not self._path.exists():
                raise
        if self._db:
            self._db.close()
            self._db = None
        return method(self._opened())

    def _opened(self) -> SessionDB:
        if self._db is None:
            self._db = SessionDB.open(self._path, program=self._program, token=self._token)
            self._notices += self._db.notices
        return self._db


def _outcome(call: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    try:
        return call(), None
    except BaseException as fault:  # noqa: BLE001  (it belongs to the awaiter)
        return None, fault


def _tell(answer: asyncio.Future[Any], result: Any, fault: BaseException | None) -> None:
    if answer.done():
        return
    if fault is not None:
        answer.set_exception(fault)
    else:
        answer.set_result(result)
