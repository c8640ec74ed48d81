"""TurnScribe: what an agent of one's own says and does in one turn, written down and shown in that order."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError as Abandoned
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from attrs import Factory, define, evolve, field

from acp_adapter.agent.base import Agent
from acp_adapter.agent.calls import AnnouncedCall, Ruling, ToolRunner
from acp_adapter.agent.drafting import StreamingAnswer
from acp_adapter.agent.events import TextChunk, ThoughtChunk
from acp_adapter.agent.projection import thought_id
from acp_adapter.own.said import Plan, Said, Thought, Usage
from acp_adapter.own.turn import KEPT, Own
from acp_adapter.providers.port import ReasoningDelta, TextDelta
from acp_adapter.tools.port import Intent, Question, ToolContext, ToolResult
from acp_adapter.transcript import Message, ToolCall, new_id
from acp_adapter.transcript import Usage as Counted

T = TypeVar("T")

UNFINISHED = "The turn ended before this call gave a result."


@define(eq=False)
class TurnScribe:
    """Implements `own.turn.Scribe` for one turn of `agent`. `spent` is told of every model call.

    `over` is set when the turn is: from then on nothing more is written. `questions` are those that the next prompt
    is to answer.
    """

    agent: Agent
    spent: Callable[[Usage], None]
    over: bool = field(default=False, init=False)
    questions: list[Question] = field(factory=list, init=False)
    _loop: asyncio.AbstractEventLoop = field(factory=asyncio.get_running_loop, init=False)
    _order: asyncio.Lock = field(factory=asyncio.Lock, init=False)
    _kept: deque[Any] = field(factory=deque, init=False)
    _usage: Counted | None = field(default=None, init=False)
    _works: set[asyncio.Task[Any]] = field(factory=set, init=False)
    _begun: list[OpenCall] = field(factory=list, init=False)

    # ---- for any thread

    def send(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        return asyncio.wrap_future(self._scheduled(work))

    def done(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._scheduled(work).result()
        except Abandoned:
            raise asyncio.CancelledError from None

    def keep(self, items: Iterable[Any]) -> None:
        self._kept.extend(items)

    def _scheduled(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if self.over:  # and the connection's loop perhaps no longer there
            work.close()
            raise asyncio.CancelledError
        return asyncio.run_coroutine_threadsafe(self._counted(work), self._loop)

    async def _counted(self, work: Coroutine[Any, Any, T]) -> T:
        """Nothing is begun when the turn is over, and nothing that was begun outlasts it."""
        if self.over:
            work.close()
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        self._works.add(task)
        try:
            return await work
        finally:
            self._works.discard(task)

    # ---- on the connection's loop

    async def say(self, said: Said) -> None:
        if isinstance(said, Plan):
            await self._plan(said)
        elif isinstance(said, Usage):
            self._count(said)
        elif isinstance(said, Thought):
            await self._think(said.text)
        elif isinstance(said, str):
            async with self._order:
                self._stream(TextDelta(said))
        else:
            raise TypeError(f"An agent says text, Thought, Plan or Usage, not {type(said).__name__}.")

    async def call_tool(self, name: str, arguments: str, call_id: str) -> ToolResult:
        announced = await self._announced(ToolCall(call_id, name, arguments), self.agent.runner())
        result = await announced.run()
        if result.asks:
            self.questions.append(result.asks)
        return result

    async def begin(self, own: Own) -> OpenCall:
        opened = OpenCall(own)
        gatekeeper = self.agent.gatekeeper if own.asks else _Ungated()
        runner = evolve(self.agent.runner(), tools={own.name: opened}, gatekeeper=gatekeeper)
        announced = await self._announced(ToolCall(own.call_id, own.name, own.arguments), runner)
        self._begun.append(opened)
        await opened.start(announced)
        return opened

    def stop(self) -> None:
        """The turn is over: nothing more is begun, and what runs is cancelled.

        That is done a moment later, so that an author's task hears of it once, by its own cancellation.
        """
        self.over = True
        for work in self._works:
            self._loop.call_soon(work.cancel)

    async def close(self, ended: str) -> None:
        """The turn is over. `ended` is how, as a finish reason: `stop`, `cancelled` or `error`."""
        self.stop()
        await asyncio.gather(*self._works, return_exceptions=True)
        for opened in self._begun:
            await opened.close(cancelled=ended == "cancelled")
        await self._write(ended)

    async def _plan(self, plan: Plan) -> None:
        entries = [dict(each) if isinstance(each, Mapping) else each for each in plan.entries]
        shown = await self.call_tool("update_plan", json.dumps({"entries": entries}), new_id())
        if shown.failed:
            raise ValueError(shown.text)

    def _count(self, usage: Usage) -> None:
        """With the next message that is written: usage is counted by messages."""
        before = self._usage or Counted()
        known = [cost for cost in (before.cost, usage.cost) if cost is not None]
        self._usage = Counted(
            before.input_tokens + usage.input_tokens,
            before.output_tokens + usage.output_tokens,
            cost=sum(known) if known else None,
        )
        self.spent(usage)

    async def _think(self, text: str) -> None:
        """A message's thoughts are shown before its text, so a thought that comes later begins another one."""
        async with self._order:
            if self.agent.streaming and self.agent.streaming.has_text:
                await self._write("stop")
            self._stream(ReasoningDelta(text))

    def _stream(self, delta: TextDelta | ReasoningDelta) -> None:
        if delta.text:
            answer = self.agent.streaming = self.agent.streaming or StreamingAnswer(self.agent.transcript)
            answer.add(delta)
            thinks = isinstance(delta, ReasoningDelta)
            self.agent.emit(
                ThoughtChunk(thought_id(answer.id), delta.text) if thinks else TextChunk(answer.id, delta.text)
            )

    async def _announced(self, call: ToolCall, runner: ToolRunner) -> AnnouncedCall:
        """The call, written after all that was said before, and shown."""
        async with self._order:
            written = await self._write("tool_calls", call)
            assert written is not None
            return await runner.announced_call(written.calls()[0])

    async def _write(self, ended: str, call: ToolCall | None = None) -> Message | None:
        """Store what was said since the last message, with what is to be kept and counted; None where nothing was."""
        if answer := self.agent.streaming:
            await answer.settle()
        said = answer.partial(ended) if answer else None
        if not (said or call or self._kept or self._usage):
            return None
        message = said or Message(role="assistant", content="", finish_reason=ended)
        kept = [self._kept.popleft() for _ in range(len(self._kept))]
        message = await self.agent.with_new_call_ids(
            evolve(message, tool_calls=[call.raw()] if call else None, details={KEPT: kept} if kept else None)
        )
        usage, self._usage = self._usage, None
        try:
            await self.agent.keep(message, usage=usage)
        finally:
            self.agent.streaming = None
            if answer:
                answer.over.set()
        return message


@define(eq=False)
class OpenCall:
    """A call of the agent's own, as a tool that runs until the agent says what came of it."""

    own: Own
    name: str = field(default=Factory(lambda self: self.own.name, takes_self=True), init=False)
    description: str = field(default="", init=False)
    parameters: dict[str, Any] = field(factory=lambda: {"type": "object"}, init=False)
    _running: asyncio.Task[ToolResult] = field(init=False)
    _permitted: asyncio.Event = field(factory=asyncio.Event, init=False)
    _outcome: asyncio.Future[ToolResult] = field(factory=lambda: asyncio.get_running_loop().create_future(), init=False)

    @property
    def allowed(self) -> bool:
        return self._permitted.is_set()

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        own = self.own
        return Intent(own.title, own.kind, "execute" if own.asks else "none", command=own.command)

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        self._permitted.set()
        return await self._outcome

    async def start(self, announced: AnnouncedCall) -> None:
        """Wait until it runs, or has a result because it was refused."""
        self._running = asyncio.create_task(announced.run())
        permitted = asyncio.create_task(self._permitted.wait())
        try:
            await asyncio.wait({self._running, permitted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            permitted.cancel()

    async def end(self, text: str, failed: bool) -> None:
        self._settle(ToolResult(text, failed))
        await asyncio.shield(self._running)

    async def close(self, cancelled: bool) -> None:
        """Where the agent has not said what came of it."""
        if cancelled or not self.allowed:
            self._running.cancel()
        else:
            self._settle(ToolResult(UNFINISHED, failed=True))
        await asyncio.gather(self._running, return_exceptions=True)

    def _settle(self, result: ToolResult) -> None:
        if not self._outcome.done():
            self._outcome.set_result(result)


class _Ungated:
    """For calls that the agent has not asked about: they are shown, not decided on."""

    async def permit(self, call: ToolCall, intent: Intent) -> Ruling:
        return Ruling(None, {})

    def hiding(self, tool: str, asked: bool) -> Callable[[Path], bool]:
        return lambda path: False

    def reads(self, paths: Sequence[Path], passed: Sequence[Path]) -> bool:
        return True
