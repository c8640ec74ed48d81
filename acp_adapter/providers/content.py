"""What messages hold, as every API's request module needs it. No I/O.

A message's content is text or a list of parts: OpenAI's content parts, and ACP's `resource` and `resource_link`.
"""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from attrs import define, field, frozen

from acp_adapter.transcript import Message, Part, ToolCall

T = TypeVar("T")

MEDIA_PARTS = {"image_url", "input_audio", "file"}
DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.+-]+)*;base64,(.+)", re.S)


@frozen
class Media:
    """A picture, sound or file that a part holds itself: its MIME type, and its bytes in base64."""

    mime_type: str
    data: str


@define(eq=False)
class Encoded(Generic[T]):
    """What was made of each message, for as long as the message lives.

    The next request of a long conversation then costs little more than joining what is here.
    """

    _made: dict[int, tuple[weakref.ref[Message], T]] = field(factory=dict)

    def get(self, message: Message) -> T | None:
        kept = self._made.get(id(message))
        return kept[1] if kept is not None and kept[0]() is message else None

    def keep(self, message: Message, made: T) -> T:
        key = id(message)
        # The entry goes with its message: an id may be used again by another object.
        self._made[key] = (weakref.ref(message, lambda _: self._made.pop(key, None)), made)
        return made

    def __len__(self) -> int:
        return len(self._made)


def encoded(value: Any) -> bytes:
    """Compact JSON in UTF-8. A lone surrogate, which no server takes, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def sent(message: Message) -> str | list[Part] | None:
    """The content that the model is sent, which may be another than the user wrote."""
    return message.content if message.api_content is None else message.api_content


def text_of(content: str | list[Part] | None) -> str:
    """All of a content as text, with words in place of what is none."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(map(shown, content))


def shown(part: Part) -> str:
    """Any part as text: ACP's `resource` with its content, `resource_link` by name and URI, others by their type."""
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "resource_link":
        return f"[{part.get('name') or 'link'}]({part.get('uri', '')})"
    resource = part.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        uri = resource.get("uri", "")
        if isinstance(resource.get("text"), str):
            return f'\n<resource uri="{uri}">\n{resource["text"]}\n</resource>\n'
        return f"[binary resource {uri}, not shown]"
    return f"[{kind or 'unknown'} part, not shown]"


def media_of(part: Part) -> Media | None:
    """The picture, sound or file of a part; None for one that has none, or only the address of one."""
    kind = part.get("type")
    value = part.get(kind) if kind in MEDIA_PARTS else None
    if not isinstance(value, dict):
        return None
    if kind == "input_audio":
        return Media(f"audio/{value.get('format') or 'wav'}", str(value.get("data", ""))) if value.get("data") else None
    found = DATA_URL.fullmatch(str(value.get("url" if kind == "image_url" else "file_data", "")))
    return Media(found[1], found[2]) if found else None


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """A call's arguments as an object, as APIs want it; text that is none is told of in one."""
    try:
        arguments = json.loads(call.arguments or "{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"not_a_json_object": call.arguments}


def with_names(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """Each message, and beside a result the name of the call that it answers, for APIs that want it there too.

    The call is one of the last message with calls before it. Stored results of other programs may not know it.
    """
    names: dict[str, str] = {}
    for message in messages:
        if message.role == "tool":
            yield message, names.get(message.tool_call_id or "") or message.tool_name or ""
            continue
        if message.tool_calls:
            names = {call.id: call.name for call in message.calls()}
        yield message, ""


def name_of(name: str) -> str:
    """A tool's name in the form that all APIs take: 64 letters, digits, `_` and `-`, never empty."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _no_constant(name: str) -> None:
    """NaN and Infinity, which Python reads and JSON has not."""
    raise ValueError(name)
