"""AIAgent: one turn of a model with its tools.

    keep the prompt → model step → its calls, together → what the user said meanwhile → model step → … → a stop reason

Whatever ends a turn (done, cancelled, provider error, bug), every tool call has exactly one result afterwards, in
memory and in the ledger, so that the next turn is valid for the strictest provider.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing

from attrs import define, evolve, field

from acp_adapter.agent.base import Agent, StopReason
from acp_adapter.agent.budget import Budget
from acp_adapter.agent.context import Context
from acp_adapter.agent.drafting import StreamingAnswer
from acp_adapter.agent.events import Noticed, TextChunk, ThoughtChunk, UsageChanged
from acp_adapter.agent.media import holds, to_take_back, unanswered
from acp_adapter.agent.projection import said_amid, thought_id
from acp_adapter.agent.room import Room
from acp_adapter.agent.steering import Steering
from acp_adapter.errors import (
    BrokenStream,
    ContextTooLong,
    InvalidParams,
    LedgerError,
    PromptTooLong,
    ProviderError,
    ProviderRejected,
)
from acp_adapter.providers.card import Effort
from acp_adapter.providers.port import (
    Completed,
    Provider,
    ReasoningDelta,
    TextDelta,
)
from acp_adapter.transcript import Message, Usage

log = logging.getLogger(__name__)

STOPS: dict[str, StopReason] = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


@define(eq=False)
class AIAgent(Agent):
    """The built-in agent: a model with its tools.

    `choose` gives the model of a turn when it is needed, after the prompt is safe in the ledger.
    """

    choose: Callable[[], Awaitable[Provider]]
    system_prompt: str
    max_steps: int = 100
    effort: Callable[[], Effort | None] = lambda: None
    budget: Budget | None = None
    context: Context = field(init=False)
    room: Room = field(init=False)
    steering: Steering = field(init=False)
    _untold: tuple[str, str] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.context = Context(self.transcript, self.system_prompt, lambda: self.tools, self.emit)
        self.room = Room(self.context, self.emit)
        self.steering = Steering(self.transcript, self.keep, self._tell_unsaved)

    async def run_turn(self, prompt: Message) -> StopReason:
        """Answer `prompt`. Raises ProviderError; partial answers are kept. A cancelled task keeps what was
        streamed, closes every open call and only then raises CancelledError."""
        self._warned = False
        await self.keep(prompt)
        try:
            stop = await self._steps()
        except ProviderRejected as fault:
            await self._take_back(fault)
            raise
        finally:
            await self.close_open_calls("The turn ended before this call gave a result.")
        if stop == "refusal":
            await self._rewind(prompt)
        return stop

    async def steer(self, message: Message) -> bool:
        if self.streaming:
            message = said_amid(message, self.streaming.id, self.streaming.partial())
        return await self.steering.add(message)

    def listening(self) -> AbstractAsyncContextManager[None]:
        return self.steering.listening()

    @property
    def waiting(self) -> Sequence[Message]:
        return self.steering.waiting

    def instruct(self, system_prompt: str) -> None:
        self.system_prompt = self.context.system_prompt = system_prompt

    def standing(self, model: str, window: int | None) -> UsageChanged | None:
        return self.context.standing(model, window) if self.transcript.messages else None

    async def _take_back(self, fault: ProviderRejected) -> None:
        """A picture that the model can't take, or a message that is too long, would be refused with every later
        request too: stop sending it."""
        if isinstance(fault, ContextTooLong) and not isinstance(fault, PromptTooLong):
            return
        refused = to_take_back(self.transcript.messages, fault)
        if refused and await self._rewind(refused):
            fault.message += " Your message was taken out of what the model is sent, so that you can go on."

    async def _rewind(self, prompt: Message) -> bool:
        try:
            await self.transcript.rewind(prompt.id)
        except (LedgerError, InvalidParams) as fault:
            log.warning("the prompt could not be taken back: %s", fault)
            return False
        return True

    async def _steps(self) -> StopReason:
        provider = await self.choose()
        self._check_effort(provider)
        runner = self.runner()
        for _ in range(self.max_steps):
            await self._check_budget()
            completed = await self._model_step_with_room(provider)
            if completed.message.tool_calls and completed.finish_reason not in ("length", "content_filter"):
                asked = await runner.run(completed.message.calls())
                said = self.steering.last_words() if asked else self.steering.take()
                if asked and not said:
                    await self.put(asked)
                    return "end_turn"
            elif completed.finish_reason == "content_filter" or not (said := self.steering.last_words()):
                return STOPS.get(completed.finish_reason, "end_turn")
            else:
                await self.close_open_calls("The answer ended before this call was complete.")
            await self.keep(*said)
        return "max_turn_requests"

    def _check_effort(self, provider: Provider) -> None:
        """Say once that the chosen effort is not one that this model has."""
        effort = self.effort()
        if effort and effort not in provider.card.efforts and self._untold != (provider.model, effort):
            self._untold = (provider.model, effort)
            known = ", ".join(provider.card.efforts) or "none"
            title = f"{provider.model} can't be set to the reasoning effort {effort!r} (it has: {known})"
            self.emit(Noticed("warning", title, "Its own default is used."))

    async def compact(self, focus: str | None = None) -> None:
        """Put the older part of the conversation into a summary now; see `Room.compact`. Raises BudgetSpent too."""
        provider = await self.choose()
        await self._check_budget()
        await self.room.compact(provider, focus)

    async def _check_budget(self) -> None:
        if self.budget:
            await self.budget.check()

    async def _model_step_with_room(self, provider: Provider) -> Completed:
        """A model step, compacted before the window is full; and once more without what the provider refused."""
        await self.room.make(provider)
        try:
            return await self._model_step(provider)
        except ContextTooLong as refusal:
            await self.room.make(provider, refusal)
            return await self._model_step(provider)
        except ProviderRejected:
            if not self._holds_old_media(provider):
                raise
            with self.context.media.left_out(provider):
                completed = await self._model_step(provider)
            self.emit(
                Noticed("warning", f"{provider.model} takes no pictures or sounds: it reads words in their place")
            )
            return completed

    def _holds_old_media(self, provider: Provider) -> bool:
        """Whether media that were there before may be what is refused. The user's new ones are taken back instead."""
        messages = self.transcript.messages
        return not any(map(holds, unanswered(messages))) and self.context.media.are_sent(provider, messages)

    async def _model_step(self, provider: Provider) -> Completed:
        answer = self.streaming = StreamingAnswer(self.transcript)
        try:
            await self.keep(*self.steering.take())
            completed = await self._stream(provider, answer)
        except (ProviderError, asyncio.CancelledError) as stop:
            await answer.settle()
            reason = "cancelled" if isinstance(stop, asyncio.CancelledError) else "error"
            if partial := answer.partial(reason):
                await self.keep(partial)
            raise
        finally:
            self.streaming = None
            answer.over.set()
        await answer.settle()
        message = await self.with_new_call_ids(completed.message)
        message = evolve(message, id=answer.id, finish_reason=completed.finish_reason)
        completed = evolve(completed, message=message)
        usage = provider.card.priced(completed.usage) if completed.usage else None
        await self.keep(message, usage=usage or Usage())
        self._check_said_something(completed)
        self.context.count(usage, provider)
        if self.budget:
            self.budget.count(usage, provider)
        return completed

    async def _stream(self, provider: Provider, answer: StreamingAnswer) -> Completed:
        async with aclosing(provider.stream(self.context.request(provider, self.effort()))) as events:
            async for event in events:
                if isinstance(event, Completed):
                    return event
                answer.add(event)
                if isinstance(event, TextDelta):
                    self.emit(TextChunk(answer.id, event.text))
                elif isinstance(event, ReasoningDelta):
                    self.emit(ThoughtChunk(thought_id(answer.id), event.text))
        raise BrokenStream("The model's answer ended before it was complete.")

    def _check_said_something(self, completed: Completed) -> None:
        message = completed.message
        if completed.finish_reason == "stop" and not message.text().strip() and not message.tool_calls:
            raise BrokenStream("The model ended its turn without an answer. Try again, or choose another model.")
