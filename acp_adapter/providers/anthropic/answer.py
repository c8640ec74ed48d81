"""The events of a streamed message → deltas, then the whole answer. No I/O.

    answer = MessagesAnswer()
    for event in events:
        for delta in answer.feed(event): ...
    answer.completed()

Form: Anthropic's Messages API, "Streaming messages": message_start, content_block_start, …_delta, …_stop,
message_delta, message_stop, and ping. A server that does not stream answers with one whole `message`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from acp_adapter.errors import BrokenStream
from acp_adapter.providers.anthropic.blocks import SIGNED
from acp_adapter.providers.port import Completed, FinishReason, ReasoningDelta, TextDelta
from acp_adapter.transcript import Message, ToolCall, Usage

FINISH: dict[str, FinishReason] = {
    **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn"), "stop"),
    "tool_use": "tool_calls",
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    "refusal": "content_filter",
}

Json = dict[str, Any]


@define(eq=False)
class _Call:
    id: str
    name: str
    given: Json
    arguments: list[str] = field(factory=list)

    def raw(self) -> Json:
        text = "".join(self.arguments) or json.dumps(self.given, ensure_ascii=False)
        return ToolCall(self.id, self.name, text).raw()


@define(eq=False)
class MessagesAnswer:
    """One answer being assembled. Blocks are told apart by their index."""

    _text: list[str] = field(factory=list)
    _length: int = 0
    _details: dict[int, Json] = field(factory=dict)
    _calls: dict[int, _Call] = field(factory=dict)
    _others: set[int] = field(factory=set)
    _counts: Json = field(factory=dict)
    _finish: str | None = None
    _ended: bool = False

    def feed(self, event: Json) -> list[TextDelta | ReasoningDelta]:
        """Take an event in; the deltas that it brings. Raises BrokenStream for one that is not of this form."""
        try:
            return list(self._event(event))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BrokenStream("The model's server sent an event in a form of its own.") from error

    def completed(self) -> Completed:
        """The whole answer. Raises BrokenStream when the stream ended before the answer did."""
        said = bool(self._text or self._calls or self._details)
        if not self._ended or self._finish is None:
            raise BrokenStream("The model's answer broke off before its end." if said else "The model sent no answer.")
        finish = FINISH.get(self._finish, "stop")
        if finish in ("stop", "tool_calls"):
            finish = "tool_calls" if self._calls else "stop"
        details = list(self._details.values())
        message = Message(
            role="assistant",
            content="".join(self._text) or None,
            tool_calls=[call.raw() for call in self._calls.values()] or None,
            finish_reason=finish,
            reasoning="".join(detail.get("text", "") for detail in details) or None,
            reasoning_details=details or None,
        )
        return Completed(message, finish, usage_of(self._counts) if self._counts else None)

    def _event(self, event: Json) -> Iterator[TextDelta | ReasoningDelta]:
        kind = event.get("type")
        if kind == "message_start":
            self._count(event["message"].get("usage"))
        elif kind == "content_block_start":
            yield from self._start(event["index"], event["content_block"])
        elif kind == "content_block_delta":
            yield from self._delta(event["index"], event["delta"])
        elif kind == "message_delta":
            self._count(event.get("usage"))
            yield from self._end(event["delta"])
        elif kind == "message_stop":
            self._ended = True
        elif kind == "message":
            yield from self._whole(event)

    def _whole(self, message: Json) -> Iterator[TextDelta | ReasoningDelta]:
        self._count(message.get("usage"))
        for index, block in enumerate(message["content"]):
            yield from self._start(index, block)
        yield from self._end(message)
        self._ended = True

    def _end(self, end: Json) -> Iterator[TextDelta]:
        """Why the answer ends; a refusal may explain itself, which is shown in place of what was not said."""
        self._finish = end.get("stop_reason") or self._finish
        explanation = (end.get("stop_details") or {}).get("explanation")
        if explanation:
            yield from self._say(("\n\n" if self._text else "") + explanation)

    def _start(self, index: int, block: Json) -> Iterator[TextDelta | ReasoningDelta]:
        kind = block["type"]
        if kind == "text":
            yield from self._say(block.get("text") or "")
        elif kind == "thinking":
            self._details[index] = self._detail("reasoning.text", text="", signature=block.get("signature"))
            yield from self._think(index, block.get("thinking") or "")
        elif kind == "redacted_thinking":
            self._details[index] = self._detail("reasoning.encrypted", data=block["data"])
        elif kind == "tool_use":
            taken = {call.id for call in self._calls.values()}
            known = str(block.get("id") or "")
            call_id = known if known and known not in taken else f"toolu_{uuid.uuid4().hex[:24]}"
            self._calls[index] = _Call(call_id, str(block.get("name") or ""), block.get("input") or {})
        else:
            self._others.add(index)

    def _detail(self, kind: str, **values: Any) -> Json:
        place = [self._length, len(self._calls)]
        return {"type": kind, **values, "format": SIGNED, "index": len(self._details), "at": place}

    def _delta(self, index: int, delta: Json) -> Iterator[TextDelta | ReasoningDelta]:
        kind = delta["type"]
        if index in self._others:
            return
        if kind == "text_delta":
            yield from self._say(delta["text"])
        elif kind == "thinking_delta":
            yield from self._think(index, delta["thinking"])
        elif kind == "signature_delta":
            self._details[index]["signature"] = (self._details[index].get("signature") or "") + delta["signature"]
        elif kind == "input_json_delta":
            self._calls[index].arguments.append(delta["partial_json"])

    def _say(self, text: str) -> Iterator[TextDelta]:
        if text:
            self._text.append(text)
            self._length += len(text)
            yield TextDelta(text)

    def _think(self, index: int, text: str) -> Iterator[ReasoningDelta]:
        if text:
            self._details[index]["text"] += text
            yield ReasoningDelta(text)

    def _count(self, counts: Json | None) -> None:
        """Later counts are of the whole message so far; those that are left out stay."""
        self._counts |= {name: value for name, value in (counts or {}).items() if value is not None}


def usage_of(raw: Json) -> Usage:
    """`input_tokens` there is what came from no cache and went into none; ours is the whole prompt."""
    read, written = _number(raw.get("cache_read_input_tokens")), _number(raw.get("cache_creation_input_tokens"))
    details = raw.get("output_tokens_details")
    return Usage(
        input_tokens=_number(raw.get("input_tokens")) + read + written,
        output_tokens=_number(raw.get("output_tokens")),
        cache_read_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=_number(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
    )


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0
