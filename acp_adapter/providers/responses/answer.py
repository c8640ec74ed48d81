"""The events of a streamed response → deltas, then the whole answer. No I/O.

    answer = ResponsesAnswer(request.max_tokens)
    for event in events:
        for delta in answer.feed(event): ...
    answer.completed()

Form: OpenAI's Responses API, "Streaming events": text, refusal and reasoning deltas, whole items as they are done, and
one event that ends it: `response.completed`, `.incomplete` or `.failed`. Other servers leave out the items' index, the
deltas, the items of the last event, or that an answer was cut; one that does not stream sends the response alone.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from acp_adapter.errors import BrokenStream
from acp_adapter.providers.port import Completed, FinishReason, ReasoningDelta, TextDelta
from acp_adapter.providers.responses.request import PLACE, text_of_item
from acp_adapter.transcript import Message, ToolCall, Usage

INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
TEXT = {"response.output_text.delta", "response.refusal.delta"}
REASONING = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}

Json = dict[str, Any]


@define(eq=False)
class ResponsesAnswer:
    """One answer being assembled. `limit` is how many tokens it may have."""

    limit: int | None = None
    _text: list[str] = field(factory=list)
    _reasoning: list[str] = field(factory=list)
    _items: dict[int, Json] = field(factory=dict)
    _response: Json | None = None

    def feed(self, event: Json) -> list[TextDelta | ReasoningDelta]:
        """Take an event in; the deltas that it brings. Raises BrokenStream for one that is not of this form."""
        try:
            return list(self._event(event))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BrokenStream("The model's server sent an event in a form of its own.") from error

    def completed(self) -> Completed:
        """The whole answer. Raises BrokenStream when the stream ended before the answer did."""
        if self._response is None:
            said = bool(self._text or self._items)
            raise BrokenStream("The model's answer broke off before its end." if said else "The model sent no answer.")
        try:
            return self._whole(self._response)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise BrokenStream("The model's server sent an answer in a form of its own.") from error

    def _whole(self, response: Json) -> Completed:
        items = self._output(response)
        calls = list(_calls(items))
        messages = [{**item, PLACE: at} for at, item in items.items() if item.get("type") == "message"]
        reasoning = [{**item, PLACE: at} for at, item in items.items() if item.get("type") == "reasoning"]
        raw = response.get("usage")
        usage = usage_of(raw) if raw else None
        finish = self._finish(response, usage) or ("tool_calls" if calls else "stop")
        message = Message(
            role="assistant",
            content="".join(self._text) or None,
            tool_calls=calls or None,
            finish_reason=finish,
            reasoning="".join(self._reasoning) or None,
            codex_reasoning_items=reasoning or None,
            codex_message_items=messages or None,
        )
        return Completed(message, finish, usage)

    def _output(self, response: Json) -> dict[int, Json]:
        return dict(enumerate(response.get("output") or ())) or self._items

    def _finish(self, response: Json, usage: Usage | None) -> FinishReason | None:
        """Why the answer is not whole; None for one that is."""
        reason = (response.get("incomplete_details") or {}).get("reason")
        if reason or response.get("status") == "incomplete":
            return INCOMPLETE.get(reason or "", "length")
        if "incomplete_details" in response:
            return None
        # llama.cpp says `completed` of an answer that it has cut.
        return "length" if self.limit and usage and usage.output_tokens >= self.limit else None

    def _event(self, event: Json) -> Iterator[TextDelta | ReasoningDelta]:
        kind = event.get("type")
        if kind in TEXT:
            yield from self._say(event["delta"])
        elif kind in REASONING:
            yield from self._think(event["delta"])
        elif kind == "response.reasoning_summary_part.added" and self._reasoning:
            yield from self._think("\n\n")
        elif kind == "response.output_item.done":
            self._items[event.get("output_index", len(self._items))] = event["item"]
        elif kind in ("response.completed", "response.incomplete"):
            yield from self._end(event["response"])
        elif event.get("object") == "response":
            yield from self._end(event)

    def _end(self, response: Json) -> Iterator[TextDelta]:
        """What is shown and what is stored are the same: text that came with its item alone is a delta now."""
        self._response = response
        said = "".join(self._text)
        whole = "".join(text_of_item(item) for item in self._output(response).values() if item.get("type") == "message")
        if whole.startswith(said):
            yield from self._say(whole[len(said) :])

    def _say(self, text: str) -> Iterator[TextDelta]:
        if text:
            self._text.append(text)
            yield TextDelta(text)

    def _think(self, text: str) -> Iterator[ReasoningDelta]:
        if text:
            self._reasoning.append(text)
            yield ReasoningDelta(text)


def _calls(items: dict[int, Json]) -> Iterator[Json]:
    """In OpenAI's stored form. Each call has an id of its own, whatever the server sent."""
    taken: set[str] = set()
    for at, item in items.items():
        if item.get("type") != "function_call":
            continue
        known = str(item.get("call_id") or "")
        unique = known if known and known not in taken else f"call_{uuid.uuid4().hex[:24]}"
        taken.add(unique)
        arguments = item.get("arguments") or ""
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        yield {**ToolCall(unique, str(item.get("name") or ""), text).raw(), PLACE: at}


def usage_of(raw: Json) -> Usage:
    """`input_tokens` counts the whole prompt, what was read from the cache included."""
    read, made = raw.get("input_tokens_details") or {}, raw.get("output_tokens_details") or {}
    return Usage(
        input_tokens=_number(raw.get("input_tokens")),
        output_tokens=_number(raw.get("output_tokens")),
        cache_read_tokens=_number(read.get("cached_tokens")),
        cache_write_tokens=_number(read.get("cache_write_tokens")),
        reasoning_tokens=_number(made.get("reasoning_tokens")),
    )


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0
