"""The Context: what the model is sent of a conversation, kept within its window."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define, evolve, field

from acp_adapter.agent import compaction
from acp_adapter.agent.events import CompactionChanged, TurnEvent, UsageChanged
from acp_adapter.errors import AcpAdapterError, ContextTooLong
from acp_adapter.pairing import paired
from acp_adapter.providers.card import Effort
from acp_adapter.providers.port import ModelRequest, Provider, ToolSpec
from acp_adapter.tools.port import Tool
from acp_adapter.tools.toolbox import suited_to
from acp_adapter.transcript import Transcript, Usage, new_id


@define(eq=False)
class Context:
    """One conversation as its model sees it. The prefix of a request never changes but by compaction.

    `cost` is what the session has cost so far, in US dollars; None where nobody knows.
    """

    transcript: Transcript
    system_prompt: str
    tools: Callable[[], Mapping[str, Tool]]
    emit: Callable[[TurnEvent], None]
    cost: float | None = None
    _used: int = field(default=0, init=False)

    def request(self, provider: Provider, effort: Effort | None = None) -> ModelRequest:
        """The next request: with the tools that suit the model, and the effort if it is one that the model has."""
        suited = suited_to(provider.model, self.tools())
        specs = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in suited.values()]
        known = effort if effort in provider.card.efforts else None
        return ModelRequest(
            self.system_prompt,
            paired(self.transcript.messages),
            specs,
            effort=known,
            session=self.transcript.session_id,
        )

    def count(self, usage: Usage | None, window: int | None) -> None:
        """Take in what the provider counted for the last request and its answer, and tell the user."""
        if usage is None:
            return
        if usage.cost is not None:
            self.cost = (self.cost or 0.0) + usage.cost
        self._used = usage.input_tokens + usage.output_tokens
        if window:
            self.emit(UsageChanged(self._used, window, self.cost))

    def standing(self, window: int | None) -> UsageChanged | None:
        """How full the window is, about, before the model was asked anything; None where the window is not known."""
        return UsageChanged(self._size(), window, self.cost) if window else None

    async def make_room(self, provider: Provider) -> None:
        """Compact if the window is nearly full. Raises ContextTooLong where that does not help."""
        if compaction.is_full(self._size(), provider.card.context_window):
            await self.compact(provider)
            if compaction.is_full(self._size(), provider.card.context_window):
                raise ContextTooLong("The conversation does not fit the model's window, not even compacted.")

    async def compact(self, provider: Provider, focus: str | None = None) -> None:
        """Put the older part of the conversation into a summary.

        Raises ProviderError, ContextTooLong or LedgerError; the conversation is then as it was.
        """
        messages = self.transcript.messages
        at = compaction.split(messages, provider.card.context_window)
        compaction_id = new_id()
        self.emit(CompactionChanged(compaction_id, "in_progress"))
        try:
            summary = evolve(await compaction.summarise(provider, messages[:at], focus), id=compaction_id)
            await self.transcript.compress(summary, messages[at:])
        except BaseException as fault:
            reason = fault.message if isinstance(fault, AcpAdapterError) else "It was cancelled."
            self.emit(CompactionChanged(compaction_id, "failed", reason))
            raise
        self._used = 0
        self.emit(CompactionChanged(compaction_id, "completed", summary.text()))

    def _size(self) -> int:
        """Tokens that the next request will hold, about: what was counted last, or what can be estimated."""
        return max(self._used, compaction.tokens(self.transcript.messages) + len(self.system_prompt) // 4)
