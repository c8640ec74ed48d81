"""Where an author's code runs: apart from the connection, so that whatever it does, the editor is answered.

What is asynchronous runs in one event loop of its own, in a thread of its own: all sessions share it, because clients
of HTTP and databases belong to one loop. A plain function gets a thread for each turn, where it may block.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Coroutine, Generator, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from acp_adapter.errors import in_words
from acp_adapter.own.turn import Agent, Turn

T = TypeVar("T")

GRACE = 1.0
"""Seconds that an author's code has to end after a cancel; then the turn goes on without it."""

Outcome = tuple[Any, BaseException | None]


class Author:
    """Runs an author's code. All methods belong to the connection's event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def answer(self, agent: Agent, turn: Turn, stop: Callable[[], None]) -> None:
        """Have the agent answer the turn. Raises what it raises.

        A cancellation calls `stop`, which is to end what the agent waits for, and cancels its task or waits for its
        thread: not longer than GRACE.
        """
        if is_async(agent):
            await self.in_loop(_say_all_async(agent, turn), stop)
        elif (said := await self.in_thread(functools.partial(_say_all, agent, turn), stop)) is not None:
            await self.in_loop(_say_all_async(lambda _: said, turn), stop)

    async def call(self, function: Callable[[], T | Awaitable[T]]) -> T:
        """What the function gives, whichever way it is written."""
        made = function() if inspect.iscoroutinefunction(function) else await self.in_thread(function)
        return await self.in_loop(_awaited(made)) if inspect.isawaitable(made) else made

    async def in_thread(self, work: Callable[[], T], stop: Callable[[], None] = lambda: None) -> T:
        """Do it in a thread of its own, which is left behind where it does not end after a cancel and `stop`."""
        done = _running()
        threading.Thread(target=lambda: done.set_result(_outcome(work)), name="agent", daemon=True).start()
        result: T = await _end_of(done, stop)
        return result

    async def in_loop(self, work: Coroutine[Any, Any, T], stop: Callable[[], None] = lambda: None) -> T:
        """Do it in the loop that all of an author's coroutines share. A cancel calls `stop`, too."""
        done, loop = _running(), self._begun()
        tasks: list[asyncio.Task[None]] = []
        loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(_settle(work, done))))

        def cancel() -> None:
            stop()
            # A step later: a task that is cancelled before its first step never runs, and so would never settle `done`.
            loop.call_soon_threadsafe(lambda: loop.call_soon(tasks[0].cancel))

        result: T = await _end_of(done, cancel)
        return result

    def close(self) -> None:
        """Let go of the loop."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _begun(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(self._loop,), name="agents", daemon=True).start()
        return self._loop


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it does nothing yet but give what is to be awaited or iterated."""
    if isinstance(function, functools.partial):
        return is_async(function.func)
    own = (function, getattr(function, "__call__", None))  # noqa: B004  (an object's own method)
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in own)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _running() -> Future[Outcome]:
    """A future that can't be cancelled: what it stands for ends by itself."""
    done: Future[Outcome] = Future()
    done.set_running_or_notify_cancel()
    return done


def _outcome(work: Callable[[], Any]) -> Outcome:
    try:
        return work(), None
    except BaseException as fault:  # noqa: BLE001  (whatever an author's code raises belongs to its turn)
        return None, fault


async def _settle(work: Coroutine[Any, Any, Any], done: Future[Outcome]) -> None:
    try:
        done.set_result((await work, None))
    except BaseException as fault:  # noqa: BLE001  (as above; SystemExit would end the loop)
        done.set_result((None, fault))


async def _end_of(done: Future[Outcome], cancel: Callable[[], Any]) -> Any:
    ending = asyncio.wrap_future(done)
    try:
        value, fault = await asyncio.shield(ending)
    except asyncio.CancelledError:
        cancel()
        await asyncio.wait({ending}, timeout=GRACE)
        ending.cancel()
        raise
    if fault is not None and not isinstance(fault, Exception):
        # SystemExit and its kind would end the connection's loop, and a cancellation is not ours.
        raise RuntimeError(in_words(fault)) from fault
    if fault is not None:
        raise fault
    return value


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _say_all(agent: Agent, turn: Turn) -> Any:
    """In a thread: show what the agent says. What is to be awaited or iterated elsewhere is given back."""
    said = agent(turn)
    if isinstance(said, Iterator):
        try:
            for each in said:
                turn.say_now(each)
        finally:
            if isinstance(said, Generator):
                said.close()
    elif inspect.isawaitable(said) or isinstance(said, AsyncIterable):
        return said
    elif said is not None:
        turn.say_now(said)
    return None


async def _say_all_async(agent: Callable[[Turn], Any], turn: Turn) -> None:
    said = agent(turn)
    if isinstance(said, AsyncIterable):
        try:
            async for each in said:
                await turn.say(each)
        finally:
            if isinstance(said, AsyncGenerator):
                await said.aclose()
    elif inspect.isawaitable(said) and (text := await said) is not None:
        await turn.say(text)
