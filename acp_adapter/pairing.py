"""Tool calls and their results, paired as every provider demands it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any

from attrs import define, evolve, field

from acp_adapter.transcript import Message, ToolCall, common_beginning

INTERRUPTED = "The tool call was interrupted before it gave a result."


@define(eq=False)
class Pairing:
    """`paired`, for a conversation that grows: what is settled is not looked at again.

    What is before a user message, all its calls answered, is settled: nothing that comes later can be paired with it.
    """

    _settled: list[Message] = field(factory=list)
    _paired: list[Message] = field(factory=list)

    def of(self, messages: Sequence[Message]) -> list[Message]:
        """The same as `paired(messages)`."""
        known = len(self._settled)
        if common_beginning(self._settled, messages) < known:
            self._settled, self._paired, known = [], [], 0
        if at := _settled_until(messages, known):
            self._paired = self._paired + paired(messages[known:at])
            self._settled, known = list(messages[:at]), at
        return self._paired + paired(messages[known:])


def _settled_until(messages: Sequence[Message], start: int) -> int:
    """The last position of a user message, beyond `start`, before which no call since then is open; 0 for none."""
    found, unanswered = 0, set[str]()
    for at in range(start, len(messages)):
        message = messages[at]
        if message.role == "user" and not unanswered and at > start:
            found = at
        unanswered |= {call.id for call in message.calls()}
        if message.role == "tool" and message.tool_call_id:
            unanswered.discard(message.tool_call_id)
    return found


@define(eq=False)
class Calls:
    """The tool calls of a conversation that grows; of what stayed the same nothing is looked at again."""

    _seen: list[Message] = field(factory=list)
    _ids: set[str] = field(factory=set)
    _answered: set[str] = field(factory=set)
    _open: list[ToolCall] = field(factory=list)

    def ids(self, messages: Sequence[Message]) -> Set[str]:
        """The ids of all calls."""
        self._look(messages)
        return self._ids

    def open(self, messages: Sequence[Message]) -> list[ToolCall]:
        """The calls that have no result, in order."""
        self._look(messages)
        return [call for call in self._open if call.id not in self._answered]

    def _look(self, messages: Sequence[Message]) -> None:
        if common_beginning(self._seen, messages) < len(self._seen):
            self._seen, self._ids, self._answered, self._open = [], set(), set(), []
        for message in messages[len(self._seen) :]:
            self._seen.append(message)
            if message.role == "tool" and message.tool_call_id is not None:
                self._answered.add(message.tool_call_id)
            if message.tool_calls:
                calls = message.calls()
                self._ids.update(call.id for call in calls)
                self._open = [call for call in (*self._open, *calls) if call.id not in self._answered]


def closing_result(call: ToolCall, **values: Any) -> Message:
    """The result of a call that will never get one of its own; `values` are further fields of the Message."""
    return Message(
        role="tool",
        content=INTERRUPTED,
        tool_call_id=call.id,
        tool_name=call.name or None,
        details={"status": "failed"},
        **values,
    )


def paired(messages: Sequence[Message]) -> list[Message]:
    """The messages with exactly one result directly after each tool call, in the order of the calls.

    The rule: a call's result is the first tool message with its id before another message uses that id for a
    call of its own. A call without one gets a closing result (in memory only); results that answer nothing, second
    results, and a second call with an id of the same message are left out. What is already in order is unchanged.
    """
    asking = [_with_unique_calls(message) for message in messages]
    results = _results(asking)
    return [out for at, message in enumerate(asking) for out in _with_results(at, message, results)]


def _results(messages: Sequence[Message]) -> dict[tuple[int, str], Message]:
    """The result of each call, by the position of the message that made it and the call's id."""
    asked: dict[str, int] = {}
    found: dict[tuple[int, str], Message] = {}
    for at, message in enumerate(messages):
        for call in message.calls():
            asked[call.id] = at
        if message.role == "tool" and message.tool_call_id in asked:
            found.setdefault((asked[message.tool_call_id], message.tool_call_id), message)
    return found


def _with_results(at: int, message: Message, results: dict[tuple[int, str], Message]) -> Iterator[Message]:
    if message.role == "tool":
        return
    yield message
    for call in message.calls():
        closing = closing_result(call, id=f"{message.id}/{call.id}", timestamp=message.timestamp)
        yield results.get((at, call.id), closing)


def _with_unique_calls(message: Message) -> Message:
    first = {call.id: raw for raw, call in zip(message.tool_calls or (), message.calls(), strict=True)}
    if len(first) == len(message.tool_calls or ()):
        return message
    seen: set[str] = set()
    kept = []
    for raw, call in zip(message.tool_calls or (), message.calls(), strict=True):
        if call.id not in seen:
            seen.add(call.id)
            kept.append(raw)
    return evolve(message, tool_calls=kept)
