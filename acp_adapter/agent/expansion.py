"""What a model is sent in place of a resource: the file's text with its path and range, read once, when it was sent.

The result is stored beside what the user sent (`Message.api_content`): replay shows the link, the model reads the
text, and neither changes when the file does.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from attrs import frozen

from acp_adapter.agent.calls import Workspace
from acp_adapter.errors import ClientError, ToolError
from acp_adapter.tools import documents
from acp_adapter.tools.paths import inside
from acp_adapter.transcript import Part

LIMIT = 64_000
"""Characters of one resource that a prompt carries; the model can read the rest with its tools."""

ENTRIES = 200
"""Names of an attached folder that a prompt carries."""

ReadText = Callable[[Path], Awaitable[str]]
"""Reads a text file, or lists a folder, inside the session's roots. Raises ToolError, ClientError or OSError."""

_LINES = re.compile(r"^L?(\d{1,9})(?:[-:]L?(\d{1,9}))?$")


@frozen
class FileLink:
    """A `file:` URI: the path and, where its fragment says so (`#L3-5`), the lines, counted from 1."""

    path: Path
    first: int | None = None
    last: int | None = None

    @classmethod
    def of(cls, uri: str) -> FileLink | None:
        """None for a URI that is not a file's, or is none at all."""
        try:
            split = urlsplit(uri)
        except ValueError:
            return None
        path = Path(url2pathname(split.path))
        if split.scheme != "file" or not split.path or "\0" in str(path):
            return None
        found = _LINES.match(unquote(split.fragment))
        if not found:
            return cls(path)
        first = int(found[1])
        return cls(path, first, int(found[2] or first))

    def label(self) -> str:
        return f"{self.path}" + (f", lines {self.first}-{self.last}" if self.first else "")

    def cut(self, text: str) -> str:
        if self.first is None or self.last is None:
            return text
        return "\n".join(text.splitlines()[max(self.first, 1) - 1 : self.last])


def attachments(workspace: Workspace) -> ReadText:
    """Reads what a prompt links to as the tools read: the editor's buffer or the disk, inside the roots only."""

    async def read(path: Path) -> str:
        resolved = await asyncio.to_thread(path.resolve)
        if not inside(resolved, workspace.roots):
            raise ToolError("it lies outside the session's folders. Read it with a tool, which asks first.")
        if await asyncio.to_thread(resolved.is_dir):
            return await asyncio.to_thread(_listing, resolved)
        document = await documents.load(resolved, workspace.context("attachment"))
        if document.text is None:
            raise ToolError("there is no such file.")
        return document.text.text

    return read


def _listing(folder: Path) -> str:
    """The names in a folder, folders with a slash; as many as fit a glance. Raises OSError."""
    names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(folder))
    more = [f"[{len(names) - ENTRIES} more; list_directory shows them]"] if len(names) > ENTRIES else []
    return "\n".join(names[:ENTRIES] + more) or "[It is empty.]"


async def expanded(content: str | list[Part] | None, read: ReadText) -> str | list[Part] | None:
    """What to send in place of `content`, None where it can be sent as it is."""
    if not isinstance(content, list):
        return None
    parts = [await _expanded(part, read) for part in content]
    if all(new is old for new, old in zip(parts, content, strict=True)):
        return None
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join(part["text"] for part in parts)
    return parts


async def _expanded(part: Part, read: ReadText) -> Part:
    if part.get("type") == "resource_link":
        return {"type": "text", "text": await _link_text(part, read)}
    if part.get("type") == "resource":
        return {"type": "text", "text": _resource_text(part["resource"])}
    return part


async def _link_text(part: Part, read: ReadText) -> str:
    link = FileLink.of(part["uri"])
    if link is None:
        return f"[The user attached a link: {part.get('name') or part['uri']} <{part['uri']}>]"
    try:
        if await asyncio.to_thread(link.path.is_dir):
            return f"[The user attached the folder {link.path}, which holds:]\n{await read(link.path)}"
        text = link.cut(await read(link.path))
    except (ToolError, ClientError) as fault:
        return f"[The user attached the file {link.label()}, which was not read: {fault.message}]"
    except OSError as fault:
        return f"[The user attached the file {link.label()}, which was not read: {fault.strerror}.]"
    return _fenced(link.label(), text)


def _resource_text(resource: dict[str, Any]) -> str:
    link = FileLink.of(resource["uri"])
    label = link.label() if link else resource["uri"]
    if isinstance(resource.get("text"), str):
        return _fenced(label, resource["text"])
    mime = resource.get("mimeType") or "unknown type"
    size = len(resource.get("blob", "")) * 3 // 4
    return f"[The user attached {label}: binary data of {mime}, about {size:,} bytes, which can't be shown as text.]"


def _fenced(label: str, text: str) -> str:
    note = ""
    if len(text) > LIMIT:
        note = f"\n[… {len(text) - LIMIT:,} more characters; read the file for the rest]"
        text = text[:LIMIT]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{label}:\n{fence}\n{text}\n{fence}{note}"
