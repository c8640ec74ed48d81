"""OwnAgent: stands in a session for an agent that somebody else wrote. See `acp_adapter.own` for what that one sees."""

from __future__ import annotations

import asyncio
import logging

from attrs import define, field

from acp_adapter.agent.base import Agent, StopReason
from acp_adapter.agent.budget import Budget
from acp_adapter.agent.events import UsageChanged
from acp_adapter.agent.scribe import UNFINISHED, TurnScribe
from acp_adapter.errors import AcpAdapterError, AgentFailed, in_words
from acp_adapter.own.author import Author
from acp_adapter.own.said import Usage
from acp_adapter.own.turn import Agent as Function
from acp_adapter.own.turn import Turn
from acp_adapter.transcript import Message

log = logging.getLogger(__name__)


@define(eq=False)
class OwnAgent(Agent):
    """`function` answers each turn, `author` runs it, `name` is what the user calls it."""

    function: Function
    author: Author
    name: str
    budget: Budget | None = None
    cost: float | None = None
    _window: Usage | None = field(default=None, init=False)

    async def run_turn(self, prompt: Message) -> StopReason:
        """Raises AgentFailed for whatever the author's code raises."""
        self._warned = False
        await self.keep(prompt)
        scribe, ended = TurnScribe(self, self._spent), "error"
        try:
            if self.budget:
                await self.budget.check()
            await self._answer(scribe)
            ended = "stop"
        except asyncio.CancelledError:
            ended = "cancelled"
            raise
        finally:
            await scribe.close(ended)
            await self.close_open_calls(UNFINISHED)
        if scribe.questions:
            await self.put(scribe.questions)
        return "end_turn"

    def standing(self, model: str, window: int | None) -> UsageChanged | None:
        """As the last model call left it; None before one."""
        last = self._window
        if last is None or not last.context_window:
            return None
        return UsageChanged(last.input_tokens + last.output_tokens, last.context_window, self.cost)

    async def _answer(self, scribe: TurnScribe) -> None:
        where = self.workspace
        turn = Turn(scribe, self.transcript.session_id, where.cwd, self.transcript.messages, self.tools)
        try:
            await self.author.answer(self.function, turn, scribe.stop)
        except (AcpAdapterError, asyncio.CancelledError):
            raise
        except BaseException as fault:
            log.error("%s failed", self.name, exc_info=fault)
            told = where.redactor.text(in_words(fault))
            raise AgentFailed(f"The agent {self.name} failed: {told} (the log has the traceback).") from fault

    def _spent(self, usage: Usage) -> None:
        if usage.cost is not None:
            self.cost = (self.cost or 0.0) + usage.cost
        if usage.context_window:
            self._window = usage
        if standing := self.standing("", None):
            self.emit(standing)
