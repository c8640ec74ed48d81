"""ModelRequest → the body of a Messages request, as bytes. No I/O.

Each message becomes its blocks once, and while it lives they are kept: the next request of a long conversation costs
little more than joining them. Messages of one side that follow each other are one turn, since sides must alternate and
all results of a step must stand together at the beginning of the next.

Thinking goes back where it came, exactly, with its signature: it is kept in `reasoning_details`, where `at` says how
many characters of text and how many calls came before it.

Tools, system and messages come first and hold no markers that move, so that each request begins with the bytes of the
one before; what is to be cached is said once for the system prompt, and at the end for all of it.

Form: Anthropic's Messages API, `POST /v1/messages`; "Extended thinking", "Prompt caching" and "Tool use" in its guides.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from attrs import define, field, frozen

from acp_adapter.providers.anthropic import thinking
from acp_adapter.providers.content import Encoded, arguments_of, encoded, media_of, name_of, sent, shown, text_of
from acp_adapter.providers.port import ModelRequest
from acp_adapter.transcript import Message, Part, ToolCall

SIGNED = "anthropic-claude-v1"
"""The `format` of entries of `reasoning_details` that hold Claude's thinking; OpenRouter calls it so too."""
CACHED = {"cache_control": {"type": "ephemeral"}}
MAX_TOKENS = 32_000
"""Of an answer, where neither the caller nor the model's card says how many."""
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MEDIA = re.compile(r"image|document|pdf|media", re.I)
"""In complaints about what a prompt holds beside text."""
FIRST = [{"type": "text", "text": "[The conversation so far begins with the assistant.]"}]

Block = dict[str, Any]


@frozen
class _Turn:
    """A message's blocks, joined by commas; `thinks` is whether thinking stands before its calls, or it has none."""

    role: str
    blocks: bytes
    thinks: bool


@define(eq=False)
class MessagesEncoder:
    """Encodes the requests of one model, and remembers what its server has refused: see `adapt`."""

    model: str
    max_output: int | None = None
    _thinking: thinking.Form = field(init=False)
    _off_is_silent: bool = False
    _effort: bool = True
    _caches: bool = True
    _kept: Encoded[_Turn] = field(factory=Encoded, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._thinking = thinking.form_of(self.model)

    def adapt(self, complaint: str, request: ModelRequest) -> bool:
        """Encode differently from now on, if that answers a server's complaint about this request."""
        if most := re.search(r"max_tokens: (\d+) > (\d+)", complaint):
            changed = int(most[2]) != self.max_output
            self.max_output = int(most[2])
            return changed
        if re.search(r"signature|thinking.{0,40}block", complaint, re.I):
            return self._again(request, lambda message: _assistant_blocks(message, signed=False), {"assistant"})
        if re.search(r"effort|output_config", complaint) and self._effort:
            self._effort = False
        elif "thinking" in complaint:
            return self._think_differently(request)
        elif "cache_control" in complaint and self._caches:
            self._caches = False
        else:
            return bool(MEDIA.search(complaint)) and self._again(request, _told_blocks, {"user", "system", "tool"})
        return True

    def body(self, request: ModelRequest) -> bytes:
        """The whole body, its end the only part that differs from request to request of a conversation."""
        turns = list(self._turns(request.messages))
        first: dict[str, Any] = {"model": self.model, "stream": True}
        if request.tools:
            first["tools"] = [
                {"name": name_of(tool.name), "description": tool.description, "input_schema": tool.parameters}
                for tool in request.tools
            ]
        if request.system:
            first["system"] = [{"type": "text", "text": request.system, **(CACHED if self._caches else {})}]
        messages = b",".join(b'{"role":"%b","content":[%b]}' % (role.encode(), blocks) for role, blocks in turns)
        return encoded(first)[:-1] + b',"messages":[%b],' % messages + encoded(self._last(request))[1:]

    def _last(self, request: ModelRequest) -> dict[str, Any]:
        most = min(request.max_tokens or MAX_TOKENS, self.max_output or MAX_TOKENS)
        if request.max_tokens is None and self.max_output:
            most = self.max_output
        form = "none" if self._thinking == "budget" and self._is_unsigned(request.messages) else self._thinking
        settings = thinking.settings_of(form, request.effort, most)
        if not self._effort:
            settings.pop("output_config", None)
        if self._off_is_silent and request.effort == "off":
            settings.pop("thinking", None)
        return {"max_tokens": most, **settings, **(CACHED if self._caches else {})}

    def _turns(self, messages: Sequence[Message]) -> Iterator[tuple[str, bytes]]:
        turns = [turn for turn in map(self._turn, messages) if turn.blocks]
        if turns and turns[0].role == "assistant":
            yield "user", encoded(FIRST)[1:-1]
        for role, same in groupby(turns, key=lambda turn: turn.role):
            yield role, b",".join(turn.blocks for turn in same)

    def _turn(self, message: Message) -> _Turn:
        return self._kept.get(message) or self._keep(message, _blocks(message))

    def _keep(self, message: Message, blocks: list[Block]) -> _Turn:
        role = "assistant" if message.role == "assistant" else "user"
        thinks = not message.tool_calls or (bool(blocks) and blocks[0]["type"] in ("thinking", "redacted_thinking"))
        return self._kept.keep(message, _Turn(role, encoded(blocks)[1:-1], thinks))

    def _is_unsigned(self, messages: Sequence[Message]) -> bool:
        """Whether a step of the current turn calls tools without thinking before it, as another model's do: such a
        turn can't go on with a budget for thinking."""
        for message in reversed(messages):
            if message.role == "user":
                return False
            if message.role == "assistant" and not self._turn(message).thinks:
                return True
        return False

    def _think_differently(self, request: ModelRequest) -> bool:
        """Nothing said in place of `disabled`; then the other form; then nothing said about thinking at all."""
        if request.effort == "off" and not self._off_is_silent:
            self._off_is_silent = True
        elif self._thinking == "none":
            return False
        else:
            known = thinking.form_of(self.model)
            other: thinking.Form = "budget" if known == "adaptive" else "adaptive"
            self._thinking = other if self._thinking == known else "none"
        return True

    def _again(self, request: ModelRequest, blocks: Any, roles: set[str]) -> bool:
        """Encode the messages of these roles anew; whether that changed any."""
        changed = False
        for message in request.messages:
            if message.role in roles:
                before = self._kept.get(message)
                changed = self._keep(message, blocks(message)) != before or changed
        return changed


def call_id(known: str) -> str:
    """An id in the form that the API takes; others are sent as a digest."""
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", known):
        return known
    return f"toolu_{hashlib.sha256(known.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _blocks(message: Message) -> list[Block]:
    if message.role == "assistant":
        return _assistant_blocks(message)
    content = list(_user_blocks(sent(message)))
    return [_result(message, content)] if message.role == "tool" else content


def _told_blocks(message: Message) -> list[Block]:
    """A message whose pictures are told of in words."""
    content = _text(text_of(sent(message)))
    return [_result(message, content)] if message.role == "tool" else content


def _result(message: Message, content: list[Block]) -> Block:
    result: Block = {"type": "tool_result", "tool_use_id": call_id(message.tool_call_id or "")}
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


def _assistant_blocks(message: Message, signed: bool = True) -> list[Block]:
    """Text, thinking and calls in the order in which they came."""
    text = text_of(sent(message))
    calls = [_call(raw) for raw in message.tool_calls or ()]
    blocks: list[Block] = []
    spoken = called = 0
    for detail in _thinking(message) if signed else ():
        characters, before = _place(detail)
        characters, before = max(spoken, characters), max(called, before)
        blocks += _text(text[spoken:characters]) + calls[called:before]
        spoken, called = characters, before
        blocks.append(_thought(detail))
    return blocks + _text(text[spoken:]) + calls[called:]


def _call(raw: dict[str, Any]) -> Block:
    call = ToolCall.of(raw)
    return {"type": "tool_use", "id": call_id(call.id), "name": name_of(call.name), "input": arguments_of(call)}


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
