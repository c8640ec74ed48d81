"""Steering: what the user says to a turn that runs, until its model sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from attrs import define, field

from acp_adapter.errors import LedgerError
from acp_adapter.transcript import Message, Transcript


class Keep(Protocol):
    def __call__(self, *messages: Message) -> Awaitable[None]: ...


@define(eq=False)
class Steering:
    """Takes messages while a turn listens, and gives each out once: to the next step, or to `keep` as the turn ends.

    A message that waits is in the ledger as a draft, so that a killed process does not lose it: its place in the
    conversation, after the results of the running step, is known only later.
    """

    transcript: Transcript
    keep: Keep
    tell_unsaved: Callable[[LedgerError], None]
    waiting: list[Message] = field(factory=list)
    _listens: bool = False

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """A turn. What came too late for its model is kept all the same."""
        self._listens = True
        try:
            yield
        finally:
            self._listens = False
            await self.keep(*self.take())

    async def add(self, message: Message) -> bool:
        """Store the message and let it wait. False where no turn listens, or none any more: it is a prompt then."""
        if not self._listens:
            return False
        try:
            await self.transcript.hold(message)
        except LedgerError as fault:
            self.tell_unsaved(fault)
        if self._listens:
            self.waiting.append(message)
        return self._listens

    def take(self) -> list[Message]:
        """What waits, oldest first; it waits no longer."""
        taken, self.waiting = self.waiting, []
        return taken

    def last_words(self) -> list[Message]:
        """What waits as the turn is about to end; where nothing does, nothing more is heard."""
        self._listens = bool(self.waiting)
        return self.take()
