"""The tool trace: each call of a session with how it went, read from its messages."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from acp_adapter.pairing import paired
from acp_adapter.transcript import Message, ToolCall


@frozen
class TracedCall:
    """One tool call. Sizes are in bytes of UTF-8; `duration` is in seconds, None where nobody measured it."""

    call_id: str
    name: str
    status: str
    argument_bytes: int
    result_bytes: int
    duration: float | None
    timestamp: float


def traced(messages: Sequence[Message]) -> list[TracedCall]:
    """The calls in the order in which they were made."""
    calls: dict[str, ToolCall] = {}
    found = []
    for message in paired(messages):
        calls |= {call.id: call for call in message.calls()}
        if message.role == "tool" and message.tool_call_id in calls:
            found.append(_traced(calls[message.tool_call_id], message))
    return found


def _traced(call: ToolCall, result: Message) -> TracedCall:
    details = result.details or {}
    return TracedCall(
        call_id=call.id,
        name=call.name,
        status=details.get("status", "completed"),
        argument_bytes=len(call.arguments.encode("utf-8", "replace")),
        result_bytes=len(result.text().encode("utf-8", "replace")),
        duration=details.get("duration"),
        timestamp=result.timestamp,
    )
