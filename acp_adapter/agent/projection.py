"""Stored messages → TurnEvents: what replay tells an editor, made of the same pieces as a live turn.

A tool message's `details` hold what the editor was shown beyond the message's own text:

    title, kind, status      as ACP's ToolCall has them
    locations                [{path, line}]
    content                  shown content; absent where it is just the message's text. A terminal lives no longer
                             than its editor, so replay shows the text in its place
    rawOutput                absent where there is none
    plan                     PlanEntry JSON, where the call published a plan
    permission               what was decided: verdict, by (mode, rule or user), and the mode, rule or choice
    duration                 seconds
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from acp_adapter.agent.events import (
    CompactionChanged,
    PlanChanged,
    TextChunk,
    ThoughtChunk,
    ToolCallChanged,
    ToolCallStarted,
    ToolStatus,
    TurnEvent,
    UserMessage,
)
from acp_adapter.tools import shown
from acp_adapter.tools.port import Intent, Kind, Location, Shown, ToolResult
from acp_adapter.transcript import Message, Part, ToolCall


def thought_id(message_id: str) -> str:
    """The ACP messageId of a message's reasoning: stable, and another than its text's."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, message_id))


VERBATIM = ("read", "search", "execute")
"""Kinds of call whose text is not Markdown, and is shown in a fence."""


def shown_text(text: str, kind: Kind, failed: bool) -> list[Shown]:
    """A result's own text as an editor should show it."""
    if not text:
        return []
    return [shown.code(text) if kind in VERBATIM and not failed else shown.text(text)]


DEEPEST = 50
"""Levels of nested arguments that are taken for meant."""


def parsed(arguments: str) -> Any:
    """A call's arguments as JSON, or the model's own text where they are not JSON, or nested absurdly deep."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    return arguments if _is_too_deep(value) else value


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _children(outer)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def started(call: ToolCall, intent: Intent | None) -> ToolCallStarted:
    """The first event of a call; `intent` is None where the call can't even be understood."""
    return ToolCallStarted(
        call_id=call.id,
        name=call.name,
        title=intent.title if intent else call.name,
        kind=intent.kind if intent else "other",
        status="pending",
        raw_input=parsed(call.arguments),
        locations=intent.locations if intent else (),
        content=intent.preview if intent else (),
    )


def finished(start: ToolCallStarted, result: ToolResult, ruling: Mapping[str, str] | None = None) -> ToolCallChanged:
    """The last event of a call. `ruling` is the record of what was decided about it."""
    return ToolCallChanged(
        call_id=start.call_id,
        status="failed" if result.failed else "completed",
        locations=list(result.locations) or None,
        content=list(result.shown) or shown_text(result.text, start.kind, result.failed),
        raw_output=result.raw_output,
        ruling=ruling,
    )


def details_of(
    start: ToolCallStarted,
    result: ToolResult,
    duration: float,
    plan: Sequence[dict[str, Any]] | None = None,
    ruling: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What the ledger keeps so that replay shows a call as it was shown live."""
    details: dict[str, Any] = {
        "title": start.title,
        "kind": start.kind,
        "status": "failed" if result.failed else "completed",
        "duration": round(duration, 3),
    }
    locations = list(result.locations) or list(start.locations)
    if locations:
        details["locations"] = [{"path": at.path, **({"line": at.line} if at.line else {})} for at in locations]
    content = [each for each in result.shown if each.get("type") != "terminal"]
    if content:
        details["content"] = content
    if result.raw_output is not None:
        details["rawOutput"] = result.raw_output
    if plan is not None:
        details["plan"] = list(plan)
    if ruling is not None:
        details["permission"] = dict(ruling)
    return details


Open = Callable[[ToolCall], ToolCallStarted | None]
"""How a call without a result stands, None for one that nobody runs any more."""


Place = tuple[str, str]
"""Where a user's message was said: `before` an answer's first word, or `after` (amid) its thought or its text; and the
id of that."""


def events_of(messages: Iterable[Message], still_open: Open = lambda call: None) -> Iterator[TurnEvent]:
    """Replay: every event that rebuilds what the editor showed, in order.

    A call is told in one event with its newest status, at the place where the model made it. One without a result is
    failed, unless `still_open` knows better.
    """
    stored = list(messages)
    results = {m.tool_call_id: m for m in stored if m.role == "tool"}
    amid = _said_amid(stored)
    elsewhere = {message.id for said in amid.values() for message in said}
    for message in stored:
        if (message.details or {}).get("summary"):
            yield CompactionChanged(message.id, "completed", message.text())
        elif message.role == "user" and message.id not in elsewhere:
            yield UserMessage(message.id, parts_of(message))
        elif message.role == "assistant":
            yield from _assistant_events(message, results, still_open, amid)


def said_amid(message: Message, answer_id: str, shown: Message | None) -> Message:
    """The user's message, on record as said when so much of an answer had been shown that was asked for without it."""
    where = "after" if shown else "before"
    place = thought_id(answer_id) if shown and not shown.text() else answer_id
    return evolve(message, details={**(message.details or {}), where: place})


def _said_amid(stored: Sequence[Message]) -> dict[Place, list[Message]]:
    """The messages that the model read only after an answer before or amid which they were said and shown."""
    answers = [message for message in stored if message.role == "assistant"]
    places = {("before", answer.id) for answer in answers}
    places |= {("after", answer.id) for answer in answers if answer.text()}
    places |= {("after", thought_id(answer.id)) for answer in answers if _thought(answer)}
    found: dict[Place, list[Message]] = {}
    for message in stored:
        for where in ("before", "after"):
            place = (where, (message.details or {}).get(where, ""))
            if message.role == "user" and place in places:
                found.setdefault(place, []).append(message)
    return found


def parts_of(message: Message) -> Sequence[Part]:
    """A message's content as parts, whichever way it is stored."""
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}]
    return message.content or []


def events_since(messages: Sequence[Message], known: Collection[int]) -> Iterator[TurnEvent]:
    """What a conversation gained beyond the rows `known`: results of calls that were shown before, then what is new."""
    fresh = [message for message in messages if message.row not in known]
    results = {m.tool_call_id: m for m in fresh if m.role == "tool"}
    for message in messages:
        for call in message.calls() if message.row in known else ():
            if result := results.get(call.id):
                shown = _replayed(call, result)
                yield ToolCallChanged(
                    shown.call_id,
                    shown.title,
                    shown.kind,
                    shown.status,
                    shown.locations,
                    shown.content,
                    shown.raw_output,
                    shown.ruling,
                )
    yield from events_of(fresh)


def running_elsewhere(call: ToolCall) -> ToolCallStarted:
    """A call of a turn that another process runs: what it is about to do is known there."""
    return evolve(started(call, None), status="in_progress")


def _assistant_events(
    message: Message, results: dict[str | None, Message], still_open: Open, amid: Mapping[Place, Sequence[Message]]
) -> Iterator[TurnEvent]:
    def said(where: str, shown: str) -> Iterator[TurnEvent]:
        return (UserMessage(each.id, parts_of(each)) for each in amid.get((where, shown), ()))

    yield from said("before", message.id)
    if thought := _thought(message):
        yield ThoughtChunk(thought_id(message.id), thought)
        yield from said("after", thought_id(message.id))
    if text := message.text():
        yield TextChunk(message.id, text)
        yield from said("after", message.id)
    for call in message.calls():
        result = results.get(call.id)
        running = None if result else still_open(call)
        yield running or _replayed(call, result)
        if result and result.details and "plan" in result.details:
            yield PlanChanged(result.details["plan"])


def _thought(message: Message) -> str | None:
    return message.reasoning or message.reasoning_content


def _replayed(call: ToolCall, result: Message | None) -> ToolCallStarted:
    details = (result.details if result else None) or {}
    kind: Kind = details.get("kind") or "other"
    status = _status(result)
    return ToolCallStarted(
        call_id=call.id,
        name=call.name,
        title=details.get("title") or call.name,
        kind=kind,
        status=status,
        raw_input=parsed(call.arguments),
        locations=[Location(at["path"], at.get("line")) for at in details.get("locations", ())],
        content=details.get("content") or shown_text(result.text() if result else "", kind, status == "failed"),
        raw_output=details.get("rawOutput"),
        ruling=details.get("permission"),
    )


def _status(result: Message | None) -> ToolStatus:
    if result is None:
        return "failed"
    status: ToolStatus = (result.details or {}).get("status", "completed")
    return status
