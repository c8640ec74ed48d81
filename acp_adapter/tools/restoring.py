"""Restoring: a file put back to what it once was, through the editor where it offers files, kept like any change."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

from acp_adapter.errors import ToolError
from acp_adapter.ledger.file_edits import FileState
from acp_adapter.tools import documents, file_state
from acp_adapter.tools.documents import Document
from acp_adapter.tools.port import ToolContext
from acp_adapter.tools.text import NotText, Text, decode
from acp_adapter.transcript import uninterrupted


def text_of(state: FileState) -> Text | None:
    """What a file says in that state; None for what is no text, or not kept."""
    if state.kind == "file" and state.data is not None:
        with contextlib.suppress(NotText):
            return decode(state.data)
    return None


def same(one: FileState, other: FileState) -> bool:
    """Whether two states say the same, whatever the line ends where both are texts; modes aside."""
    if one.kind != other.kind or one.hash == other.hash:
        return one.kind == other.kind != "other"
    a, b = text_of(one), text_of(other)
    return a is not None and b is not None and a.digest == b.digest


async def restore(path: Path, target: FileState, ctx: ToolContext) -> None:
    """Make the file what it was. The session has not seen it afterwards: the model reads it anew before it writes.

    Raises ToolError, a sentence about this path; the file is then as it was.
    """
    if await asyncio.to_thread(os.path.realpath, path.parent) != str(path.parent):
        raise ToolError(f"{path} leads to another place now than when it was changed, so it was left alone.")
    async with documents.lock(path):
        document = await _document(path, ctx)
        if document is None or (target.kind != "absent" and text_of(target) is None):
            await _raw(path, target, ctx)
        elif target.kind == "absent":
            await _remove(document, ctx)
        else:
            await documents.save(document, text_of(target) or Text(""), ctx, whole=False)
    if target.kind == "file" and target.mode is not None:
        await asyncio.to_thread(file_state.set_mode, path, target.mode)
    ctx.memory.seen.pop(path, None)


async def _document(path: Path, ctx: ToolContext) -> Document | None:
    """The file as text, None where it is none."""
    state = await documents.state(path, ctx)
    if state.kind != "absent" and text_of(state) is None:
        return None
    return await documents.load(path, ctx)


async def _remove(document: Document, ctx: ToolContext) -> None:
    """A file that is only in the editor, not on disk, is emptied there."""
    if document.text is None:
        return
    if document.in_editor and not await asyncio.to_thread(document.path.exists):
        await documents.save(document, Text(""), ctx, whole=False)
    else:
        await documents.remove(document, ctx)


async def _raw(path: Path, target: FileState, ctx: ToolContext) -> None:
    """Bytes, links and what stands in their place are put to disk: no editor takes them."""
    before = await asyncio.to_thread(file_state.captured, path)
    if "other" in (before.kind, target.kind):
        raise ToolError(f"{path} is no file now, or was none then, so it was left alone.")
    row = await ctx.history.begin(path, before, target, ctx.call_id) if ctx.history else None
    try:
        await uninterrupted(asyncio.to_thread(file_state.put, path, target))
    except ToolError:
        if ctx.history and row is not None:
            await ctx.history.withdraw(row)
        raise
