"""The lines of an answer of Ollama's `/api/chat` → deltas, then the whole answer. No I/O.

    answer = OllamaAnswer()
    for line in lines:
        for delta in answer.feed(line): ...
    answer.completed()

Form: `ChatResponse` in Ollama's API (docs/api.md, api/types.go). Calls come whole, their arguments as objects.
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

FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length"}
UNLOADED = {"load", "unload"}
"""Reasons of an answer to a request for no answer."""

Json = dict[str, Any]


@define(eq=False)
class OllamaAnswer:
    """One answer being assembled."""

    _text: list[str] = field(factory=list)
    _thinking: list[str] = field(factory=list)
    _calls: list[Json] = field(factory=list)
    _finish: str | None = None
    _usage: Usage | None = None

    def feed(self, line: Json) -> list[TextDelta | ReasoningDelta]:
        """Take a line in; the deltas that it brings. Raises BrokenStream for one that is not of this form."""
        try:
            return list(self._line(line))
        except (AttributeError, TypeError, ValueError) as error:
            raise BrokenStream("The model's server sent a line in a form of its own.") from error

    def completed(self) -> Completed:
        """The whole answer. Raises BrokenStream when the stream ended before the answer did."""
        said = bool(self._text or self._calls)
        if self._finish is None or self._finish in UNLOADED:
            raise BrokenStream("The model's answer broke off before its end." if said else "The model sent no answer.")
        finish = FINISH.get(self._finish, "stop")
        if finish == "stop" and self._calls:
            finish = "tool_calls"
        message = Message(
            role="assistant",
            content="".join(self._text) or None,
            tool_calls=self._calls or None,
            finish_reason=finish,
            reasoning="".join(self._thinking) or None,
        )
        return Completed(message, finish, self._usage)

    def _line(self, line: Json) -> Iterator[TextDelta | ReasoningDelta]:
        message = line.get("message") or {}
        if thought := message.get("thinking"):
            self._thinking.append(thought)
            yield ReasoningDelta(thought)
        if text := message.get("content"):
            self._text.append(text)
            yield TextDelta(text)
        for call in message.get("tool_calls") or ():
            self._call(call)
        if line.get("done"):
            self._finish = str(line.get("done_reason") or "stop")
            self._usage = _usage(line)

    def _call(self, call: Json) -> None:
        """In OpenAI's stored form. Each call has an id of its own, whatever the server sent."""
        call_id = str(call.get("id") or "")
        if not call_id or any(call_id == other["id"] for other in self._calls):
            call_id = f"call_{uuid.uuid4().hex[:24]}"
        function = call.get("function") or {}
        arguments = function.get("arguments") or {}
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        self._calls.append(ToolCall(call_id, str(function.get("name") or ""), text).raw())


def _usage(line: Json) -> Usage | None:
    """None where nothing was counted. `prompt_eval_count` is the whole prompt, what was in the cache included."""
    counts = [line.get(key) for key in ("prompt_eval_count", "eval_count")]
    given, made = (count if isinstance(count, int) else 0 for count in counts)
    return Usage(input_tokens=given, output_tokens=made) if given or made else None
