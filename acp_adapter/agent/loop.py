"""AIAgent: one turn of a model with its tools.

    keep the prompt → model step → its calls, together → model step → … → a stop reason

Whatever ends a turn (done, cancelled, provider error, bug), every tool call has exactly one result afterwards, in
memory and in the ledger, so that the next turn is valid for the strictest provider.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Literal

from attrs import define, evolve, field

from acp_adapter.agent import compaction
from acp_adapter.agent.calls import Emit, Gatekeeper, ToolRunner, Workspace
from acp_adapter.agent.drafting import StreamingAnswer
from acp_adapter.agent.events import CompactionChanged, Noticed, TextChunk, ThoughtChunk, ToolCallChanged, UsageChanged
from acp_adapter.agent.projection import shown_text, thought_id
from acp_adapter.errors import AcpAdapterError, BrokenStream, ContextTooLong, LedgerError, ProviderError
from acp_adapter.pairing import paired
from acp_adapter.providers.port import (
    Completed,
    ModelRequest,
    Provider,
    ReasoningDelta,
    TextDelta,
    ToolSpec,
)
from acp_adapter.tools.port import Tool
from acp_adapter.transcript import Message, ToolCall, Transcript, Usage, new_id

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]

STOPS: dict[str, StopReason] = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


@define(eq=False)
class AIAgent:
    """A model, its tools and one conversation. One turn at a time: the session sees to that.

    `choose` gives the model of a turn when it is needed, after the prompt is safe in the ledger.
    """

    choose: Callable[[], Awaitable[Provider]]
    tools: Mapping[str, Tool]
    transcript: Transcript
    system_prompt: str
    workspace: Workspace
    gatekeeper: Gatekeeper
    emit: Emit
    max_steps: int = 100
    _warned: bool = field(default=False, init=False)
    _used: int = field(default=0, init=False)

    async def run_turn(self, prompt: Message) -> StopReason:
        """Answer `prompt`. Raises ProviderError; partial answers are kept. A cancelled task keeps what was
        streamed, closes every open call and only then raises CancelledError."""
        self._warned = False
        await self.keep(prompt)
        try:
            return await self._steps()
        finally:
            await self.close_open_calls("The turn ended before this call gave a result.")

    async def keep(self, *messages: Message, usage: Usage | None = None) -> None:
        """Append to the transcript. What the ledger refuses stays in memory, and the user is told once a turn."""
        try:
            await self.transcript.append(*messages, usage=usage)
        except LedgerError as fault:
            if not self._warned:
                self._warned = True
                self.emit(Noticed("error", "This conversation is not being saved", fault.message))

    async def close_open_calls(self, reason: str) -> None:
        """Give every call without a result a failed one."""
        for call in self.transcript.open_calls():
            details: dict[str, Any] = {"title": call.name, "kind": "other", "status": "failed"}
            await self.keep(
                Message(role="tool", content=reason, tool_call_id=call.id, tool_name=call.name, details=details)
            )
            self.emit(ToolCallChanged(call.id, status="failed", content=shown_text(reason)))

    async def _steps(self) -> StopReason:
        provider = await self.choose()
        for _ in range(self.max_steps):
            completed = await self._model_step_with_room(provider)
            if completed.finish_reason in ("length", "content_filter") or not completed.message.tool_calls:
                return STOPS.get(completed.finish_reason, "end_turn")
            await self._run_calls(completed.message.calls())
        return "max_turn_requests"

    async def compact(self, focus: str | None = None) -> None:
        """Put the older part of the conversation into a summary. Raises ProviderError, ContextTooLong, LedgerError;
        the conversation is then as it was."""
        await self._compact(await self.choose(), focus)

    async def _compact(self, provider: Provider, focus: str | None = None) -> None:
        messages = self.transcript.messages
        at = compaction.split(messages, provider.context_window)
        compaction_id = new_id()
        self.emit(CompactionChanged(compaction_id, "in_progress"))
        try:
            summary = evolve(await compaction.summarise(provider, messages[:at], focus), id=compaction_id)
            await self.transcript.compress(summary, messages[at:])
        except BaseException as fault:
            reason = fault.message if isinstance(fault, AcpAdapterError) else "It was cancelled."
            self.emit(CompactionChanged(compaction_id, "failed", reason))
            raise
        self._used = compaction.tokens(self.transcript.messages)
        self.emit(CompactionChanged(compaction_id, "completed", summary.text()))

    async def _model_step_with_room(self, provider: Provider) -> Completed:
        """Compact before the window is full, or once when the provider says that it is."""
        window = provider.context_window
        if compaction.is_full(self._in_context(), window):
            await self._compact(provider)
            if compaction.is_full(self._in_context(), window):
                raise ContextTooLong("The conversation does not fit the model's window, even compacted.")
        try:
            return await self._model_step(provider)
        except ContextTooLong:
            await self._compact(provider)
            return await self._model_step(provider)

    def _in_context(self) -> int:
        """Tokens that the next request will hold, about: what the last one held and what came since."""
        return max(self._used, compaction.tokens(self.transcript.messages) + len(self.system_prompt) // 4)

    async def _model_step(self, provider: Provider) -> Completed:
        answer = StreamingAnswer(self.transcript)
        try:
            completed = await self._stream(provider, answer)
        except (ProviderError, asyncio.CancelledError) as stop:
            await answer.settle()
            reason = "cancelled" if isinstance(stop, asyncio.CancelledError) else "error"
            if partial := answer.partial(reason):
                await self.keep(partial)
            raise
        await answer.settle()
        message = self._with_new_call_ids(completed.message)
        message = evolve(message, id=answer.id, finish_reason=completed.finish_reason)
        completed = evolve(completed, message=message)
        await self.keep(message, usage=completed.usage or Usage())
        self._check_said_something(completed)
        self._tell_usage(completed.usage, provider.context_window)
        return completed

    async def _stream(self, provider: Provider, answer: StreamingAnswer) -> Completed:
        async with aclosing(provider.stream(self._request())) as events:
            async for event in events:
                if isinstance(event, Completed):
                    return event
                answer.add(event)
                if isinstance(event, TextDelta):
                    self.emit(TextChunk(answer.id, event.text))
                elif isinstance(event, ReasoningDelta):
                    self.emit(ThoughtChunk(thought_id(answer.id), event.text))
        raise BrokenStream("The model's answer ended before it was complete.")

    def _request(self) -> ModelRequest:
        specs = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in self.tools.values()]
        return ModelRequest(self.system_prompt, paired(self.transcript.messages), specs)

    def _with_new_call_ids(self, message: Message) -> Message:
        """ACP wants toolCallIds that are unique in the session; many models count from one in each answer."""
        used = {call.id for earlier in self.transcript.messages for call in earlier.calls()}
        renamed = []
        for raw in message.tool_calls or ():
            new, n = str(raw["id"]), 1
            while new in used:
                n += 1
                new = f"{raw['id']}-{n}"
            used.add(new)
            renamed.append({**raw, "id": new})
        return evolve(message, tool_calls=renamed or None)

    def _check_said_something(self, completed: Completed) -> None:
        message = completed.message
        if completed.finish_reason == "stop" and not message.text().strip() and not message.tool_calls:
            raise BrokenStream("The model ended its turn without an answer. Try again, or choose another model.")

    def _tell_usage(self, usage: Usage | None, window: int | None) -> None:
        if usage is None:
            return
        self._used = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens
        if window:
            self.emit(UsageChanged(self._used, window))

    async def _run_calls(self, calls: list[ToolCall]) -> None:
        """All calls of one step at once."""
        runner = ToolRunner(self.tools, self.workspace, self.gatekeeper, self.keep, self.emit)
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(runner.run(call))
