"""ModelRequest → the body of a `generateContent` request, as bytes. No I/O.

Each message becomes its parts once, and while it lives they are kept: the next request of a long conversation costs
little more than joining them, and begins with the same bytes. Messages of one side that follow each other are one
content, so that sides alternate and all results of a step stand together.

A thought signature goes back in the part where it came, exactly: on a call as its `extra_content` (the form of Google's
OpenAI endpoint, so that sessions can move between the two), on a text as an entry of `reasoning_details`.

Form: the Gemini API v1beta, `models.streamGenerateContent`; "Thought signatures" in its guides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from attrs import define, field, frozen

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
from acp_adapter.providers.gemini import thinking
from acp_adapter.providers.gemini.schema import openapi
from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.transcript import Message, Part, ToolCall

SIGNATURES = "google-gemini-v1"
"""The `format` of entries of `reasoning_details` that hold thought signatures."""
UNSIGNED = "skip_thought_signature_validator"
"""What Google documents to stand in for the signature of a call that another model made."""
MEDIA = re.compile(r"mime ?type|inline_?data|image|audio|modalit", re.I)
"""In complaints about what a prompt holds beside text."""


@frozen
class _Parts:
    """A message's parts, joined by commas; `name` is that of the call which it answers."""

    role: str
    parts: bytes
    name: str


@define(eq=False)
class GeminiEncoder:
    """Encodes the requests of one model, and remembers what its server has refused: see `adapt`."""

    model: str
    _thinking: thinking.Form = field(init=False)
    _signs: bool = field(init=False)
    _json_schema: bool = True
    _call_ids: bool = True
    _refused: frozenset[str] = frozenset()
    _kept: Encoded[_Parts] = field(factory=Encoded, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._thinking = thinking.form_of(self.model)
        self._signs = self._thinking == "level"

    def adapt(self, complaint: str, request: ModelRequest) -> bool:
        """Encode differently from now on, if that answers a server's complaint about this request."""
        if re.search(r"thought.?signature", complaint, re.I):
            return self._without_signatures(request)
        if re.search(r"thinking|thought", complaint, re.I):
            return self._think_less(request)
        if self._json_schema and re.search(r"schema|function_?declaration", complaint, re.I):
            self._json_schema = False
        elif self._call_ids and re.search(r"\bUnknown name \"id\"", complaint):
            self._call_ids = False
            self._kept = Encoded()
        else:
            return bool(MEDIA.search(complaint)) and self._without_media(request)
        return True

    def body(self, request: ModelRequest) -> bytes:
        """The whole body. Instruction and contents come first, so that bodies of a conversation share their start."""
        rest: dict[str, Any] = {}
        if request.tools:
            rest["tools"] = [{"functionDeclarations": [self._declaration(tool) for tool in request.tools]}]
        if config := self._config(request):
            rest["generationConfig"] = config
        system = b""
        if request.system:
            system = b'"systemInstruction":%b,' % encoded({"parts": [{"text": request.system}]})
        return b"{%b" % system + b'"contents":[%b]' % self._contents(request.messages) + _last(rest)

    def _config(self, request: ModelRequest) -> dict[str, Any]:
        config: dict[str, Any] = {}
        if request.max_tokens:
            config["maxOutputTokens"] = request.max_tokens
        if thoughts := thinking.config_of(self.model, self._thinking, request.effort, self._refused):
            config["thinkingConfig"] = thoughts
        return config

    def _declaration(self, tool: ToolSpec) -> dict[str, Any]:
        declaration: dict[str, Any] = {"name": name_here(tool.name), "description": tool.description}
        if self._json_schema:
            declaration["parametersJsonSchema"] = tool.parameters
        elif tool.parameters.get("properties"):
            declaration["parameters"] = openapi(tool.parameters)
        return declaration

    def _contents(self, messages: Sequence[Message]) -> bytes:
        said = [parts for parts in (self._parts(*each) for each in with_names(messages)) if parts.parts]
        return b",".join(
            b'{"role":"%b","parts":[%b]}' % (role.encode(), b",".join(each.parts for each in same))
            for role, same in groupby(said, key=lambda each: each.role)
        )

    def _parts(self, message: Message, name: str) -> _Parts:
        kept = self._kept.get(message)
        if kept is not None and kept.name == name:
            return kept
        if message.role == "tool":
            return self._keep(message, [self._response(message, name)], name)
        return self._keep(message, self._said(message))

    def _keep(self, message: Message, parts: list[Part], name: str = "") -> _Parts:
        role = "model" if message.role == "assistant" else "user"
        return self._kept.keep(message, _Parts(role, encoded(parts)[1:-1], name))

    def _response(self, message: Message, name: str) -> Part:
        failed = (message.details or {}).get("status") == "failed"
        answer = {"error" if failed else "output": text_of(sent(message))}
        call_id = {"id": message.tool_call_id or ""} if self._call_ids else {}
        return {"functionResponse": {**call_id, "name": name_here(name), "response": answer}}

    def _said(self, message: Message, signed: bool = True) -> list[Part]:
        if message.role != "assistant":
            return list(_user_parts(sent(message)))
        signatures = _signatures(message) if signed else []
        parts = _text_parts(text_of(sent(message)), signatures)
        of_calls = {detail["id"]: detail["data"] for detail in signatures if "id" in detail}
        for at, raw in enumerate(message.tool_calls or ()):
            part = self._call(raw)
            signature = (_signature_of(raw) or of_calls.get(raw.get("id"))) if signed else None
            # Only the first call of a step must be signed, so only that one is excused.
            if signature or (at == 0 and self._signs):
                part["thoughtSignature"] = signature or UNSIGNED
            parts.append(part)
        return parts

    def _call(self, raw: dict[str, Any]) -> Part:
        call = ToolCall.of(raw)
        call_id = {"id": call.id} if self._call_ids else {}
        return {"functionCall": {**call_id, "name": name_here(call.name), "args": arguments_of(call)}}

    def _think_less(self, request: ModelRequest) -> bool:
        """Another level, then a budget in place of levels, then nothing said about thinking."""
        level = thinking.LEVELS.get(request.effort) if request.effort else None
        if self._thinking == "level" and level in thinking.NEXT_LEVELS and level not in self._refused:
            self._refused |= {level}
        elif self._thinking == "none":
            return False
        else:
            self._thinking = "budget" if self._thinking == "level" and request.effort else "none"
        return True

    def _without_signatures(self, request: ModelRequest) -> bool:
        """Let all calls of this request pass unsigned: some signature is missing, or is of another model's."""
        self._signs = True
        return self._again(request, lambda message: self._said(message, signed=False), {"assistant"})

    def _without_media(self, request: ModelRequest) -> bool:
        """Tell of the pictures and sounds of this request in words; whether there were any. New ones are tried."""
        return self._again(request, lambda message: _only_text(text_of(sent(message))), {"user", "system"})

    def _again(self, request: ModelRequest, said: Any, roles: set[str]) -> bool:
        """Encode the messages of these roles anew; whether that changed any."""
        changed = False
        for message in request.messages:
            if message.role in roles:
                before = self._kept.get(message)
                changed = self._keep(message, said(message)) != before or changed
        return changed


def name_here(name: str) -> str:
    """As a declaration's reference has it: beginning with a letter or an underscore."""
    valid = name_of(name)
    return valid if re.match(r"[a-zA-Z_]", valid) else f"_{valid}"[:64]


def _last(rest: dict[str, Any]) -> bytes:
    """The end of a body whose beginning has fields already."""
    return b"," + encoded(rest)[1:] if rest else b"}"


def _user_parts(content: str | list[Part] | None) -> Iterator[Part]:
    """Pictures and sounds as they are, text between them in one part each."""
    if content is None or isinstance(content, str):
        yield from _only_text(content or "")
        return
    for is_media, parts in groupby(content, key=lambda part: media_of(part) is not None):
        if is_media:
            found = filter(None, map(media_of, parts))
            yield from ({"inlineData": {"mimeType": media.mime_type, "data": media.data}} for media in found)
        else:
            yield from _only_text("".join(map(shown, parts)))


def _only_text(text: str) -> list[Part]:
    """The API refuses a part without text."""
    return [{"text": text}] if text else []


def _text_parts(text: str, signatures: list[dict[str, Any]]) -> list[Part]:
    """The answer's text, cut where a signed part of it ended."""
    parts, start = [], 0
    for detail in sorted((each for each in signatures if "end" in each), key=lambda each: each["end"]):
        if text[start : detail["end"]]:
            parts.append({"text": text[start : detail["end"]], "thoughtSignature": detail["data"]})
            start = detail["end"]
    return parts + _only_text(text[start:])


def _signatures(message: Message) -> list[dict[str, Any]]:
    """Gemini's own among a message's details: with `end` (characters) for its text, with `id` for one of its calls."""
    return [
        detail
        for detail in message.reasoning_details or ()
        if isinstance(detail, dict) and detail.get("format") == SIGNATURES and isinstance(detail.get("data"), str)
    ]


def _signature_of(raw: dict[str, Any]) -> str | None:
    google = (raw.get("extra_content") or {}).get("google")
    signature = google.get("thought_signature") if isinstance(google, dict) else None
    return signature if isinstance(signature, str) else None
