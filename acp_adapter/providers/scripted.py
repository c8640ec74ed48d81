"""A provider that plays a file: for tests, demos and trying an editor out without any model.

Selected as `scripted:/path/to/file`. The file is JSON (a list of steps, or an object with `steps` and the options
below) or JSON Lines (one step a line). A step is one model answer:

    text           a string, or a list of strings, streamed one a delta
    chunk_size     cut each text into deltas of so many characters
    repeat         play the text so many times (default 1)
    reasoning      like text, streamed before it
    tool_calls     [{"name", "arguments": object or raw string, "id" (optional)}]
    finish_reason  stop, tool_calls, length or content_filter; default by whether there are calls
    usage          {"input_tokens", "output_tokens", …}
    error          {"status": 429, "message": "…", "retry_after": seconds}: raised before anything is streamed
    hang           true: never answers
    drop_after     n: the stream breaks after n deltas
    delay          seconds before the first delta; `pace`: seconds between deltas
    when           the step takes part only if the last user text contains this

Options: `model` and `context_window` are what the provider says of itself, and `by` is the rule for the next step.
Of the steps that take part in a request, in the order of the file:

    next     the first one that this process has not played yet (the default)
    history  the one whose index is the number of assistant messages in the request: right again after a restart
    turn     the one whose index is the number of assistant messages since the last user message: with `when`,
             the same words always get the same answers
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from attrs import define, field

from acp_adapter.errors import BrokenStream, InvalidParams, ProviderRejected
from acp_adapter.providers.card import ModelCard
from acp_adapter.providers.faults import Refusal, fault
from acp_adapter.providers.port import Completed, FinishReason, ModelRequest, ReasoningDelta, StreamEvent, TextDelta
from acp_adapter.transcript import Message, ToolCall, Usage

Rule = Literal["next", "history", "turn"]
KEYS = {
    *("text", "chunk_size", "repeat", "reasoning", "tool_calls", "finish_reason", "usage"),
    *("error", "hang", "drop_after", "delay", "pace", "when"),
}

Step = dict[str, Any]


@define(eq=False)
class ScriptedProvider:
    """Plays `steps`. When none is left for a request it raises ProviderRejected."""

    steps: list[Step] = field(repr=False)
    by: Rule = "next"
    model: str = "script"
    card: ModelCard = field(factory=ModelCard)
    name: str = field(default="scripted", init=False)
    base_url: str = field(default="", init=False)
    _played: set[int] = field(factory=set, init=False, repr=False)

    @classmethod
    def of_file(cls, path: str | Path) -> ScriptedProvider:
        """Raises InvalidParams for a file that can't be read or holds something else than a script."""
        try:
            text = Path(path).expanduser().read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InvalidParams(f"The script {str(path)!r} can't be read: {error}") from error
        script = _parsed(text, str(path))
        by = script.get("by", "next")
        if by not in get_args(Rule):
            raise InvalidParams(f'The script {str(path)!r} has "by": {by!r}; it can be {", ".join(get_args(Rule))}.')
        return cls(_checked(script.get("steps"), str(path)), by, str(path), ModelCard(script.get("context_window")))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        step = self._step_for(request)
        await asyncio.sleep(step.get("delay", 0))
        if error := step.get("error"):
            raise fault("The script", Refusal(error.get("status"), error.get("message", "")), error.get("retry_after"))
        if step.get("hang"):
            await asyncio.Event().wait()
        drop_after = step.get("drop_after")
        for at, delta in enumerate(_deltas(step)):
            if at == drop_after:
                break
            yield delta
            # A real stream waits between deltas; without a pause nobody else would run, and cancel could not get in.
            await asyncio.sleep(step.get("pace", 0))
        if drop_after is not None:
            raise BrokenStream("The connection was lost before the answer was complete.")
        yield _completed(step)

    async def aclose(self) -> None:
        pass

    def _step_for(self, request: ModelRequest) -> Step:
        said = next((m.text() for m in reversed(request.messages) if m.role == "user"), "")
        fitting = [at for at, step in enumerate(self.steps) if step.get("when", "") in said]
        if self.by == "next":
            fitting = [at for at in fitting if at not in self._played]
        at = 0 if self.by == "next" else _answers(request, since_user=self.by == "turn")
        if at >= len(fitting):
            raise ProviderRejected(f"The script {self.model!r} has no step left for {said[:80]!r}.")
        self._played.add(fitting[at])
        return self.steps[fitting[at]]


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        try:
            script = json.loads(text)
        except ValueError:
            script = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InvalidParams(f"The script {path!r} is neither JSON nor JSON Lines: {error}") from error
    if isinstance(script, dict) and "steps" not in script:
        script = [script]
    return script if isinstance(script, dict) else {"steps": script}


def _checked(steps: Any, path: str) -> list[Step]:
    if not isinstance(steps, list):
        raise InvalidParams(f"The script {path!r} has no list of steps.")
    for number, step in enumerate(steps, 1):
        if not isinstance(step, dict):
            raise InvalidParams(f"Step {number} of the script {path!r} is not an object.")
        if unknown := sorted(set(step) - KEYS):
            raise InvalidParams(f"Step {number} of the script {path!r} has unknown keys: {', '.join(unknown)}.")
    return steps


def _answers(request: ModelRequest, since_user: bool) -> int:
    count = 0
    for message in reversed(request.messages):
        if since_user and message.role == "user":
            break
        count += message.role == "assistant"
    return count


def _deltas(step: Step) -> Iterator[StreamEvent]:
    for text in _pieces(step, "reasoning"):
        yield ReasoningDelta(text)
    for text in _pieces(step, "text"):
        yield TextDelta(text)


def _pieces(step: Step, key: str) -> Iterator[str]:
    texts = step.get(key) or []
    for _ in range(step.get("repeat", 1) if key == "text" else 1):
        for text in [texts] if isinstance(texts, str) else texts:
            size = step.get("chunk_size") or max(len(text), 1)
            yield from (text[at : at + size] for at in range(0, len(text), size))


def _completed(step: Step) -> Completed:
    calls = [_call(number, raw) for number, raw in enumerate(step.get("tool_calls", ()), 1)]
    finish: FinishReason = step.get("finish_reason") or ("tool_calls" if calls else "stop")
    message = Message(
        role="assistant",
        content="".join(_pieces(step, "text")) or None,
        reasoning="".join(_pieces(step, "reasoning")) or None,
        tool_calls=[call.raw() for call in calls] or None,
        finish_reason=finish,
    )
    return Completed(message, finish, Usage(**step["usage"]) if "usage" in step else None)


def _call(number: int, raw: dict[str, Any]) -> ToolCall:
    arguments = raw.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(str(raw.get("id") or f"call_{number}"), str(raw.get("name", "")), text)
