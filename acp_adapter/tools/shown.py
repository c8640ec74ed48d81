"""What an editor is shown of a call: ACP ToolCallContent blocks, bounded in size."""

from __future__ import annotations

import re
from pathlib import Path

from acp_adapter.tools.port import Shown

DIFF_LIMIT = 200_000
"""Characters of either side of a diff; beyond that the editor is told in words."""


def text(content: str) -> Shown:
    return {"type": "content", "content": {"type": "text", "text": content}}


def code(content: str) -> Shown:
    """Text that must not be read as Markdown: in a fence that is longer than any within."""
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    return text(f"{fence}\n{content.rstrip()}\n{fence}")


def diff(path: Path, old: str | None, new: str) -> Shown:
    """`old` is None for a new file."""
    if max(len(old or ""), len(new)) > DIFF_LIMIT:
        return text(f"{path}: from {len(old or ''):,} to {len(new):,} characters, too long to show as a diff.")
    return {"type": "diff", "path": str(path), "oldText": old, "newText": new}


def terminal(terminal_id: str) -> Shown:
    return {"type": "terminal", "terminalId": terminal_id}
