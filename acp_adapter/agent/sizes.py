"""How many tokens messages are, about: counted by their bytes, corrected by what the model's provider counts itself.

Four bytes of UTF-8 are taken for a token, three where most characters have three: right for English and code within a
quarter, and about a token for each character of Chinese, Japanese and Korean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import define, field

from acp_adapter.providers.content import MEDIA_PARTS, Encoded, encoded, sent, shown
from acp_adapter.transcript import Message, common_beginning

BYTES = 4
BYTES_OF_WIDE = 3
AROUND = 8
"""Tokens of a message beside its content."""
PICTURE = 1_000
"""Tokens of a picture or sound."""
MOST = 3.0
"""Bound of the correction: what lies beyond is an error of counting. It is never below 1, since some servers do not
count what came from their cache."""


def estimated(text: str) -> int:
    """Tokens of a text, uncorrected."""
    size = _bytes(text)
    return size // (BYTES_OF_WIDE if size > 2 * len(text) else BYTES)


@define(eq=False)
class Sizes:
    """The sizes in one conversation, all corrected. Each message is looked at once, as long as it lives."""

    _known: Encoded[int] = field(factory=Encoded)
    _totals: Totals = field(init=False)
    _ratio: float = 1.0

    def __attrs_post_init__(self) -> None:
        self._totals = Totals(self._estimate)

    def of(self, messages: Iterable[Message]) -> int:
        return self.corrected(sum(map(self._estimate, messages)))

    def between(self, conversation: Sequence[Message], start: int, end: int) -> int:
        """The same as `of(conversation[start:end])`; what has been added up once is not added up again."""
        totals = self._totals.of(conversation)
        return self.corrected(totals[end] - totals[start])

    def text(self, text: str) -> int:
        return self.corrected(estimated(text))

    def corrected(self, tokens: int) -> int:
        return int(self._ratio * tokens)

    def correct(self, conversation: Sequence[Message], end: int, beside: int, counted: int) -> None:
        """A provider has counted a request: the messages before `end`, with so many uncorrected tokens beside them."""
        tokens = self._totals.of(conversation)[end] + beside
        if tokens and counted:
            self._ratio = min(max(counted / tokens, 1.0), MOST)

    def _estimate(self, message: Message) -> int:
        known = self._known.get(message)
        return known if known is not None else self._known.keep(message, _of_message(message))


@define(eq=False)
class Totals:
    """Running totals over a conversation that grows: of what stayed the same nothing is added up again."""

    size: Callable[[Message], int]
    _seen: list[Message] = field(factory=list)
    _totals: list[int] = field(factory=lambda: [0])

    def of(self, messages: Sequence[Message]) -> list[int]:
        """At n: the size of the first n messages."""
        same = common_beginning(self._seen, messages)
        del self._seen[same:], self._totals[same + 1 :]
        for message in messages[same:]:
            self._seen.append(message)
            self._totals.append(self._totals[-1] + self.size(message))
        return self._totals


def _of_message(message: Message) -> int:
    content = sent(message)
    if isinstance(content, list):
        size = sum(PICTURE if part.get("type") in MEDIA_PARTS else estimated(shown(part)) for part in content)
    else:
        size = estimated(content or "")
    calls = estimated(encoded(message.tool_calls).decode()) if message.tool_calls else 0
    return size + calls + AROUND


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
