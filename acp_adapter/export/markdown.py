"""Conversations as Markdown (CommonMark), to read, to keep in a repository, to paste into an issue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from acp_adapter.export import pieces
from acp_adapter.export.conversation import Conversation, Step, Write, steps, tool_status, tool_title
from acp_adapter.export.pieces import Piece
from acp_adapter.transcript import Message, ToolCall

_HEADINGS = {"user": "You", "assistant": "Agent", "system": "System"}


def write(conversations: Iterable[Conversation], out: Write) -> None:
    for conversation in conversations:
        for paragraph in paragraphs(conversation):
            out(paragraph + "\n\n")


def paragraphs(conversation: Conversation) -> Iterator[str]:
    session = conversation.session
    yield f"# {_one_line(conversation.title or 'Untitled conversation')}"
    yield "\n".join(
        f"- {name}: {_one_line(value)}"
        for name, value in (
            ("Session", f"`{conversation.id}`"),
            ("Program", session.source),
            ("Model", session.model or "none"),
            ("Folder", session.cwd),
            ("Time", f"{moment(session.started_at)} to {moment(session.last_active)}"),
        )
    )
    speaker = ""
    for step in steps(conversation):
        heading = "Summary of what was compacted" if step.is_summary else _HEADINGS[step.message.role]
        if heading != speaker:
            yield f"## {heading}"
        speaker = heading
        yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    message = step.message
    if thought := message.reasoning or message.reasoning_content:
        yield "\n".join(f"> {line}".rstrip() for line in thought.strip().splitlines())
    yield from filter(None, map(_shown, pieces.of_message(message)))
    for call, result in step.calls:
        yield from _called(call, result)


def _called(call: ToolCall, result: Message) -> Iterator[str]:
    status = tool_status(result)
    yield f"**{_one_line(tool_title(call, result))}** (`{call.name}`{'' if status == 'completed' else ', ' + status})"
    yield fenced(indented(call.arguments), "json")
    yield from filter(None, map(_shown, pieces.of_result(result)))


def _shown(piece: Piece) -> str:
    label = f"`{_one_line(piece.label)}`\n\n" if piece.label else ""
    if piece.kind == "text":
        return piece.text.strip()
    if piece.kind == "link":
        return f"[{_one_line(piece.label or piece.text)}](<{_one_line(piece.text)}>)"
    if piece.kind == "image":
        return f"![image](<{_one_line(piece.text)}>)"
    if piece.kind == "other":
        return f"[{piece.text}]"
    return label + fenced(piece.text, "diff" if piece.kind == "diff" else "")


def fenced(text: str, language: str = "") -> str:
    """`text` in a fence that is longer than any within."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def indented(arguments: str) -> str:
    """A call's arguments as JSON for people, or as they stand where they are not JSON."""
    try:
        return json.dumps(json.loads(arguments or "{}"), ensure_ascii=False, indent=2)
    except ValueError:
        return arguments


def moment(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _one_line(text: str) -> str:
    return " ".join(text.split())
