"""ModelRequest → the body of a request to Ollama's `/api/chat`, as bytes. No I/O.

Each message is encoded once: while it lives its bytes are kept, so that the next request of a long conversation costs
little more than joining them, and begins with the same bytes.

Form: `ChatRequest` in Ollama's API (docs/api.md, api/types.go).
"""

from __future__ import annotations

import re
from typing import Any, Literal

from attrs import define, field, frozen

from acp_adapter.providers.card import Effort
from acp_adapter.providers.content import (
    Encoded,
    arguments_of,
    encoded,
    media_of,
    name_of,
    sent,
    shown,
    text_of,
    with_names,
)
from acp_adapter.providers.port import ModelRequest
from acp_adapter.transcript import Message, Part, ToolCall

MEDIA = re.compile(r"image|vision|visual|multi-?modal|mmproj", re.I)
"""In complaints about models that take text only."""

Think = Literal["level", "switch", "none"]


def has_only_levels(model: str) -> bool:
    """GPT-OSS always thinks, only more or less."""
    return "gpt-oss" in model


@frozen
class _Said:
    """A message's bytes; `name` is that of the call which it answers."""

    wire: bytes
    name: str


@define(eq=False)
class OllamaEncoder:
    """Encodes the requests of one model, and remembers what its server has refused: see `adapt`."""

    model: str
    _think: Think = "level"
    _kept: Encoded[_Said] = field(factory=Encoded, init=False, repr=False)

    def adapt(self, complaint: str, request: ModelRequest) -> bool:
        """Encode differently from now on, if that answers a server's complaint about this request."""
        if self._think != "none" and "does not support thinking" in complaint:
            self._think = "none"
            return True
        if self._think == "level" and re.search(r"think(ing)?( value| must be)", complaint):
            self._think = "switch"
            return True
        return bool(MEDIA.search(complaint)) and self._without_media(request)

    def body(self, request: ModelRequest, window: int | None) -> bytes:
        """The whole body. `window` is in tokens; a prompt that is larger is refused and not cut, which would lose the
        conversation's beginning without a word."""
        messages = [encoded({"role": "system", "content": request.system})] if request.system else []
        messages += filter(None, (self._said(*each).wire for each in with_names(request.messages)))
        rest: dict[str, Any] = {"stream": True, "truncate": False, "shift": False}
        if options := _options(window, request.max_tokens):
            rest["options"] = options
        think = self._thinking(request.effort)
        if think is not None:
            rest["think"] = think
        if request.tools:
            rest["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        return b'{"model":%b,"messages":[%b],%b' % (encoded(self.model), b",".join(messages), encoded(rest)[1:])

    def _thinking(self, effort: Effort | None) -> str | bool | None:
        if effort is None or self._think == "none":
            return None
        if effort == "off":
            return "low" if has_only_levels(self.model) else False
        return effort if self._think == "level" else True

    def _said(self, message: Message, name: str) -> _Said:
        kept = self._kept.get(message)
        if kept is not None and kept.name == name:
            return kept
        if message.role == "tool":
            return self._keep(message, _result(message, name), name)
        return self._keep(message, _wire(message, sent(message)))

    def _keep(self, message: Message, wire: dict[str, Any] | None, name: str = "") -> _Said:
        return self._kept.keep(message, _Said(encoded(wire) if wire else b"", name))

    def _without_media(self, request: ModelRequest) -> bool:
        """Tell of the pictures of this request in words; whether there were any. New ones are tried."""
        changed = False
        for message in request.messages:
            if message.role == "user":
                before = self._kept.get(message)
                changed = self._keep(message, _wire(message, text_of(sent(message)))) != before or changed
        return changed


def _options(window: int | None, max_tokens: int | None) -> dict[str, int]:
    options = {"num_ctx": window, "num_predict": max_tokens}
    return {name: value for name, value in options.items() if value}


def _wire(message: Message, content: str | list[Part] | None) -> dict[str, Any] | None:
    """None for a message that says nothing."""
    if message.role == "assistant":
        return _assistant(message, text_of(content))
    text, images = _seen(content)
    if not text and not images:
        return None
    return {"role": message.role, "content": text, **({"images": images} if images else {})}


def _result(message: Message, name: str) -> dict[str, Any]:
    """The name is for most models' templates, the id for some."""
    call = {"tool_name": name_of(name), "tool_call_id": message.tool_call_id or ""}
    return {"role": "tool", **call, "content": text_of(sent(message))}


def _assistant(message: Message, text: str) -> dict[str, Any] | None:
    calls = [_call(raw) for raw in message.tool_calls or ()]
    if not calls:
        return {"role": "assistant", "content": text} if text else None
    # Models go on thinking where they called; what they thought before an answer is of no use to them.
    thought = {"thinking": message.reasoning} if message.reasoning else {}
    return {"role": "assistant", "content": text, **thought, "tool_calls": calls}


def _call(raw: dict[str, Any]) -> dict[str, Any]:
    call = ToolCall.of(raw)
    return {"id": call.id, "function": {"name": name_of(call.name), "arguments": arguments_of(call)}}


def _seen(content: str | list[Part] | None) -> tuple[str, list[str]]:
    """The text, and the pictures in base64, which stand beside it; sounds and files are told of in words."""
    if content is None or isinstance(content, str):
        return content or "", []
    media = [media_of(part) if part.get("type") == "image_url" else None for part in content]
    text = "".join(shown(part) for part, found in zip(content, media, strict=True) if found is None)
    return text, [found.data for found in media if found]
