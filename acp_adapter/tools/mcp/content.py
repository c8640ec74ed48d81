"""What an MCP tool gives back → ToolResult: every kind of content in a form that can be shown, stored and told a model.

MCP, section Tools, "Tool Result". ACP took its content blocks over from MCP, so the editor is shown them as they are;
the model, which reads text, is told of the others in words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from acp_adapter.tools import shown
from acp_adapter.tools.kept_output import KeptOutput
from acp_adapter.tools.output import Output
from acp_adapter.tools.port import Shown, ToolResult

if TYPE_CHECKING:
    import mcp_types

LARGEST = 4 * 1024 * 1024
"""Characters of base64 in one picture or sound that are shown and stored; larger ones are told of in words."""

Block = dict[str, Any]


def result_of(answer: mcp_types.CallToolResult, kept: KeptOutput | None = None) -> ToolResult:
    """Text beyond the cap of all tools is cut in its middle, and whole in `kept`. A structured result counts where
    there is no text."""
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in answer.content]
    text = "\n".join(filter(None, map(_told, blocks)))
    structured = answer.structured_content
    if not text and structured is not None:
        text = json.dumps(structured, ensure_ascii=False, indent=2)
    return ToolResult(
        _capped(text, kept) or "(no output)",
        failed=bool(answer.is_error),
        shown=_shown(blocks),
        raw_output=structured,
    )


def _capped(text: str, kept: KeptOutput | None) -> str:
    output = Output(kept=kept)
    output.feed(text.encode("utf-8", "replace"))
    if kept:
        kept.close()
    return output.text()


def _shown(blocks: Sequence[Block]) -> list[Shown]:
    """Nothing where all is text: then the editor is shown the result's own text."""
    if all(block["type"] == "text" for block in blocks):
        return []
    return [{"type": "content", "content": block} if _fits(block) else shown.text(_told(block)) for block in blocks]


def _fits(block: Block) -> bool:
    resource = block.get("resource") or {}
    held = (block.get("data"), resource.get("blob"), resource.get("text"))
    return all(len(data or "") <= LARGEST for data in held)


def _told(block: Block) -> str:
    teller = _TELLERS.get(block["type"])
    return teller(block) if teller else f"[{block['type']} content]"


def _media(block: Block) -> str:
    mime = block.get("mimeType", "unknown type")
    return f"[{block['type']}: {mime}, {_size(block.get('data', ''))}, shown to the user]"


def _link(block: Block) -> str:
    described = f": {block['description']}" if block.get("description") else ""
    return f"[link: {block.get('title') or block.get('name', '')} <{block.get('uri', '')}>{described}]"


def _resource(block: Block) -> str:
    resource = block["resource"]
    uri = resource.get("uri", "")
    if "text" in resource:
        return f"{uri}:\n{resource['text']}"
    return f"[resource {uri}: {resource.get('mimeType', 'binary')}, {_size(resource.get('blob', ''))}]"


def _size(data: str) -> str:
    return f"about {len(data) * 3 // 4:,} bytes"


_TELLERS: dict[str, Callable[[Block], str]] = {
    "text": lambda block: str(block["text"]),
    "image": _media,
    "audio": _media,
    "resource_link": _link,
    "resource": _resource,
}
