"""Agent: whoever answers in a session, as the session sees it, and what all of them do with their conversation.

The built-in one is `agent.loop.AIAgent`; `agent.own.OwnAgent` stands for one that somebody else wrote.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Literal

from attrs import define, evolve, field

from acp_adapter.agent.calls import Emit, Gatekeeper, ToolRunner, Workspace
from acp_adapter.agent.drafting import StreamingAnswer
from acp_adapter.agent.events import Noticed, TextChunk, ToolCallStarted, UsageChanged
from acp_adapter.agent.projection import details_of, started
from acp_adapter.agent.questions import message_of
from acp_adapter.errors import InvalidRequest, LedgerError
from acp_adapter.pairing import Calls
from acp_adapter.tools import shown
from acp_adapter.tools.port import Question, Tool, ToolResult
from acp_adapter.transcript import Message, Transcript, Usage, uninterrupted

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


@define(eq=False)
class Agent:
    """One conversation and who answers in it. One turn at a time: the session sees to that.

    `tools` may be replaced between turns. `announced` are the calls that have been shown and have no result yet,
    `streaming` is the message in the making.
    """

    tools: Mapping[str, Tool]
    transcript: Transcript
    workspace: Workspace
    gatekeeper: Gatekeeper
    emit: Emit
    announced: dict[str, ToolCallStarted] = field(factory=dict, init=False)
    streaming: StreamingAnswer | None = field(default=None, init=False)
    _calls: Calls = field(factory=Calls, init=False)
    _shown_calls: set[str] | None = field(default=None, init=False)
    _warned: bool = field(default=False, init=False)

    # ---- what each agent does in its own way

    async def run_turn(self, prompt: Message) -> StopReason:
        """Answer `prompt`. Raises what ended the turn otherwise; what was said until then is kept, and every call has
        exactly one result."""
        raise NotImplementedError

    async def steer(self, message: Message) -> bool:
        """Have the running turn see it at its next step; stored before this returns. False where no turn listens."""
        return False

    def listening(self) -> AbstractAsyncContextManager[None]:
        """A turn, with what comes before and after it: while it lasts, `steer` may reach it."""
        return nullcontext()

    @property
    def waiting(self) -> Sequence[Message]:
        """What was said to the running turn and is not part of the conversation yet."""
        return ()

    def instruct(self, system_prompt: str) -> None:
        """Go on with another system prompt."""

    async def compact(self, focus: str | None = None) -> None:
        """Put the older part of the conversation into a summary now."""
        raise InvalidRequest("This agent keeps its own context, so there is nothing to compact here.")

    def standing(self, model: str, window: int | None) -> UsageChanged | None:
        """How full that model's window is and what the session has cost, where that is known without asking it."""
        return None

    # ---- what all do alike

    @property
    def is_speaking(self) -> bool:
        """Whether the editor has been shown the beginning of a message that goes on."""
        return self.streaming is not None and self.streaming.begun

    async def quiet(self) -> None:
        """Wait for a moment between two messages."""
        while self.streaming and self.streaming.begun:
            await self.streaming.over.wait()

    async def keep(self, *messages: Message, usage: Usage | None = None) -> None:
        """Append to the transcript. What the ledger refuses stays in memory, and the user is told once a turn."""
        try:
            if messages:
                await self.transcript.append(*messages, usage=usage)
        except LedgerError as fault:
            self._tell_unsaved(fault)

    @asynccontextmanager
    async def keeping(self, prompt: Message) -> AsyncIterator[None]:
        """While a prompt is made ready: a cancellation keeps it as it is."""
        try:
            yield
        except asyncio.CancelledError:
            await self.keep(prompt)
            raise

    async def close_open_calls(self, reason: str) -> None:
        """Give every call that was not even begun a failed result."""
        for call in self._calls.open(self.transcript.messages):
            known = self.announced.pop(call.id, None) or started(call, None)
            start = evolve(known, status="failed", content=[shown.text(reason)])
            details = details_of(start, ToolResult(reason, failed=True), duration=0.0)
            await self.keep(
                Message(role="tool", content=reason, tool_call_id=call.id, tool_name=call.name, details=details)
            )
            self.emit(start)

    def runner(self) -> ToolRunner:
        """Runs calls of this conversation, with the tools as they are now."""
        return ToolRunner(self.tools, self.workspace, self.gatekeeper, self.keep, self.emit, self.announced)

    async def with_new_call_ids(self, message: Message) -> Message:
        """ACP wants toolCallIds that are unique in the session; many models count from one in each answer."""
        if not message.tool_calls:
            return message
        used = await self._call_ids()
        renamed = []
        for raw in message.tool_calls:
            new, n = str(raw["id"]), 1
            while new in used:
                n += 1
                new = f"{raw['id']}-{n}"
            used.add(new)
            renamed.append({**raw, "id": new})
        return evolve(message, tool_calls=renamed)

    async def _call_ids(self) -> set[str]:
        """Of all calls that were ever shown, those too that the model is not sent any more."""
        if self._shown_calls is None:
            self._shown_calls = await self.transcript.call_ids()
        self._shown_calls |= self._calls.ids(self.transcript.messages)
        return self._shown_calls

    async def put(self, questions: Sequence[Question]) -> None:
        """Put to the user what was asked with a tool; the next prompt answers it."""
        asking = message_of(questions)

        async def say() -> None:
            await self.keep(asking)
            self.emit(TextChunk(asking.id, asking.text()))

        await uninterrupted(say())

    def _tell_unsaved(self, fault: LedgerError) -> None:
        if not self._warned:
            self._warned = True
            self.emit(Noticed("error", "This conversation is not being saved", fault.message))
