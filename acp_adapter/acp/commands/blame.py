"""`/blame`: which session and prompt wrote a line of a file, unsaved changes in the editor included."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.acp.commands.ledger import age
from acp_adapter.agent.base import StopReason
from acp_adapter.agent.blame import Line, blamed, place, told
from acp_adapter.errors import InvalidParams
from acp_adapter.tools import documents
from acp_adapter.tools.paths import inside

OTHERS = {
    "other": "other hands, after a session had changed the file",
    "before": "there before any change on record",
    "unknown": "not to be said: what the file was is not kept",
}


async def blame(asked: Asked) -> StopReason:
    """`/blame FILE[:LINE]`: of a file as the editor has it; without a line, how many lines each session wrote."""
    if not asked.argument:
        raise InvalidParams("Say which line: `/blame FILE:LINE`, or `/blame FILE` for all of it.")
    named, number = place(asked.argument, asked.session.cwd)
    path = Path(await asyncio.to_thread(os.path.realpath, named))
    if not inside(path, asked.session.workspace.roots):
        raise InvalidParams(f"{path} lies outside the session's folders. Use `acp-adapter blame` in a terminal.")
    document = await documents.load(path, asked.session.workspace.context(""))
    if document.text is None:
        raise InvalidParams(f"There is no file {path}.")
    found = await asked.services.ledger(blamed, path, document.text.text, number)
    return await asked.say("\n".join(_writers(found) if number is None else [_written(found[0])]))


def _written(line: Line) -> str:
    return f"`{line.text.strip()}`\n\n{told(line, age(line.when or 0))}"


def _writers(found: Sequence[Line]) -> Iterator[str]:
    """Each writer with the lines that are its own."""
    lines: dict[tuple[str, str | None, str | None], list[Line]] = {}
    for line in found:
        key = (line.by, line.session_id, line.turn) if line.by == "session" else (line.by, None, None)
        lines.setdefault(key, []).append(line)
    for (by, session_id, _), own in lines.items():
        numbers = ", ".join(_ranges([line.number for line in own]))
        about = f"“{own[0].prompt or own[0].title or '(no title)'}”, {age(own[0].when or 0)} (`{session_id}`)"
        yield f"- {about if by == 'session' else OTHERS[by]}: lines {numbers}"


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """1, 2, 3, 7 as 1-3, 7."""
    first = last = numbers[0]
    for number in [*numbers[1:], 0]:
        if number != last + 1:
            yield str(first) if first == last else f"{first}-{last}"
            first = number
        last = number


BLAME = [Command("blame", "Say which session and prompt wrote a line", blame, "FILE[:LINE]")]
