"""The Context: what the model is sent of a conversation, kept within its window."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from attrs import define, evolve, field

from acp_adapter.agent import compaction, trimming
from acp_adapter.agent.events import CompactionChanged, TurnEvent, UsageChanged
from acp_adapter.agent.sizes import Sizes
from acp_adapter.errors import AcpAdapterError, ContextTooLong, LedgerError, PromptTooLong
from acp_adapter.pairing import Pairing
from acp_adapter.providers.card import Effort
from acp_adapter.providers.content import encoded
from acp_adapter.providers.port import ModelRequest, Provider, ToolSpec
from acp_adapter.tools.port import Tool
from acp_adapter.tools.toolbox import suited_to
from acp_adapter.transcript import Message, Transcript, Usage, new_id

log = logging.getLogger(__name__)

ENOUGH = 0.1
"""Share of the window that trimming must free to be worth the loss of the provider's cache."""
GROWN = 0.1
"""Share of the window by which a conversation must grow before a summary that failed is tried again by itself."""


@define(eq=False)
class Context:
    """One conversation as its model sees it. The prefix of a request changes only when room is made.

    `cost` is what the session has cost so far, in US dollars; None where nobody knows.
    """

    transcript: Transcript
    system_prompt: str
    tools: Callable[[], Mapping[str, Tool]]
    emit: Callable[[TurnEvent], None]
    cost: float | None = None
    _sizes: Sizes = field(factory=Sizes, init=False)
    _pairing: Pairing = field(factory=Pairing, init=False)
    _counted: tuple[Message, int] | None = field(default=None, init=False)
    """The last message that a provider has counted, and its tokens with all before it."""
    _failed: tuple[int, int] | None = field(default=None, init=False)
    """Size and window at which a summary last failed."""

    def request(self, provider: Provider, effort: Effort | None = None) -> ModelRequest:
        """The next request: with the tools that suit the model, and the effort if it is one that the model has."""
        return ModelRequest(
            self.system_prompt,
            self._pairing.of(self.transcript.messages),
            self._specs(provider),
            effort=effort if effort in provider.card.efforts else None,
            session=self.transcript.session_id,
        )

    def count(self, usage: Usage | None, provider: Provider) -> None:
        """Take in what the provider counted for the last request and its answer, and tell the user."""
        if usage is None:
            return
        if usage.cost is not None:
            self.cost = (self.cost or 0.0) + usage.cost
        used = usage.input_tokens + usage.output_tokens
        *before, answer = self.transcript.messages
        self._counted = (answer, used)
        self._sizes.correct(before, self._beside(provider), usage.input_tokens)
        if window := provider.card.context_window:
            self.emit(UsageChanged(used, window, self.cost))

    def standing(self, window: int | None) -> UsageChanged | None:
        """How full the window is, about, before the model was asked anything; None where the window is not known."""
        size = self._sizes.of(self.transcript.messages) + self._sizes.text(self.system_prompt)
        return UsageChanged(size, window, self.cost) if window else None

    async def make_room(self, provider: Provider) -> None:
        """Leave out what is old, then summarise, if the window is nearly full.

        Raises PromptTooLong where the last message alone is too large, ContextTooLong where nothing helps.
        """
        window = provider.card.context_window
        if window is None or not compaction.is_full(self.size(provider), window):
            return
        if await self._trimmed(window) and not compaction.is_full(self.size(provider), window):
            return
        self._check_worth_trying(provider, window)
        try:
            await self.compact(provider)
        except ContextTooLong:
            self._failed = (self.size(provider), window)
            raise
        if compaction.is_full(self.size(provider), window):
            self._failed = (self.size(provider), window)
            raise ContextTooLong("The conversation does not fit the model's window, not even compacted.")

    async def compact(self, provider: Provider, focus: str | None = None) -> None:
        """Put the older part of the conversation into a summary.

        Raises ProviderError, ContextTooLong or LedgerError; the conversation is then as it was.
        """
        messages = self.transcript.messages
        at = compaction.split(messages, provider.card.context_window, self._sizes)
        compaction_id = new_id()
        self.emit(CompactionChanged(compaction_id, "in_progress"))
        try:
            summary = await compaction.summarise(provider, messages[:at], self._sizes, self.charge(provider), focus)
            await self.transcript.compress(evolve(summary, id=compaction_id), messages[at:])
        except BaseException as fault:
            reason = fault.message if isinstance(fault, AcpAdapterError) else "It was cancelled."
            self.emit(CompactionChanged(compaction_id, "failed", reason))
            raise
        self._counted = self._failed = None
        self.emit(CompactionChanged(compaction_id, "completed", summary.text()))

    def charge(self, provider: Provider) -> Callable[[Usage, str], Awaitable[None]]:
        """Counts a small call to that model with what the session costs."""

        async def charged(usage: Usage, task: str) -> None:
            if usage.cost is not None:
                self.cost = (self.cost or 0.0) + usage.cost
            await self.transcript.charge(usage, task=task, model=provider.model, provider=provider.name)

        return charged

    def size(self, provider: Provider) -> int:
        """Tokens that the next request will hold, about: what was counted last and what came since, or an estimate of
        all of it where that is more."""
        messages = self.transcript.messages
        estimated = self._sizes.of(messages) + self._beside(provider)
        if self._counted:
            message, used = self._counted
            since = next((at for at in range(len(messages) - 1, -1, -1) if messages[at] is message), None)
            if since is not None:
                return max(used + self._sizes.of(messages[since + 1 :]), estimated)
        return estimated

    async def _trimmed(self, window: int) -> bool:
        """Leave out old results and pictures, and cut what alone is too large; whether that freed enough."""
        messages = self.transcript.messages
        tail = compaction.tail_tokens(window)
        notes = trimming.oversized(messages, tail, self._sizes)
        with contextlib.suppress(ContextTooLong):
            notes |= trimming.old(messages, compaction.split(messages, window, self._sizes), self._sizes)
        freed = self._sizes.of([m for m in messages if m.id in notes]) - sum(map(self._sizes.text, notes.values()))
        if not notes or freed < window * ENOUGH:
            return False
        try:
            await self.transcript.trim(notes)
        except LedgerError as fault:
            log.warning("old results could not be left out: %s", fault)
            return False
        self._counted = None
        return True

    def _check_worth_trying(self, provider: Provider, window: int) -> None:
        """A message that is too large alone, and a summary that failed just now, are errors at once."""
        messages = self.transcript.messages
        last = self._sizes.of(messages[-1:])
        if messages and messages[-1].role == "user" and compaction.is_full(last, window):
            raise PromptTooLong(
                f"Your message is about {last:,} tokens, and the model's window holds {window:,}. Send less of it, "
                "or choose a model with a larger window."
            )
        if self._failed and self._failed[1] == window and self.size(provider) < self._failed[0] + window * GROWN:
            raise ContextTooLong(
                "The conversation does not fit the model's window, and a summary of it failed. Try `/compact`, choose "
                "a model with a larger window, or start a new session."
            )

    def _specs(self, provider: Provider) -> Sequence[ToolSpec]:
        suited = suited_to(provider.model, self.tools())
        return [ToolSpec(tool.name, tool.description, tool.parameters) for tool in suited.values()]

    def _beside(self, provider: Provider) -> int:
        """Tokens of what stands in a request beside the messages, about."""
        tools = encoded([spec.parameters for spec in self._specs(provider)])
        return self._sizes.text(self.system_prompt) + self._sizes.text(tools.decode("utf-8", "replace"))
