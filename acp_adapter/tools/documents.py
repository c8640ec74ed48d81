"""Documents: a file as the session sees it, through the editor where it offers files, else on disk.

The editor's buffer counts, unsaved changes included. Where the editor answers that it can't give or take a file (it
lies outside its project, say), the disk is used; where it does not answer, nothing is done. An editor that can give
files but not take them: a file with unsaved changes is not written, since the editor would not know.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from attrs import frozen

from acp_adapter.errors import ClientError, ToolError
from acp_adapter.ledger.file_edits import ABSENT, FileState
from acp_adapter.redaction import MARK
from acp_adapter.tools import disk, file_state
from acp_adapter.tools.paths import spelled
from acp_adapter.tools.port import ToolContext
from acp_adapter.tools.text import NotText, Text, decode, unix
from acp_adapter.transcript import uninterrupted

_locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()


@frozen
class Document:
    """A file's content as it is now. `text` is None where there is no file; `in_editor` tells who gave it."""

    path: Path
    text: Text | None
    in_editor: bool = False


def lock(path: Path) -> asyncio.Lock:
    """Held from reading to writing a file, so that two calls at once do not undo each other's work."""
    found = _locks.get(path)
    if found is None:
        found = _locks[path] = asyncio.Lock()
    return found


async def load(path: Path, ctx: ToolContext) -> Document:
    """The file's text. Raises ToolError where it can't be read as text, or the editor stays silent."""
    if ctx.editor and ctx.editor.can_read:
        try:
            buffer = await ctx.editor.read_text_file(spelled(path, ctx))
            exists = await asyncio.to_thread(path.exists)
            return Document(path, Text(buffer) if buffer or exists else None, in_editor=bool(buffer) or exists)
        except ClientError as fault:
            _unless_answered(fault, path)
    return Document(path, await asyncio.to_thread(disk.read, path))


def check_no_mark(document: Document, new: Text) -> None:
    """Refuse to write the mark that stands for a secret where the secret was. Raises ToolError."""
    before = document.text.text.count(MARK) if document.text else 0
    if new.text.count(MARK) > before:
        raise ToolError(
            f"The text holds {MARK}, which stands for a secret that you were not shown: writing it would destroy the "
            "secret. Edit only what is around it."
        )


def remember(document: Document, ctx: ToolContext) -> None:
    """Note what this session has seen of the file."""
    if document.text is not None:
        ctx.memory.seen[document.path] = document.text.digest


def check_unchanged(document: Document, ctx: ToolContext) -> None:
    """Raises ToolError if the file is not as this session last saw it. One that it never saw passes."""
    seen = ctx.memory.seen.get(document.path)
    if seen is None or (document.text is not None and document.text.digest == seen):
        return
    what = "was removed" if document.text is None else "has changed"
    raise ToolError(f"{document.path} {what} since it was read. Read it again before you write it.")


async def state(path: Path, ctx: ToolContext) -> FileState:
    """What stands at the path as the session sees it, unsaved changes included; no limit but its size.

    Raises ToolError where the editor stays silent.
    """
    on_disk = await asyncio.to_thread(file_state.captured, path)
    if not (ctx.editor and ctx.editor.can_read):
        return on_disk
    try:
        buffer = await ctx.editor.read_text_file(spelled(path, ctx))
    except ClientError as fault:
        _unless_answered(fault, path)
        return on_disk
    return _in_clothes(Text(buffer), on_disk)


async def save(document: Document, text: Text, ctx: ToolContext, *, whole: bool) -> None:
    """Write the file. Raises ToolError. Cancelled meanwhile, a write to disk is done and known all the same; a write
    that the editor has not answered is taken for an unknown change.

    `whole`: the session now knows all of it. A part that is changed in an unseen file leaves it unseen.
    """
    remembered = whole or document.path in ctx.memory.seen
    async with _kept(document, text, ctx):
        if not await _written_by_editor(document, text, ctx):
            await uninterrupted(_to_disk(document, text, ctx, remembered))
        elif remembered:
            ctx.memory.seen[document.path] = text.digest


async def remove(document: Document, ctx: ToolContext) -> None:
    """Delete the file. Raises ToolError, also where the editor holds unsaved changes of it."""
    async with _kept(document, None, ctx):
        if document.in_editor:
            await asyncio.to_thread(_as_on_disk, document, document.text or Text(""))
        await asyncio.to_thread(disk.delete, document.path)
    ctx.memory.seen.pop(document.path, None)


@asynccontextmanager
async def _kept(document: Document, text: Text | None, ctx: ToolContext) -> AsyncIterator[None]:
    """Keeps what the file is and what it is to be, before it is changed; a change that fails is not kept."""
    row = None
    if ctx.history:
        on_disk = await asyncio.to_thread(file_state.captured, document.path)
        before = _in_clothes(document.text, on_disk) if document.in_editor and document.text else on_disk
        after = _planned(document, text, on_disk)
        row = await ctx.history.begin(document.path, before, after, ctx.call_id)
    try:
        yield
    except ToolError:
        if ctx.history and row is not None:
            await ctx.history.withdraw(row)
        raise


def _planned(document: Document, text: Text | None, on_disk: FileState) -> FileState:
    """What the file will be."""
    if text is None:
        return ABSENT
    return _in_clothes(text, on_disk) if document.in_editor else FileState.of(text.encode(), on_disk.mode)


def _in_clothes(buffer: Text, on_disk: FileState) -> FileState:
    """The state of a file whose buffer in the editor says this: the very bytes that are on disk where they say the
    same, else as the editor would write them, line ends and encoding kept. An empty one without a file is none."""
    if not buffer.text and on_disk.kind == "absent":
        return ABSENT
    if on_disk.data is not None:
        with contextlib.suppress(NotText, ToolError):
            stored = decode(on_disk.data)
            if stored.digest == buffer.digest:
                return on_disk
            worn = stored.saying(unix(buffer.text).replace("\n", stored.newline))
            return FileState.of(worn.encode(), on_disk.mode)
    return FileState.of(buffer.text.encode("utf-8", "surrogatepass"), on_disk.mode)


async def _to_disk(document: Document, text: Text, ctx: ToolContext, remembered: bool) -> None:
    if document.in_editor:
        text = await asyncio.to_thread(_as_on_disk, document, text)
    await asyncio.to_thread(disk.write, document.path, text.encode())
    if remembered:
        ctx.memory.seen[document.path] = text.digest


async def _written_by_editor(document: Document, text: Text, ctx: ToolContext) -> bool:
    if not (ctx.editor and ctx.editor.can_write) or (ctx.editor.can_read and not document.in_editor and document.text):
        return False
    try:
        await ctx.editor.write_text_file(spelled(document.path, ctx), text.text)
    except ClientError as fault:
        _unless_answered(fault, document.path)
        return False
    return True


def _as_on_disk(document: Document, text: Text) -> Text:
    """The text for a file that the editor gave but does not take: in the clothes that it has on disk."""
    stored = disk.read(document.path)
    if stored is None or document.text is None:
        return text
    if stored.digest != document.text.digest:
        raise ToolError(f"{document.path} has unsaved changes in the editor. Save it there first; it is unchanged.")
    unix = text.text.replace("\r\n", "\n")
    return stored.saying(unix.replace("\n", stored.newline))


def _unless_answered(fault: ClientError, path: Path) -> None:
    if "code" not in fault.data:
        raise ToolError(f"The editor did not answer for {path}: {fault.message}") from fault
