"""read_file, write_file, edit_file: the three things a model does with one text file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from acp_adapter.errors import ToolError
from acp_adapter.tools import documents, shown
from acp_adapter.tools.arguments import count, schema, text
from acp_adapter.tools.documents import Document
from acp_adapter.tools.paths import inside, permitted, spelled, stated
from acp_adapter.tools.paths import shown as name_of
from acp_adapter.tools.port import Intent, Location, Shown, ToolContext, ToolResult
from acp_adapter.tools.replace import replaced
from acp_adapter.tools.text import Text, lines, unix, with_newlines

LINES = 2_000
BYTES = 256 * 1024


class ReadFile:
    name = "read_file"
    description = (
        "Read a text file. Long files come in part, with a note how to go on; line counts from 1. "
        "The text comes without line numbers, so that it can be copied into edit_file."
    )
    parameters = schema(
        ["path"],
        path=text("Relative to the working folder, or absolute."),
        line=count("The first line to read."),
        limit=count("How many lines to read."),
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        path = stated("path", args["path"], ctx)
        line = args.get("line")
        title = f"Read {name_of(path, ctx)}" + (f" from line {line}" if line else "")
        return Intent(title, "read", "read", paths=[path], locations=[Location(str(spelled(path, ctx)), line)])

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = permitted("path", args["path"], ctx)
        document = await documents.load(path, ctx)
        if document.text is None:
            raise ToolError(f"There is no file {name_of(path, ctx)}. Use glob or list_directory to find it.")
        documents.remember(document, ctx)
        part = await asyncio.to_thread(_extract, document.text, args.get("line", 1), args.get("limit", LINES))
        return ToolResult(part)


class WriteFile:
    name = "write_file"
    description = (
        "Write a whole text file, new or existing; missing folders are made. "
        "An existing file must have been read in this session. To change a part of a file use edit_file."
    )
    parameters = schema(
        ["path", "content"],
        path=text("Relative to the working folder, or absolute."),
        content=text("The whole new content."),
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        path = stated("path", args["path"], ctx)
        preview: list[Shown] = []
        if inside(path, ctx.roots):
            document, new = await self._planned(path, args, ctx)
            preview = [_diff(document, new, ctx)]
        locations = [Location(str(spelled(path, ctx)))]
        return Intent(f"Write {name_of(path, ctx)}", "edit", "edit", [path], locations=locations, preview=preview)

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = permitted("path", args["path"], ctx)
        async with documents.lock(path):
            document, new = await self._planned(path, args, ctx)
            await documents.save(document, new, ctx, whole=True)
        done = "Created" if document.text is None else "Wrote"
        number = sum(1 for _ in lines(new.text))
        return ToolResult(f"{done} {name_of(path, ctx)} ({number} lines).", shown=[_diff(document, new, ctx)])

    async def _planned(self, path: Path, args: dict[str, Any], ctx: ToolContext) -> tuple[Document, Text]:
        document = await documents.load(path, ctx)
        current = document.text
        if current is not None and path not in ctx.memory.seen and current.text:
            raise ToolError(f"{name_of(path, ctx)} exists. Read it before you write it, or use edit_file.")
        documents.check_unchanged(document, ctx)
        new = _dressed(current, args["content"])
        new.encode()
        documents.check_no_mark(document, new)
        return document, new


class EditFile:
    name = "edit_file"
    description = (
        "Replace a piece of text in a file. old_text must be copied exactly from the file, and be there only once "
        "unless replace_all is set."
    )
    parameters = schema(
        ["path", "old_text", "new_text"],
        path=text("Relative to the working folder, or absolute."),
        old_text=text("The text to replace, with enough lines to be unique."),
        new_text=text("What to put in its place; may be empty."),
        replace_all={"type": "boolean", "description": "Replace every occurrence."},
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        path = stated("path", args["path"], ctx)
        locations, preview = [Location(str(spelled(path, ctx)))], []
        if inside(path, ctx.roots):
            document, new, at = await self._planned(path, args, ctx)
            locations = [Location(str(spelled(path, ctx)), at[0])]
            preview = [_diff(document, new, ctx)]
        return Intent(f"Edit {name_of(path, ctx)}", "edit", "edit", [path], locations=locations, preview=preview)

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = permitted("path", args["path"], ctx)
        async with documents.lock(path):
            document, new, at = await self._planned(path, args, ctx)
            await documents.save(document, new, ctx, whole=False)
        places = f"line {at[0]}" if len(at) == 1 else f"{len(at)} places"
        return ToolResult(
            f"Edited {name_of(path, ctx)} at {places}.",
            shown=[_diff(document, new, ctx)],
            locations=[Location(str(spelled(path, ctx)), line) for line in at[:20]],
        )

    async def _planned(self, path: Path, args: dict[str, Any], ctx: ToolContext) -> tuple[Document, Text, list[int]]:
        document = await documents.load(path, ctx)
        if document.text is None:
            raise ToolError(f"There is no file {name_of(path, ctx)}. Use write_file to make one.")
        documents.check_unchanged(document, ctx)
        every = args.get("replace_all", False)
        new, at = await asyncio.to_thread(replaced, document.text, args["old_text"], args["new_text"], every)
        new.encode()
        documents.check_no_mark(document, new)
        return document, new, at


def _extract(source: Text, first: int, limit: int) -> str:
    """The lines asked for, as many as fit, and a note in brackets about what is missing."""
    every = list(lines(source.text))
    if not every:
        return "[The file is empty.]"
    if first > len(every):
        raise ToolError(f"The file has {len(every)} lines, so there is no line {first}.")
    kept: list[str] = []
    size = 0
    for line in every[first - 1 : first - 1 + limit]:
        size += len(line.encode("utf-8", "replace"))
        if size > BYTES and kept:
            break
        kept.append(line)
    body = unix("".join(kept)).encode("utf-8", "replace")[:BYTES].decode("utf-8", "ignore")
    return body + _note(source, every, first, first + len(kept) - 1, size > BYTES and len(kept) == 1)


def _note(source: Text, every: list[str], first: int, last: int, cut: bool) -> str:
    notes = []
    if cut:
        notes.append(f"Line {first} is too long and was cut at {BYTES:,} bytes.")
    if last < len(every):
        notes.append(f"Lines {first} to {last} of {len(every)}; go on with line={last + 1}.")
    if source.encoding != "utf-8":
        notes.append(f"The file's encoding is {source.encoding}.")
    if not notes:
        return ""
    return ("" if every[last - 1].endswith(("\n", "\r")) else "\n") + f"[{' '.join(notes)}]"


def _dressed(current: Text | None, content: str) -> Text:
    """New content for a file: with the line ends, encoding and final line end that it has."""
    if current is None:
        return Text(content)
    newline = current.newline
    if content and current.text.endswith(("\n", "\r")) and not content.endswith("\n"):
        content += "\n"
    return current.saying(with_newlines(content, newline))


def _diff(document: Document, new: Text, ctx: ToolContext) -> Shown:
    old = unix(document.text.text) if document.text else None
    return shown.diff(spelled(document.path, ctx), old, unix(new.text))
