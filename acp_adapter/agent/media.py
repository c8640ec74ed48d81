"""Pictures, sounds and files in a conversation whose model does not take them: it reads words in their place.

The ledger keeps them, people are shown them, and another model is sent them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from attrs import define, evolve, field

from acp_adapter.errors import PromptTooLong, ProviderRejected
from acp_adapter.providers.content import MEDIA_PARTS, Encoded, media_of, sent
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Message, Part

Kinds = frozenset[str]


@define(eq=False)
class Media:
    """The media of one conversation. The same message gives the same object each time: much is kept by that."""

    _refusing: set[str] = field(factory=set)
    """Models that refused a request for its media, whatever is known of them."""
    _told: dict[Kinds, Encoded[Message]] = field(factory=dict)

    def suited_to(self, provider: Provider, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as that model is sent them."""
        kinds = self._not_for(provider)
        return [self._in_words(message, kinds) for message in messages] if kinds else messages

    def are_sent(self, provider: Provider, messages: Sequence[Message]) -> bool:
        """Whether that model is sent any."""
        kinds = MEDIA_PARTS - self._not_for(provider)
        return any(holds(message, kinds) for message in messages)

    @contextmanager
    def left_out(self, provider: Provider) -> Iterator[None]:
        """Send that model none from now on, unless the request is refused all the same."""
        self._refusing.add(_name(provider))
        try:
            yield
        except BaseException:
            self._refusing.discard(_name(provider))
            raise

    def _not_for(self, provider: Provider) -> Kinds:
        if _name(provider) in self._refusing:
            return frozenset(MEDIA_PARTS)
        known = {"image_url": provider.card.images, "input_audio": provider.card.audio}
        return frozenset(kind for kind, taken in known.items() if taken is False)

    def _in_words(self, message: Message, kinds: Kinds) -> Message:
        if not holds(message, kinds):
            return message
        told = self._told.setdefault(kinds, Encoded())
        words = [_words(part) if part.get("type") in kinds else part for part in _parts(message)]
        return told.get(message) or told.keep(message, evolve(message, api_content=words))


def holds(message: Message, kinds: frozenset[str] | set[str] = MEDIA_PARTS) -> bool:
    """Whether a model is sent media of these kinds with the message."""
    return any(part.get("type") in kinds for part in _parts(message))


def unanswered(messages: Sequence[Message]) -> Sequence[Message]:
    """What the user said since the model last spoke or called."""
    answered = next((at for at in range(len(messages), 0, -1) if messages[at - 1].role != "user"), 0)
    return messages[answered:]


def to_take_back(messages: Sequence[Message], fault: ProviderRejected) -> Message | None:
    """The message that would be refused with every later request too, or the first of them."""
    new = unanswered(messages)
    if isinstance(fault, PromptTooLong):
        return new[-1] if new else None
    return next(filter(holds, new), None)


def _parts(message: Message) -> Sequence[Part]:
    content = sent(message)
    return content if isinstance(content, list) else ()


def _words(part: Part) -> Part:
    media = media_of(part)
    kind = f" ({media.mime_type})" if media else ""
    return {"type": "text", "text": f"[What was attached here{kind} is of a kind that this model does not take.]"}


def _name(provider: Provider) -> str:
    return f"{provider.name}:{provider.model}"
