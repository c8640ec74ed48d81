"""ModelCard: what is known of a model before it is asked anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import asdict, evolve, field, frozen

from acp_adapter.transcript import Usage

Effort = Literal["off", "low", "medium", "high"]
"""How much a model reasons before it answers. Every API has words of its own for it; these are ours."""

MILLION = 1_000_000


@frozen
class Price:
    """US dollars for a million tokens. A cache price of None: as dear as other input.

    `above` are other prices for prompts of more tokens than the key; the whole call has the price of its prompt's size.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    above: Mapping[int, Price] = field(factory=dict)

    def of(self, usage: Usage) -> float:
        """What such a call costs. `usage.input_tokens` holds what was read from and written to the cache."""
        tiers = [tokens for tokens in self.above if usage.input_tokens > tokens]
        return self.above[max(tiers)]._of(usage) if tiers else self._of(usage)

    def _of(self, usage: Usage) -> float:
        plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        dollars = max(plain, 0) * self.input + usage.output_tokens * self.output
        return (dollars + usage.cache_read_tokens * read + usage.cache_write_tokens * write) / MILLION


FREE = Price(0.0, 0.0)
"""What a model costs that runs on a machine of one's own."""


@frozen
class ModelCard:
    """None where nobody knows: then nothing is refused for it, and the server has the last word.

    `context_window` and `max_output` are in tokens; `images` and `audio` say what a prompt may hold; `reasons` whether
    it thinks before it answers, and `efforts` how much it can be told to, none where it can't be told.
    """

    context_window: int | None = None
    max_output: int | None = None
    images: bool | None = None
    audio: bool | None = None
    efforts: tuple[Effort, ...] = ()
    price: Price | None = None
    reasons: bool | None = None

    def filled(self, other: ModelCard) -> ModelCard:
        """This card, with what it does not know taken from the other."""
        known = asdict(self, recurse=False)
        return evolve(other, **{name: value for name, value in known.items() if value is not None and value != ()})

    def priced(self, usage: Usage) -> Usage:
        """The usage with its cost, which the provider's own word goes before."""
        if usage.cost is not None or self.price is None:
            return usage
        return evolve(usage, cost=self.price.of(usage))


@frozen
class Listed:
    """A model that a server has, with what the server itself tells of it."""

    id: str
    card: ModelCard = ModelCard()
    name: str | None = None
