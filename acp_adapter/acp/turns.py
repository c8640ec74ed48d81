"""Turns: what has a session for itself, one after the other, in the order in which it was asked for.

A turn is not a request: its task belongs to the session, and the request only waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from attrs import define, field

from acp_adapter.agent.base import StopReason

Work = Callable[["Turn"], Awaitable[StopReason]]


@define(eq=False)
class Turn:
    """One piece of work: waiting, running or done. Cancelling it twice is the same as once.

    `running` is set by the work itself, from when on it may be interrupted; before, it must look at `cancelled`, so
    that a prompt which is cancelled before it began is stored all the same.
    """

    work: Work
    task: asyncio.Task[StopReason] | None = None
    cancelled: bool = False
    running: bool = False

    def cancel(self) -> None:
        if not self.cancelled:
            self.cancelled = True
            if self.running and self.task:
                self.task.cancel()

    def run(self) -> None:
        """From now on a cancel interrupts."""
        self.running = True


@define(eq=False)
class Turns:
    """The turns of one session. `alone` is held around each: the session's lease."""

    alone: Callable[[], AbstractAsyncContextManager[None]]
    cancel_event: asyncio.Event = field(factory=asyncio.Event)
    _queue: list[Turn] = field(factory=list)
    _order: asyncio.Lock = field(factory=asyncio.Lock)

    @property
    def busy(self) -> bool:
        return bool(self._queue)

    async def take(self, work: Work) -> StopReason:
        """Do `work` in its turn. Raises what it raises.

        A cancelled caller (`$/cancel_request`) cancels this turn and gets its stop reason, `cancelled`: at once
        where the turn has not begun. Its prompt is stored in its place all the same.
        """
        turn = Turn(work)
        self._queue.append(turn)
        turn.task = asyncio.create_task(self._run(turn))
        while True:
            try:
                return await asyncio.shield(turn.task)
            except asyncio.CancelledError:
                turn.cancel()
                if turn.task.done() or not turn.running:
                    return "cancelled"

    def cancel(self) -> None:
        """Stop the running turn, if any. Those that wait behind it are not touched."""
        if self._queue:
            self.cancel_event.set()
            self._queue[0].cancel()

    async def end(self) -> None:
        """Stop all and wait until they have closed."""
        for turn in self._queue:
            turn.cancel()
        await asyncio.gather(*(turn.task for turn in self._queue if turn.task), return_exceptions=True)

    async def _run(self, turn: Turn) -> StopReason:
        async with self._order:
            self.cancel_event.clear()
            try:
                async with self.alone():
                    return await turn.work(turn)
            except asyncio.CancelledError:
                if turn.cancelled:
                    return "cancelled"
                raise
            finally:
                turn.running = False
                self._queue.remove(turn)
