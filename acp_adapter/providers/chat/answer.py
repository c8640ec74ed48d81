"""The chunks of a streamed chat completion → deltas, then the whole answer. No I/O.

    answer = ChatAnswer()
    for chunk in chunks:
        for delta in answer.feed(chunk): ...
    answer.completed()

Form: OpenAI's `chat.completion.chunk`, and what other servers make of it: calls without index or id, whole calls in one
chunk, arguments as an object, `function_call`, a `message` in place of a `delta`, content as a list of parts.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from acp_adapter.errors import BrokenStream
from acp_adapter.providers.port import Completed, FinishReason, ReasoningDelta, TextDelta
from acp_adapter.transcript import Message, ToolCall, Usage

FINISH: dict[str, FinishReason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token"), "stop"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "tool_calls"),
    **dict.fromkeys(("length", "max_tokens", "model_length"), "length"),
    **dict.fromkeys(("content_filter", "safety", "refusal", "recitation", "prohibited_content"), "content_filter"),
}

ERRORS = {"error", "insufficient_system_resource"}

Json = dict[str, Any]


@define(eq=False)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(factory=list)
    extra: Json = field(factory=dict)

    def add(self, fragment: Json) -> None:
        function = fragment.get("function") or {}
        self.id = self.id or str(fragment.get("id") or "")
        self.name = self.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if arguments:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            self.arguments.append(text)
        if fragment.get("extra_content"):
            self.extra = {"extra_content": fragment["extra_content"]}

    def whole(self) -> bool:
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False


@define(eq=False)
class ChatAnswer:
    """One answer being assembled. `echoes` are the provider's own fields that its server wants back (see Dialect)."""

    echoes: frozenset[str] = frozenset()
    _text: list[str] = field(factory=list)
    _reasoning: list[str] = field(factory=list)
    _details: list[Json] = field(factory=list)
    _calls: list[_Call] = field(factory=list)
    _by_index: dict[Any, _Call] = field(factory=dict)
    _finish: str | None = None
    _usage: Usage | None = None

    def feed(self, chunk: Json) -> list[TextDelta | ReasoningDelta]:
        """Take a chunk in; the deltas that it brings. Raises BrokenStream for one that is not of this form."""
        try:
            return list(self._chunk(chunk))
        except (AttributeError, TypeError, ValueError) as error:
            raise BrokenStream("The model's server sent a chunk in a form of its own.") from error

    def completed(self, done: bool) -> Completed:
        """The whole answer. `done` tells whether the server marked the end of the stream.

        Raises BrokenStream when the stream ended before the answer did. An answer of nothing but reasoning, or of
        nothing at all, is whole if the server says so: what to make of it is the caller's business.
        """
        said = bool(self._text or self._calls)
        if self._finish in ERRORS or (self._finish is None and not (done and said)):
            raise BrokenStream("The model's answer broke off before its end." if said else "The model sent no answer.")
        calls = self._tool_calls()
        finish = FINISH.get(self._finish or "stop", "stop")
        if finish in ("stop", "tool_calls"):
            finish = "tool_calls" if calls else "stop"
        reasoning = "".join(self._reasoning) or None
        message = Message(
            role="assistant",
            content="".join(self._text) or None,
            tool_calls=calls or None,
            finish_reason=finish,
            reasoning=reasoning,
            reasoning_content=reasoning if "reasoning_content" in self.echoes else None,
            reasoning_details=self._details or None,
        )
        return Completed(message, finish, self._usage)

    def _chunk(self, chunk: Json) -> Iterator[TextDelta | ReasoningDelta]:
        if raw := chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage"):
            self._usage = usage_of(raw)
        for choice in chunk.get("choices") or ():
            if not choice.get("index"):
                self._finish = str(choice.get("finish_reason") or "").lower() or self._finish
                yield from self._delta(choice.get("delta") or choice.get("message") or {})

    def _delta(self, delta: Json) -> Iterator[TextDelta | ReasoningDelta]:
        details = delta.get("reasoning_details") or ()
        for detail in details:
            self._detail(detail)
        thought = delta.get("reasoning_content") or delta.get("reasoning") or "".join(map(_detail_text, details))
        if thought:
            self._reasoning.append(thought)
            yield ReasoningDelta(thought)
        if content := delta.get("content") or delta.get("refusal"):
            yield from self._content(content)
        for position, fragment in enumerate(delta.get("tool_calls") or ()):
            self._fragment(fragment, position)
        if legacy := delta.get("function_call"):
            self._fragment({"index": 0, "function": legacy}, 0)

    def _content(self, content: str | list[Json]) -> Iterator[TextDelta | ReasoningDelta]:
        if isinstance(content, str):
            self._text.append(content)
            yield TextDelta(content)
            return
        for part in content:
            if part.get("type") == "thinking":
                thought = "".join(inner.get("text", "") for inner in part.get("thinking") or ())
                self._reasoning.append(thought)
                yield ReasoningDelta(thought)
            elif text := part.get("text"):
                self._text.append(text)
                yield TextDelta(text)

    def _fragment(self, fragment: Json, position: int) -> None:
        index = fragment.get("index")
        call = self._by_index.get(index) if index is not None else self._continued(fragment)
        if call is None or _begins_another(call, fragment):
            call = _Call()
            self._calls.append(call)
        self._by_index[position if index is None else index] = call
        call.add(fragment)

    def _continued(self, fragment: Json) -> _Call | None:
        """Without an index: the call of that id, else the last one."""
        call_id = fragment.get("id")
        same = [call for call in self._calls if call_id and call.id == call_id] or self._calls
        return same[-1] if same else None

    def _tool_calls(self) -> list[Json]:
        """In OpenAI's stored form. Each call has an id of its own, whatever the server sent."""
        taken: set[str] = set()
        calls = []
        for call in self._calls:
            call_id = call.id or f"call_{uuid.uuid4().hex[:24]}"
            while call_id in taken:
                call_id = f"{call.id}_{len(taken)}"[-40:]
            taken.add(call_id)
            calls.append({**ToolCall(call_id, call.name, "".join(call.arguments)).raw(), **call.extra})
        return calls

    def _detail(self, detail: Json) -> None:
        """Join the fragments of one reasoning item; they carry the same type and index."""
        last = self._details[-1] if self._details else {}
        text = next((key for key in ("text", "summary") if isinstance(detail.get(key), str)), None)
        same = all(last.get(key) == detail.get(key) for key in ("type", "index"))
        if not same or "data" in detail or (text is None and "signature" not in detail):
            self._details.append(dict(detail))
            return
        if text:
            last[text] = last.get(text, "") + detail[text]
        last.update({key: value for key, value in detail.items() if key != text and value is not None})


def _begins_another(call: _Call, fragment: Json) -> bool:
    """Whether a fragment in the place of `call` is a new call: some servers give every call index 0, or none."""
    function = fragment.get("function") or {}
    if not function.get("name") or not call.name:
        return False
    call_id = fragment.get("id")
    if call_id and call.id:
        return bool(call_id != call.id)
    return bool(function.get("arguments")) and call.whole()


def _detail_text(detail: Json) -> str:
    text = detail.get("text") or detail.get("summary")
    return text if isinstance(text, str) else ""


def usage_of(raw: Json) -> Usage:
    """`input_tokens` counts the whole prompt, what was read from the cache included, as servers report it."""
    prompt = raw.get("prompt_tokens_details") or {}
    completion = raw.get("completion_tokens_details") or {}
    cost = raw.get("cost")
    return Usage(
        input_tokens=_count(raw.get("prompt_tokens")),
        output_tokens=_count(raw.get("completion_tokens")),
        cache_read_tokens=_count(prompt.get("cached_tokens") or raw.get("prompt_cache_hit_tokens")),
        cache_write_tokens=_count(prompt.get("cache_write_tokens")),
        reasoning_tokens=_count(completion.get("reasoning_tokens")),
        cost=float(cost) if isinstance(cost, int | float) else None,
    )


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0
