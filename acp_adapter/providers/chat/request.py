"""ModelRequest → the body of a chat completions request, as bytes. No I/O.

Each message is encoded on its own and once: while it lives, its bytes are kept, so that the next request of a long
conversation costs little more than joining them, and begins with the same bytes, which servers cache.

Form: OpenAI's Chat Completions API, `POST /chat/completions`.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Literal

from attrs import define, field, frozen

from acp_adapter.providers.card import Effort
from acp_adapter.providers.content import MEDIA_PARTS, Encoded, arguments_of, encoded, name_of, sent, shown, text_of
from acp_adapter.providers.port import ModelRequest
from acp_adapter.transcript import Message, Part, ToolCall

WIRE_PARTS = {"text", *MEDIA_PARTS}
MEDIA = re.compile(r"image|audio|file|vision|visual|multi-?modal|mmproj|(content|part)\W*type", re.I)
"""In the complaints of servers about models that take text only."""


EffortForm = Literal["reasoning_effort", "reasoning", "thinking"]


@frozen
class Dialect:
    """Where servers of the OpenAI form differ. See `acp_adapter.providers.services` for who speaks which.

    `echoes` are the fields of an assistant message that this server sends and needs back; all others refuse them.
    `call_ids` is the form that tool call ids must have (OpenAI takes 40 characters); others are sent as a digest.
    `effort` is the field in which it is told how much to reason, `cache_key` whether it keeps conversations apart by
    a key.
    """

    max_tokens: str = "max_tokens"
    echoes: frozenset[str] = frozenset()
    call_ids: str = r"[^\s]{1,40}"
    effort: EffortForm = "reasoning_effort"
    cache_key: bool = False


@define(eq=False)
class ChatEncoder:
    """Encodes the requests of one provider, and remembers what its server has refused: see `adapt`."""

    model: str
    dialect: Dialect
    _counts: bool = True
    _max_tokens: str = field(init=False)
    _effort: str | None = None
    _tells_effort: bool = True
    _kept: Encoded[bytes] = field(factory=Encoded, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._max_tokens = self.dialect.max_tokens

    def adapt(self, complaint: str, request: ModelRequest) -> bool:
        """Encode differently from now on, if that answers a server's complaint about this request."""
        if self._counts and ("stream_options" in complaint or "include_usage" in complaint):
            self._counts = False
        elif self._max_tokens == "max_tokens" and "max_completion_tokens" in complaint:
            self._max_tokens = "max_completion_tokens"
        elif self._tells_effort and request.effort and re.search(r"reasoning|thinking|effort", complaint):
            self._tells_effort = False
        elif self._effort is None and "reasoning_effort" in complaint and "none" in complaint:
            # Some models of OpenAI call functions in this API only without reasoning, and say so.
            self._effort = "none"
        else:
            return bool(MEDIA.search(complaint)) and self._without_media(request)
        return True

    def body(self, request: ModelRequest) -> bytes:
        """The whole body. The messages come first, so that bodies of one conversation share their beginning."""
        messages = [encoded({"role": "system", "content": request.system})] if request.system else []
        messages += filter(None, map(self.message, request.messages))
        rest: dict[str, Any] = {"stream": True}
        if self._counts:
            rest["stream_options"] = {"include_usage": True}
        if request.effort and self._tells_effort:
            rest |= _effort(self.dialect.effort, request.effort)
        if self._effort:
            rest["reasoning_effort"] = self._effort
        if self.dialect.cache_key and request.session:
            rest["prompt_cache_key"] = request.session
        if request.max_tokens:
            rest[self._max_tokens] = request.max_tokens
        if request.tools:
            rest["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.tools
            ]
        return b'{"model":%b,"messages":[%b],%b' % (encoded(self.model), b",".join(messages), encoded(rest)[1:])

    def message(self, message: Message) -> bytes:
        """One message as JSON; empty for one that says nothing, which strict servers refuse."""
        kept = self._kept.get(message)
        if kept is not None:
            return kept
        return self._keep(message, self._wire(message, _content(sent(message))))

    def _without_media(self, request: ModelRequest) -> bool:
        """Tell of the pictures and sounds of this request in words; whether there were any.

        A model that takes none, or not these, would refuse all that follows in the session. New ones are tried.
        """
        changed = False
        for message in request.messages:
            before = self.message(message)
            changed = self._keep(message, self._wire(message, text_of(sent(message)))) != before or changed
        return changed

    def _keep(self, message: Message, wire: dict[str, Any] | None) -> bytes:
        return self._kept.keep(message, encoded(wire) if wire else b"")

    def _wire(self, message: Message, content: str | list[Part]) -> dict[str, Any] | None:
        if message.role == "assistant":
            return self._assistant(message, text_of(content))
        if message.role == "tool":
            call_id = self._call_id(message.tool_call_id or "")
            return {"role": "tool", "tool_call_id": call_id, "content": text_of(content)}
        return {"role": message.role, "content": content}

    def _assistant(self, message: Message, text: str) -> dict[str, Any] | None:
        if not text and not message.tool_calls:
            return None
        wire: dict[str, Any] = {"role": "assistant", "content": text or None}
        if message.tool_calls:
            wire["tool_calls"] = [self._call(raw) for raw in message.tool_calls]
            if "reasoning_content" in self.dialect.echoes:
                # Wanted beside every call, even of a model that did not reason.
                wire["reasoning_content"] = message.reasoning_content or message.reasoning or ""
        if "reasoning_details" in self.dialect.echoes and message.reasoning_details:
            wire["reasoning_details"] = message.reasoning_details
        return wire

    def _call(self, raw: dict[str, Any]) -> dict[str, Any]:
        call = ToolCall.of(raw)
        wire = ToolCall(self._call_id(call.id), name_of(call.name), _object(call)).raw()
        if "extra_content" in self.dialect.echoes and "extra_content" in raw:
            wire["extra_content"] = raw["extra_content"]
        return wire

    def _call_id(self, call_id: str) -> str:
        if re.fullmatch(self.dialect.call_ids, call_id):
            return call_id
        return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


def _effort(form: EffortForm, effort: Effort) -> dict[str, Any]:
    """How much to reason, as OpenAI, OpenRouter and DeepSeek want to be told."""
    off = effort == "off"
    if form == "thinking":
        return {"thinking": {"type": "disabled" if off else "enabled"}}
    if form == "reasoning":
        return {"reasoning": {"enabled": False} if off else {"effort": effort}}
    return {"reasoning_effort": "none" if off else effort}


def _object(call: ToolCall) -> str:
    """The model's arguments as text of a JSON object: some servers read them and refuse the request otherwise."""
    arguments = arguments_of(call)
    as_it_is = "not_a_json_object" not in arguments
    return (call.arguments or "{}") if as_it_is else json.dumps(arguments, ensure_ascii=False)


def _content(content: str | list[Part] | None) -> str | list[Part]:
    """A string wherever everything is text, since many servers take nothing else; else parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if not any(part.get("type") in MEDIA_PARTS for part in content):
        return text_of(content)
    return [part if part.get("type") in WIRE_PARTS else {"type": "text", "text": shown(part)} for part in content]
