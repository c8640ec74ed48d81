"""What a message shows a person, in pieces that every readable format has a form for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any, Literal

from attrs import frozen

from acp_adapter.transcript import Message, Part

Json = dict[str, Any]

_FENCED = re.compile(r"(`{3,})[^\n`]*\n(.*)\n\1\s*", re.DOTALL)


@frozen
class Piece:
    """`text` is Markdown (`text`), verbatim (`code`), a unified diff (`diff`), an address (`link`, `image`) or the
    name of something that can't be shown (`other`); `label` is a path or a name."""

    kind: Literal["text", "code", "diff", "link", "image", "other"]
    text: str
    label: str = ""


def of_message(message: Message) -> Iterator[Piece]:
    """What a person or the model wrote."""
    content = message.content
    if isinstance(content, list):
        for part in content:
            yield _of_part(part)
    elif content:
        yield Piece("text", str(content))


def of_result(result: Message) -> Iterator[Piece]:
    """What a call showed, or its text where nothing else was kept."""
    shown = (result.details or {}).get("content")
    if isinstance(shown, list) and shown:
        yield from (_of_shown(item) for item in shown if isinstance(item, dict))
    elif text := result.text():
        yield Piece("code", text)


def _of_part(part: Part) -> Piece:
    """One OpenAI part or ACP content block."""
    kind = str(part.get("type"))
    if kind == "text":
        return Piece("text", str(part.get("text") or ""))
    if kind == "image_url":
        return Piece("image", str((part.get("image_url") or {}).get("url") or ""))
    if kind == "image":
        return Piece("image", f"data:{part.get('mimeType')};base64,{part.get('data')}")
    if kind == "resource_link":
        return Piece("link", str(part.get("uri") or ""), str(part.get("name") or ""))
    resource = part.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        uri = str(resource.get("uri") or "")
        return Piece("code", resource["text"], uri) if isinstance(resource.get("text"), str) else Piece("link", uri)
    return Piece("other", kind)


def _of_shown(item: Json) -> Piece:
    """One ACP ToolCallContent."""
    if item.get("type") == "diff":
        path = str(item.get("path") or "")
        return Piece("diff", unified(str(item.get("oldText") or ""), str(item.get("newText") or "")), path)
    content = item.get("content")
    piece = _of_part(content) if isinstance(content, dict) else Piece("other", str(item.get("type")))
    fenced = _FENCED.fullmatch(piece.text) if piece.kind == "text" else None
    return Piece("code", fenced[2]) if fenced else piece


def unified(old: str, new: str) -> str:
    """A unified diff without its two lines of file names."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    return "\n".join(line for number, line in enumerate(lines) if number >= 2)
