"""A message → its content blocks, in the order in which they were said. No I/O.

Thinking goes back where it came, exactly, with its signature: it is kept in `reasoning_details`, where `at` says how
many characters of text and how many calls came before it.

Form: Anthropic's Messages API; "Extended thinking", "Vision" and "Tool use" in its guides.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from acp_adapter.providers.content import arguments_of, media_of, name_of, sent, shown, text_of
from acp_adapter.transcript import Message, Part, ToolCall

SIGNED = "anthropic-claude-v1"
"""The `format` of entries of `reasoning_details` that hold Claude's thinking; OpenRouter calls it so too."""
CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")

Block = dict[str, Any]
Ids = Mapping[str, str]
"""The ids of a step's calls → those under which they are sent."""
NO_IDS: Ids = {}


def with_ids(messages: Sequence[Message]) -> Iterator[tuple[Message, Ids]]:
    """Each message, with the ids of the calls that it makes, or of the step that it answers.

    The API wants ids that no other call of the conversation has. Some models count anew in each step; a repeated id is
    sent as a digest that depends on its message alone, so that it stays the same.
    """
    taken: set[str] = set()
    ids: Ids = NO_IDS
    for message in messages:
        if message.tool_calls:
            ids = {known: _id(known, message, taken) for known in map(_known, message.tool_calls)}
            taken.update(ids.values())
        yield message, ids if message.tool_calls or message.role == "tool" else NO_IDS


def _known(raw: dict[str, Any]) -> str:
    """What `ToolCall.of(raw).id` is, without looking at the arguments."""
    return str(raw.get("id", ""))


def _id(known: str, message: Message, taken: set[str]) -> str:
    valid = call_id(known)
    return valid if valid not in taken else _digest(f"{message.id}/{known}")


def call_id(known: str) -> str:
    """An id in the form that the API takes; others are sent as a digest."""
    return known if CALL_ID.fullmatch(known) else _digest(known)


def _digest(text: str) -> str:
    return f"toolu_{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]}"


def blocks_of(message: Message, ids: Ids) -> list[Block]:
    """Empty for a message of nothing. The blocks depend on these two alone."""
    if message.role == "assistant":
        return _said(message, ids, _thinking(message))
    content = list(_user_blocks(sent(message)))
    return [_result(message, ids, content)] if message.role == "tool" else content


def unsigned_blocks(message: Message, ids: Ids) -> list[Block]:
    """The same without thinking."""
    return _said(message, ids, ()) if message.role == "assistant" else blocks_of(message, ids)


def told_blocks(message: Message, ids: Ids) -> list[Block]:
    """The same with pictures told of in words."""
    if message.role == "assistant":
        return blocks_of(message, ids)
    content = _text(text_of(sent(message)))
    return [_result(message, ids, content)] if message.role == "tool" else content


def _result(message: Message, ids: Ids, content: list[Block]) -> Block:
    known = message.tool_call_id or ""
    result: Block = {"type": "tool_result", "tool_use_id": ids.get(known) or call_id(known)}
    if content:
        result["content"] = content
    if (message.details or {}).get("status") == "failed":
        result["is_error"] = True
    return result


def _user_blocks(content: str | list[Part] | None) -> Iterator[Block]:
    """Pictures as they are, text between them in one block each; the API refuses a block of blanks."""
    if content is None or isinstance(content, str):
        yield from _text(content or "")
        return
    for is_picture, parts in groupby(content, key=lambda part: _picture(part) is not None):
        if is_picture:
            yield from filter(None, map(_picture, parts))
        else:
            yield from _text("".join(map(shown, parts)))


def _picture(part: Part) -> Block | None:
    media = media_of(part)
    if media and media.mime_type in IMAGES:
        source = {"type": "base64", "media_type": media.mime_type, "data": media.data}
        return {"type": "image", "source": source}
    url = (part.get("image_url") or {}).get("url", "") if part.get("type") == "image_url" else ""
    if media is None and str(url).startswith("https://"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    return None


def _text(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _said(message: Message, ids: Ids, thinking: Sequence[dict[str, Any]]) -> list[Block]:
    """Text, thinking and calls in the order in which they came."""
    text = text_of(sent(message))
    calls = [_call(raw, ids) for raw in message.tool_calls or ()]
    blocks: list[Block] = []
    spoken = called = 0
    for detail in thinking:
        characters, before = _place(detail)
        characters, before = max(spoken, characters), max(called, before)
        blocks += _text(text[spoken:characters]) + calls[called:before]
        spoken, called = characters, before
        blocks.append(_thought(detail))
    return blocks + _text(text[spoken:]) + calls[called:]


def _call(raw: dict[str, Any], ids: Ids) -> Block:
    call = ToolCall.of(raw)
    sent_id = ids.get(call.id) or call_id(call.id)
    return {"type": "tool_use", "id": sent_id, "name": name_of(call.name), "input": arguments_of(call)}


def _thinking(message: Message) -> list[dict[str, Any]]:
    """Claude's own among a message's details, in order; a thought without its signature is of no use."""
    own = [
        detail
        for detail in message.reasoning_details or ()
        if isinstance(detail, dict)
        and detail.get("format") == SIGNED
        and isinstance(detail.get("signature" if detail.get("type") == "reasoning.text" else "data"), str)
    ]
    return sorted(own, key=_index)


def _index(detail: dict[str, Any]) -> int:
    index = detail.get("index")
    return index if isinstance(index, int) else 0


def _thought(detail: dict[str, Any]) -> Block:
    if detail.get("type") == "reasoning.text":
        return {"type": "thinking", "thinking": detail.get("text") or "", "signature": detail["signature"]}
    return {"type": "redacted_thinking", "data": detail["data"]}


def _place(detail: dict[str, Any]) -> tuple[int, int]:
    """Characters and calls before it; what another program kept has no place, and stands first."""
    at = detail.get("at")
    if isinstance(at, list) and len(at) == 2 and all(isinstance(number, int) for number in at):
        return at[0], at[1]
    return 0, 0
