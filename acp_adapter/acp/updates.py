"""TurnEvent → `session/update`: the only translator, used live and for replay.

ACP v1, section Prompt Turn and Tool Calls. A notice goes as ACP's `notice` to a client that can present it, and as
agent text to any other, so that it is always visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from acp_adapter.acp import types
from acp_adapter.acp.content import blocks_of
from acp_adapter.acp.converter import structure
from acp_adapter.agent import events
from acp_adapter.tools.port import Location, Shown
from acp_adapter.transcript import new_id


def updates_of(event: events.TurnEvent, notices: bool) -> Iterator[types.SessionUpdate]:
    """The updates that tell `event`, in order. `notices` is whether the client can present a `notice`."""
    if isinstance(event, events.TextChunk):
        yield types.AgentMessageChunk(types.TextContent(event.text), event.message_id)
    elif isinstance(event, events.Noticed):
        yield _notice(event) if notices else _spoken(event)
    elif isinstance(event, events.UserMessage):
        for block in blocks_of(event.parts):
            yield types.UserMessageChunk(structure(block, types.ContentBlock), event.message_id)
    else:
        yield _TRANSLATORS[type(event)](event)


def stamp(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _thought(event: events.ThoughtChunk) -> types.SessionUpdate:
    return types.AgentThoughtChunk(types.TextContent(event.text), event.message_id)


def _call(event: events.ToolCallStarted) -> types.SessionUpdate:
    return types.ToolCall(
        tool_call_id=event.call_id,
        title=event.title,
        name=event.name,
        kind=event.kind,
        status=event.status,
        content=_content(event.content),
        locations=_locations(event.locations),
        raw_input=event.raw_input,
        raw_output=event.raw_output,
    )


def _call_update(event: events.ToolCallChanged) -> types.SessionUpdate:
    return types.ToolCallUpdate(
        tool_call_id=event.call_id,
        title=event.title,
        kind=event.kind,
        status=event.status,
        content=None if event.content is None else _content(event.content),
        locations=None if event.locations is None else _locations(event.locations),
        raw_output=event.raw_output,
    )


def _plan(event: events.PlanChanged) -> types.SessionUpdate:
    return types.Plan([structure(entry, types.PlanEntry) for entry in event.entries])


def _usage(event: events.UsageChanged) -> types.SessionUpdate:
    cost = None if event.cost is None else types.Cost(event.cost, "USD")
    return types.UsageUpdate(event.used, event.size, cost)


def _title(event: events.TitleChanged) -> types.SessionUpdate:
    return types.SessionInfoUpdate(event.title, stamp(event.last_active))


def _mode(event: events.ModeChanged) -> types.SessionUpdate:
    return types.CurrentModeUpdate(event.mode)


def _notice(event: events.Noticed) -> types.SessionUpdate:
    return types.Notice(event.severity, event.title, event.description)


def _spoken(event: events.Noticed) -> types.SessionUpdate:
    text = f"{event.title}: {event.description}" if event.description else event.title
    return types.AgentMessageChunk(types.TextContent(f"\n\n> **{event.severity}** {text}\n\n"), new_id())


def _content(shown: Sequence[Shown]) -> list[types.ToolCallContent]:
    return [structure(item, types.ToolCallContent) for item in shown]


def _locations(locations: Sequence[Location]) -> list[types.ToolCallLocation]:
    return [types.ToolCallLocation(at.path, at.line) for at in locations]


_TRANSLATORS: dict[type, Callable[[Any], types.SessionUpdate]] = {
    events.ThoughtChunk: _thought,
    events.ToolCallStarted: _call,
    events.ToolCallChanged: _call_update,
    events.PlanChanged: _plan,
    events.UsageChanged: _usage,
    events.TitleChanged: _title,
    events.ModeChanged: _mode,
}
