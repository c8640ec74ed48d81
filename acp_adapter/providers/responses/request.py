"""ModelRequest → the body of a Responses request, as bytes. No I/O.

Each message becomes its input items once, and while it lives they are kept: the next request of a long conversation
costs little more than joining them, and begins with the same bytes.

Nothing is stored at the server. What it must see again, reasoning with its encrypted content and messages with their
ids, is kept as it came (`codex_reasoning_items`, `codex_message_items`) and sent back in its place: `output_index`, the
API's own word for it, is kept with each item and each call, and left out when they are sent.

Form: OpenAI's Responses API, `POST /responses`; "Reasoning models" and "Conversation state" in its guides.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from acp_adapter.providers.content import DATA_URL, Encoded, arguments_of, encoded, name_of, sent, shown, text_of
from acp_adapter.providers.port import ModelRequest
from acp_adapter.providers.responses.reasoning import EFFORTS, NEXT, reasons
from acp_adapter.transcript import Message, Part, ToolCall

ENCRYPTED = "reasoning.encrypted_content"
MEDIA = re.compile(r"image|audio|file|modalit|(content|part)\W*type", re.I)
"""In complaints about what a prompt holds beside text."""
ITEMS = re.compile(
    r"encrypted.{0,40}(verif|decrypt|valid)|'?reasoning'? .{0,40}(item|provided)|not persisted|item\['content'\]", re.I
)
"""In complaints about items that another account, or another server, has made."""
PLACE = "output_index"

Item = dict[str, Any]


@define(eq=False)
class ResponsesEncoder:
    """Encodes the requests of one model, and remembers what its server has refused: see `adapt`."""

    model: str
    _reasons: bool = field(init=False)
    _words: dict[str, str] = field(factory=dict, init=False)
    _summarises: bool = True
    _encrypts: bool = True
    _caches: bool = True
    _kept: Encoded[bytes] = field(factory=Encoded, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._reasons = reasons(self.model)

    def adapt(self, complaint: str, request: ModelRequest) -> bool:
        """Encode differently from now on, if that answers a server's complaint about this request."""
        word = self._effort(request)
        if self._summarises and re.search(r"summar", complaint, re.I):
            self._summarises = False
        elif word in NEXT and re.search(rf"\b{word}\b", complaint):
            self._words[EFFORTS[request.effort or "off"]] = NEXT[word]
        elif ITEMS.search(complaint):
            return self._again(request, lambda message: _items(message, kept=False), {"assistant"})
        elif self._encrypts and re.search(r"encrypted|\binclude\b", complaint, re.I):
            self._encrypts = False
        elif self._reasons and "reasoning" in complaint:
            self._reasons = False
        elif self._caches and "prompt_cache_key" in complaint:
            self._caches = False
        else:
            return bool(MEDIA.search(complaint)) and self._again(request, _told, {"user", "system", "tool"})
        return True

    def body(self, request: ModelRequest) -> bytes:
        """The whole body. What stays the same comes first, so that bodies of a conversation share their beginning."""
        first: dict[str, Any] = {"model": self.model, "stream": True, "store": False}
        if request.system:
            first["instructions"] = request.system
        if request.tools:
            first["tools"] = [
                {
                    "type": "function",
                    "name": name_of(tool.name),
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in request.tools
            ]
        items = b",".join(filter(None, map(self._encoded, request.messages)))
        rest = self._rest(request)
        return encoded(first)[:-1] + b',"input":[%b]' % items + (b"," + encoded(rest)[1:] if rest else b"}")

    def _rest(self, request: ModelRequest) -> dict[str, Any]:
        rest: dict[str, Any] = {}
        if request.max_tokens:
            rest["max_output_tokens"] = request.max_tokens
        if self._reasons:
            effort, summary = self._effort(request), "auto" if self._summarises else None
            rest["reasoning"] = {name: v for name, v in (("effort", effort), ("summary", summary)) if v}
            if self._encrypts:
                rest["include"] = [ENCRYPTED]
        if self._caches and request.session:
            rest["prompt_cache_key"] = request.session
        return {name: value for name, value in rest.items() if value}

    def _effort(self, request: ModelRequest) -> str | None:
        word = EFFORTS.get(request.effort) if request.effort else None
        return self._words.get(word, word) if word else None

    def _encoded(self, message: Message) -> bytes:
        kept = self._kept.get(message)
        return self._keep(message, _items(message)) if kept is None else kept

    def _keep(self, message: Message, items: list[Item]) -> bytes:
        return self._kept.keep(message, encoded(items)[1:-1])

    def _again(self, request: ModelRequest, items: Any, roles: set[str]) -> bool:
        """Encode the messages of these roles anew; whether that changed any."""
        changed = False
        for message in request.messages:
            if message.role in roles:
                before = self._kept.get(message)
                changed = self._keep(message, items(message)) != before or changed
        return changed


def call_id(known: str) -> str:
    """An id in the form that the API takes (64 characters); others are sent as a digest."""
    if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", known):
        return known
    return f"call_{hashlib.sha256(known.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _items(message: Message, kept: bool = True) -> list[Item]:
    if message.role == "assistant":
        return _output(message, kept)
    content = sent(message)
    if message.role == "tool":
        return [_result(message, _input_parts(content) if isinstance(content, list) else text_of(content))]
    parts = _input_parts(content)
    return [{"type": "message", "role": "user", "content": parts}] if parts else []


def _told(message: Message) -> list[Item]:
    """A message whose pictures and sounds are told of in words."""
    text = text_of(sent(message))
    if message.role == "tool":
        return [_result(message, text)]
    return [{"type": "message", "role": "user", "content": _input_text(text)}] if text else []


def _result(message: Message, output: str | list[Part]) -> Item:
    answered = call_id(message.tool_call_id or "")
    return {"type": "function_call_output", "call_id": answered, "output": output or ""}


def _input_parts(content: str | list[Part] | None) -> list[Part]:
    if content is None or isinstance(content, str):
        return _input_text(content or "")
    parts: list[Part] = []
    for part in content:
        media = _media(part)
        parts += [media] if media else _input_text(shown(part))
    return parts


def _input_text(text: str) -> list[Part]:
    return [{"type": "input_text", "text": text}] if text else []


def _media(part: Part) -> Part | None:
    """Pictures and files as they are; sounds are not taken here."""
    kind = part.get("type")
    value = part.get(str(kind))
    if not isinstance(value, dict):
        return None
    url = str(value.get("url") or "")
    if kind == "image_url" and (DATA_URL.fullmatch(url) or url.startswith("https://")):
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if kind == "file" and value.get("file_data"):
        name = str(value.get("filename") or "file")
        return {"type": "input_file", "filename": name, "file_data": str(value["file_data"])}
    return None


def _output(message: Message, kept: bool) -> list[Item]:
    """Reasoning, text and calls of an answer in the order in which they came."""
    reasoning = list(_reasoning(message)) if kept else []
    said = list(_said(message)) if kept else []
    if not said and (text := text_of(sent(message))):
        said = [{"type": "message", "role": "assistant", "content": text}]
    items = [*reasoning, *said, *map(_call, message.tool_calls or ())]
    placed = sorted(items, key=lambda item: item[PLACE]) if all(PLACE in item for item in items) else items
    bare = [{name: value for name, value in item.items() if name != PLACE} for item in placed]
    # A thought that nothing follows is refused, and of no use.
    while bare and bare[-1]["type"] == "reasoning":
        bare.pop()
    return bare


def _reasoning(message: Message) -> Iterator[Item]:
    """Without its encrypted content it is of no use where nothing is stored."""
    wanted = ("type", "id", "summary", "encrypted_content", PLACE)
    for item in message.codex_reasoning_items or ():
        if not isinstance(item, dict) or item.get("type") != "reasoning":
            continue
        if item.get("encrypted_content") and isinstance(item["encrypted_content"], str):
            yield {"summary": [], **{name: item[name] for name in wanted if item.get(name) is not None}}


def _said(message: Message) -> Iterator[Item]:
    """The messages as they came, where they still say what the model is to be sent."""
    items = [item for item in message.codex_message_items or () if isinstance(item, dict)]
    if "".join(map(text_of_item, items)) == text_of(sent(message)):
        yield from ({**item, "type": "message", "role": "assistant"} for item in items if item.get("content"))


def text_of_item(item: Item) -> str:
    parts = item.get("content")
    if not isinstance(parts, list):
        return ""
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts if isinstance(part, dict))


def _call(raw: dict[str, Any]) -> Item:
    call = ToolCall.of(raw)
    arguments = encoded(arguments_of(call)).decode()
    known = {"call_id": call_id(call.id), "name": name_of(call.name), "arguments": arguments}
    item: Item = {"type": "function_call", **known}
    return {**item, PLACE: raw[PLACE]} if isinstance(raw.get(PLACE), int) else item
