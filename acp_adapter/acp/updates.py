"""TurnEvent → `session/update`: the only translator, used live and for replay.

ACP v1, section Prompt Turn and Tool Calls. A notice goes as ACP's `notice` to a client that can present it, and as
agent text to any other, so that it is always visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from acp_adapter.acp import types
from acp_adapter.acp.content import blocks_of
from acp_adapter.acp.converter import structure
from acp_adapter.agent import events
from acp_adapter.tools.port import Location, Shown
from acp_adapter.transcript import new_id


@frozen
class Presents:
    """Which optional updates a client can present."""

    notices: bool = False
    compaction: bool = False

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities) -> Presents:
        session = capabilities.session or types.ClientSessionCapabilities()
        return cls(session.notices is not None, session.compaction is not None)


def updates_of(event: events.TurnEvent, client: Presents) -> Iterator[types.SessionUpdate]:
    """The updates that tell `event` to such a client, in order."""
    if isinstance(event, events.TextChunk):
        yield types.AgentMessageChunk(types.TextContent(event.text), event.message_id)
    elif isinstance(event, events.Noticed):
        yield _notice(event) if client.notices else _spoken(event)
    elif isinstance(event, events.CompactionChanged):
        yield from [_compaction(event)] if client.compaction else _spoken_compaction(event)
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
        meta=_ruling(event.ruling),
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
        meta=_ruling(event.ruling),
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
    spoken = types.TextContent(f"\n\n> **{event.severity}** {text}\n\n")
    return types.AgentMessageChunk(spoken, new_id(), meta={"acp-adapter/notice": event.severity})


def _compaction(event: events.CompactionChanged) -> types.SessionUpdate:
    failed = event.status == "failed"
    summary = [types.TextContent(event.text)] if event.text and not failed else None
    return types.CompactionUpdate(event.compaction_id, event.status, summary, event.text if failed else None)


def _spoken_compaction(event: events.CompactionChanged) -> Iterator[types.SessionUpdate]:
    if event.status == "completed":
        text = "\n\n> Older messages were put into a summary for the model; they stay in the session.\n\n"
        yield types.AgentMessageChunk(types.TextContent(text), event.compaction_id)
    elif event.status == "failed":
        yield _spoken(events.Noticed("warning", "Compaction failed", event.text))


def _ruling(record: Mapping[str, str] | None) -> dict[str, Any] | None:
    return None if record is None else {"acp-adapter/permission": dict(record)}


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
