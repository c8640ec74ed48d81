"""What is left out first when a window gets full: old results of tools, old pictures, and what alone is too large.

In what the model is sent a short note stands in their place, which tells how to get them back. The ledger keeps all of
it, and so does what people are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_adapter.agent.sizes import Sizes
from acp_adapter.providers.content import MEDIA_PARTS, media_of, sent, shown, text_of
from acp_adapter.transcript import Message, Part

WORTH = 300
"""Tokens from which on a result is worth a note in its place, and that a result keeps which is cut."""


def old(messages: Sequence[Message], sizes: Sizes) -> dict[str, str]:
    """Notes for the results and pictures among messages that are old: message id → what is sent instead."""
    return {message.id: note for message in messages for note in _note(message, sizes)}


def beginnings(messages: Sequence[Message], most: int, sizes: Sizes) -> dict[str, str]:
    """Only the beginnings of the largest results, so that all these messages together are at most so many tokens."""
    results = sorted((m for m in messages if m.role == "tool"), key=lambda m: sizes.of([m]), reverse=True)
    tokens = [sizes.of([result]) for result in results]
    level = max(_level(tokens, most - (sizes.of(messages) - sum(tokens))), WORTH)
    return {m.id: _beginning(m, level / size) for m, size in zip(results, tokens, strict=True) if size > level}


def _level(tokens: Sequence[int], most: int) -> int:
    """The size to which all larger ones must be cut, so that together they are at most `most`; largest first."""
    uncut, level = sum(tokens), most
    for n, size in enumerate(tokens, 1):
        uncut -= size
        level = (most - uncut) // n
        if n == len(tokens) or level >= tokens[n]:
            break
    return level


def _note(message: Message, sizes: Sizes) -> Iterator[str]:
    content = sent(message)
    if message.role == "tool" and sizes.of([message]) > WORTH:
        size = len(text_of(message.content))
        yield f"[The result of {_tool(message)} ({size:,} characters) was left out to save room. {_how(message)}]"
    elif isinstance(content, list) and any(part.get("type") in MEDIA_PARTS for part in content):
        yield "\n".join(map(_in_words, content))


def _in_words(part: Part) -> str:
    if part.get("type") not in MEDIA_PARTS:
        return shown(part)
    media = media_of(part)
    kind = f" ({media.mime_type})" if media else ""
    return f"[What was attached here{kind} was left out to save room. The user can attach it again.]"


def _beginning(message: Message, share: float) -> str:
    """That share of what is sent of the result now."""
    text = text_of(message.content)
    kept = text[: int(len(text_of(sent(message))) * share)]
    left = len(text) - len(kept)
    return f"{kept}\n[… {left:,} more characters of {_tool(message)} do not fit the window. {_how(message)}]"


def _tool(message: Message) -> str:
    return message.tool_name or "a tool"


def _how(message: Message) -> str:
    return f'`recall` with message "{message.id[:8]}" brings it back.'
