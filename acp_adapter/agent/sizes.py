"""How many tokens messages are, about: counted by their bytes, corrected by what the model's provider counts itself.

Four bytes of UTF-8 are taken for a token: right for English and code within a quarter, and near enough for scripts
whose characters take three bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import define, field

from acp_adapter.providers.content import Encoded, encoded, sent
from acp_adapter.transcript import Message

BYTES = 4
AROUND = 8
"""Tokens of a message beside its content."""
PICTURE = 1_000
"""Tokens of a picture or sound."""
MOST = 3.0
"""Bound of the correction: what lies beyond is an error of counting. It is never below 1, since some servers do not
count what came from their cache."""


@define(eq=False)
class Sizes:
    """Each message is looked at once, as long as it lives."""

    _known: Encoded[int] = field(factory=Encoded)
    _ratio: float = 1.0

    def of(self, messages: Iterable[Message]) -> int:
        return int(self._ratio * sum(map(self._estimate, messages)))

    def text(self, text: str) -> int:
        return int(self._ratio * (len(text.encode("utf-8", "replace")) // BYTES))

    def correct(self, messages: Sequence[Message], beside: int, counted: int) -> None:
        """A provider has counted a request of these messages and `beside` estimated tokens of other things."""
        estimated = sum(map(self._estimate, messages)) + beside
        if estimated and counted:
            self._ratio = min(max(counted / estimated, 1.0), MOST)

    def _estimate(self, message: Message) -> int:
        known = self._known.get(message)
        return known if known is not None else self._known.keep(message, _estimated(message))


def _estimated(message: Message) -> int:
    content = sent(message)
    if isinstance(content, list):
        texts: int = sum(_bytes(part["text"]) for part in content if part.get("type") == "text")
        size = texts // BYTES + PICTURE * len([part for part in content if part.get("type") != "text"])
    else:
        size = _bytes(content or "") // BYTES
    calls = len(encoded(message.tool_calls)) // BYTES if message.tool_calls else 0
    return size + calls + AROUND


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
