"""The chunks of a streamed `generateContent` answer → deltas, then the whole answer. No I/O.

    answer = GeminiAnswer()
    for chunk in chunks:
        for delta in answer.feed(chunk): ...
    answer.completed()

Form: the Gemini API v1beta, `GenerateContentResponse`; why it ends is `FinishReason` and `BlockReason` there.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field

from acp_adapter.errors import BrokenStream
from acp_adapter.providers.gemini.request import SIGNATURES
from acp_adapter.providers.port import Completed, FinishReason, ReasoningDelta, TextDelta
from acp_adapter.transcript import Message, ToolCall, Usage

FINISH: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY", "ESCALATION"),
        "content_filter",
    ),
}
"""All others (a call that is malformed, a language that is not known, OTHER) are no answer but an error."""

Json = dict[str, Any]


@define(eq=False)
class GeminiAnswer:
    """One answer being assembled. `tools` are the tools' own names by the names that they were declared under."""

    tools: Mapping[str, str] = field(factory=dict)
    _text: str = ""
    _reasoning: list[str] = field(factory=list)
    _signatures: list[Json] = field(factory=list)
    _calls: list[Json] = field(factory=list)
    _finish: str | None = None
    _told: str = ""
    _blocked: str | None = None
    _usage: Usage | None = None

    def feed(self, chunk: Json) -> list[TextDelta | ReasoningDelta]:
        """Take a chunk in; the deltas that it brings. Raises BrokenStream for one that is not of this form."""
        try:
            return list(self._chunk(chunk))
        except (AttributeError, TypeError, ValueError) as error:
            raise BrokenStream("The model's server sent a chunk in a form of its own.") from error

    def completed(self) -> Completed:
        """The whole answer. A prompt that was blocked is one of nothing, with finish reason content_filter.

        Raises BrokenStream when the stream ended before the answer did, or the model could not make one.
        """
        finish = "content_filter" if self._blocked else FINISH.get(self._finish or "")
        if finish is None:
            raise BrokenStream(self._why_not())
        if finish == "stop" and self._calls:
            finish = "tool_calls"
        message = Message(
            role="assistant",
            content=self._text or None,
            tool_calls=self._calls or None,
            finish_reason=finish,
            reasoning="".join(self._reasoning) or None,
            reasoning_details=self._signatures or None,
        )
        return Completed(message, finish, self._usage)

    def _chunk(self, chunk: Json) -> Iterator[TextDelta | ReasoningDelta]:
        if counts := chunk.get("usageMetadata"):
            self._usage = usage_of(counts)
        self._blocked = (chunk.get("promptFeedback") or {}).get("blockReason") or self._blocked
        for candidate in chunk.get("candidates") or ():
            if candidate.get("index"):
                continue
            self._finish = candidate.get("finishReason") or self._finish
            self._told = str(candidate.get("finishMessage") or "") or self._told
            for part in (candidate.get("content") or {}).get("parts") or ():
                yield from self._part(part)

    def _part(self, part: Json) -> Iterator[TextDelta | ReasoningDelta]:
        text = part.get("text")
        if call := part.get("functionCall"):
            self._call(call, part.get("thoughtSignature"))
            return
        if part.get("thought"):
            if text:
                self._reasoning.append(text)
                yield ReasoningDelta(text)
        elif text:
            self._text += text
            yield TextDelta(text)
        if signature := part.get("thoughtSignature"):
            self._sign(signature)

    def _sign(self, signature: str) -> None:
        """A signature is of the text that ends here; while streaming it may come in an empty part of its own."""
        detail = {"type": "reasoning.encrypted", "data": signature, "format": SIGNATURES}
        self._signatures.append({**detail, "index": len(self._signatures), "end": len(self._text)})

    def _call(self, call: Json, signature: str | None) -> None:
        """In OpenAI's stored form. Each call has an id of its own, whatever the server sent."""
        call_id = str(call.get("id") or "")
        if not call_id or any(call_id == other["id"] for other in self._calls):
            call_id = f"call_{uuid.uuid4().hex[:24]}"
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        name = str(call.get("name") or "")
        raw = ToolCall(call_id, self.tools.get(name, name), arguments).raw()
        if signature:
            raw["extra_content"] = {"google": {"thought_signature": signature}}
        self._calls.append(raw)

    def _why_not(self) -> str:
        if self._finish is None:
            said = self._text or self._calls
            return "The model's answer broke off before its end." if said else "The model sent no answer."
        told = f": {self._told[:300]}" if self._told else ""
        return f"The model gave no usable answer ({self._finish}{told})."


def usage_of(raw: Json) -> Usage:
    """`promptTokenCount` counts the whole prompt, what was read from the cache included."""
    thoughts = _count(raw.get("thoughtsTokenCount"))
    return Usage(
        input_tokens=_count(raw.get("promptTokenCount")) + _count(raw.get("toolUsePromptTokenCount")),
        output_tokens=_count(raw.get("candidatesTokenCount")) + thoughts,
        cache_read_tokens=_count(raw.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0
