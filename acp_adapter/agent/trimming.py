"""What is left out first when a window gets full: old results of tools, old pictures, and what alone is too large.

In what the model is sent a short note stands in their place, which tells how to get them back. The ledger keeps all of
it, and so does what people are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_adapter.agent.sizes import Sizes
from acp_adapter.providers.content import sent, text_of
from acp_adapter.transcript import Message

WORTH = 300
"""Tokens from which on a result is worth a note in its place."""
KEPT = 2_000
"""Characters of the beginning of a result that is cut because it alone is too large."""


def old(messages: Sequence[Message], before: int, sizes: Sizes) -> dict[str, str]:
    """Notes for the results and pictures before that position: message id → what is sent instead."""
    return {message.id: note for message in messages[:before] for note in _note(message, sizes)}


def oversized(messages: Sequence[Message], most: int, sizes: Sizes) -> dict[str, str]:
    """The beginnings of those results that alone are more than `most` tokens."""
    return {
        message.id: _beginning(message)
        for message in messages
        if message.role == "tool" and sizes.of([message]) > max(most, WORTH)
    }


def _note(message: Message, sizes: Sizes) -> Iterator[str]:
    content = sent(message)
    if message.role == "tool" and sizes.of([message]) > WORTH:
        yield f"[This result ({len(text_of(content)):,} characters) was left out to save room. {_how(message)}]"
    elif isinstance(content, list) and any(part.get("type") in ("image_url", "input_audio") for part in content):
        words = text_of([part for part in content if part.get("type") not in ("image_url", "input_audio")])
        yield f"{words}\n[What was attached here was left out to save room. {_how(message)}]".lstrip()


def _beginning(message: Message) -> str:
    text = text_of(sent(message))
    return f"{text[:KEPT]}\n[… {len(text) - KEPT:,} more characters do not fit the window. {_how(message)}]"


def _how(message: Message) -> str:
    return f'`recall` with message "{message.id[:8]}" brings it back.'
