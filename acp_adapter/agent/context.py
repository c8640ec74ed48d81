"""The Context: what the model is sent of a conversation, and how much of its window that takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from attrs import define, field

from acp_adapter.agent.events import TurnEvent, UsageChanged
from acp_adapter.agent.media import Media
from acp_adapter.agent.sizes import Sizes, estimated
from acp_adapter.pairing import Pairing
from acp_adapter.providers.card import Effort
from acp_adapter.providers.content import encoded
from acp_adapter.providers.port import ModelRequest, Provider, ToolSpec
from acp_adapter.tools.port import Tool
from acp_adapter.tools.toolbox import suited_to
from acp_adapter.transcript import Message, Transcript, Usage


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
    sizes: Sizes = field(factory=Sizes, init=False)
    media: Media = field(factory=Media, init=False)
    _pairing: Pairing = field(factory=Pairing, init=False)
    _counted: tuple[Message, int] | None = field(default=None, init=False)
    """The last message that a provider has counted, and its tokens with all before it."""
    _described: tuple[Sequence[ToolSpec], int] = field(default=((), 0), init=False)
    """The tools as they were last described, and how many tokens that takes."""

    def request(self, provider: Provider, effort: Effort | None = None) -> ModelRequest:
        """The next request: with the tools that suit the model, and the effort if it is one that the model has."""
        return ModelRequest(
            self.system_prompt,
            self.media.suited_to(provider, self._pairing.of(self.transcript.messages)),
            self._specs(provider.model),
            effort=effort if effort in provider.card.efforts else None,
            session=self.transcript.session_id,
        )

    def count(self, usage: Usage | None, provider: Provider) -> None:
        """Take in what the provider counted for the last request and its answer, and tell the user."""
        if usage is None:
            return
        self.spend(usage.cost)
        used = usage.input_tokens + usage.output_tokens
        messages = self.transcript.messages
        self._counted = (messages[-1], used)
        self.sizes.correct(messages, len(messages) - 1, self._beside(provider.model), usage.input_tokens)
        self._tell(used, provider)

    def spend(self, cost: float | None) -> None:
        """Add to what the session has cost; None is what nobody knows."""
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    def made_shorter(self, provider: Provider) -> None:
        """The conversation is another now: what was counted holds no longer."""
        self._counted = None
        self._tell(self.size(provider), provider)

    def standing(self, model: str, window: int | None) -> UsageChanged | None:
        """How full that model's window is, about, without asking it; None where the window is not known."""
        return UsageChanged(self._size(model), window, self.cost) if window else None

    def charge(self, provider: Provider) -> Callable[[Usage, str], Awaitable[None]]:
        """Counts a small call to that model with what the session costs."""

        async def charged(usage: Usage, task: str) -> None:
            self.spend(usage.cost)
            await self.transcript.charge(usage, task=task, model=provider.model, provider=provider.name)

        return charged

    def size(self, provider: Provider) -> int:
        """Tokens that the next request will hold, about: what was counted last and what came since, or an estimate of
        all of it where that is more."""
        return self._size(provider.model)

    def _size(self, model: str) -> int:
        messages = self.transcript.messages
        everything = self.sizes.between(messages, 0, len(messages)) + self.sizes.corrected(self._beside(model))
        if self._counted:
            message, used = self._counted
            since = next((at for at in range(len(messages) - 1, -1, -1) if messages[at] is message), None)
            if since is not None:
                return max(used + self.sizes.between(messages, since + 1, len(messages)), everything)
        return everything

    def beside(self, provider: Provider) -> int:
        """Tokens of what stands in a request beside the messages, about."""
        return self.sizes.corrected(self._beside(provider.model))

    def _beside(self, model: str) -> int:
        specs, tokens = self._described
        if (described := self._specs(model)) != specs:
            words = [[spec.name, spec.description, spec.parameters] for spec in described]
            tokens = estimated(encoded(words).decode())
            self._described = described, tokens
        return estimated(self.system_prompt) + tokens

    def _specs(self, model: str) -> Sequence[ToolSpec]:
        suited = suited_to(model, self.tools())
        return [ToolSpec(tool.name, tool.description, tool.parameters) for tool in suited.values()]

    def _tell(self, used: int, provider: Provider) -> None:
        if window := provider.card.context_window:
            self.emit(UsageChanged(used, window, self.cost))
