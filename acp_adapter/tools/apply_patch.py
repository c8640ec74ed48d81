"""apply_patch: several files changed in one call, in the patch format that some models were trained on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_adapter.errors import ToolError
from acp_adapter.tools import documents, shown
from acp_adapter.tools.arguments import schema, text
from acp_adapter.tools.documents import Document
from acp_adapter.tools.patch import Section, applied, parse
from acp_adapter.tools.paths import inside, permitted, spelled, stated
from acp_adapter.tools.paths import shown as name_of
from acp_adapter.tools.port import Intent, Location, Shown, ToolContext, ToolResult
from acp_adapter.tools.text import Text


@frozen
class Change:
    """One file as it will be: `new` is None where it goes."""

    document: Document
    new: Text | None

    def diff(self, ctx: ToolContext) -> Shown:
        old = self.document.text
        return shown.diff(
            spelled(self.document.path, ctx), old.text if old else None, self.new.text if self.new else ""
        )


class ApplyPatch:
    name = "apply_patch"
    description = (
        "Change files by a patch between *** Begin Patch and *** End Patch, with sections *** Add File:, "
        "*** Update File: (hunks of ' ', '-' and '+' lines after @@) and *** Delete File:."
    )
    parameters = schema(["patch"], patch=text("The whole patch."))

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        sections = parse(args["patch"])
        paths = [stated(name, name, ctx) for name in _names(sections)]
        preview: list[Shown] = []
        if all(inside(path, ctx.roots) for path in paths):
            preview = [change.diff(ctx) for change in await _planned(sections, ctx)]
        title = "Patch " + ", ".join(name_of(path, ctx) for path in paths[:3]) + (" …" if len(paths) > 3 else "")
        locations = [Location(str(spelled(path, ctx))) for path in paths[:20]]
        return Intent(title, "edit", "edit", paths, locations=locations, preview=preview)

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        sections = parse(args["patch"])
        paths = {permitted(name, name, ctx) for name in _names(sections)}
        async with AsyncExitStack() as locks:
            for path in sorted(paths):
                await locks.enter_async_context(documents.lock(path))
            changes = await _planned(sections, ctx)
            await _save(changes, ctx)
        return ToolResult(
            "\n".join(_told(change, ctx) for change in changes),
            shown=[change.diff(ctx) for change in changes],
            locations=[Location(str(spelled(change.document.path, ctx))) for change in changes[:20]],
        )


def _names(sections: Sequence[Section]) -> list[str]:
    return [name for section in sections for name in (section.path, section.move_to) if name]


async def _planned(sections: Sequence[Section], ctx: ToolContext) -> list[Change]:
    """Every change worked out before the first is made. Raises ToolError where one does not fit."""
    changes: dict[Path, Change] = {}
    for section in sections:
        path = permitted(section.path, section.path, ctx)
        document = changes[path].document if path in changes else await documents.load(path, ctx)
        documents.check_unchanged(document, ctx)
        current = changes[path].new if path in changes else document.text
        new = await asyncio.to_thread(_new_text, section, current, name_of(path, ctx))
        if section.move_to:
            target = permitted(section.move_to, section.move_to, ctx)
            if target in changes and changes[target].new is not None:
                raise ToolError(f"The patch makes {name_of(target, ctx)} twice.")
            changes[target] = Change(await _free(target, ctx), new)
            new = None
        changes[path] = Change(document, new)
    for change in changes.values():
        if change.new is not None:
            change.new.encode()
            documents.check_no_mark(change.document, change.new)
    return list(changes.values())


async def _free(path: Path, ctx: ToolContext) -> Document:
    document = await documents.load(path, ctx)
    if document.text is not None:
        raise ToolError(f"{name_of(path, ctx)} exists already, so nothing is moved there.")
    return document


def _new_text(section: Section, current: Text | None, name: str) -> Text | None:
    if section.kind == "add":
        if current is not None:
            raise ToolError(f"{name} exists already. Use *** Update File: to change it.")
        return Text("".join(f"{line}\n" for line in section.lines))
    if current is None:
        raise ToolError(f"There is no file {name}.")
    if section.kind == "delete":
        return None
    return current.saying(applied(current.text, section.hunks, current.newline))


async def _save(changes: Sequence[Change], ctx: ToolContext) -> None:
    """One after the other; where one fails, what was done before it is said."""
    done: list[Change] = []
    try:
        for change in changes:
            if change.new is None:
                await documents.remove(change.document, ctx)
            else:
                await documents.save(change.document, change.new, ctx, whole=True)
            done.append(change)
    except ToolError as fault:
        if not done:
            raise
        told = "; ".join(_told(change, ctx) for change in done)
        raise ToolError(f"{fault.message} Done before that: {told}") from fault


def _told(change: Change, ctx: ToolContext) -> str:
    name = name_of(change.document.path, ctx)
    if change.new is None:
        return f"Deleted {name}."
    return f"{'Created' if change.document.text is None else 'Edited'} {name}."
