"""An Ollama server for tests: the wire format of `/api/chat`, strict about all that would go wrong with a real one.

The real one takes much that it then misunderstands (results without a call, prompts that don't fit); this one refuses
it. `window` is the model's own, `modelfile` its Modelfile's parameters, `capabilities` what it can do.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from tests.stub_server import Received, Step, StubServer

KNOWN = {"model", "messages", "stream", "truncate", "shift", "options", "think", "tools"}
FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content", "images"},
    "assistant": {"role", "content", "thinking", "tool_calls"},
    "tool": {"role", "content", "tool_name", "tool_call_id"},
}
THINK = (True, False, "low", "medium", "high", None)

Json = dict[str, Any]


class OllamaServer(StubServer):
    kind = "application/x-ndjson"

    def __init__(self, *steps: Step, model: str = "stub-1", strict: bool = True, ids: bool = True) -> None:
        super().__init__(*steps, model=model, strict=strict)
        self.ids = ids
        self.window = 262_144
        self.modelfile = "temperature 0.6"
        self.capabilities = ["completion", "tools", "thinking"]
        self.shown = 0

    def told(self, method: str, path: str, body: Any) -> Any | None:
        if path == "/api/show":
            self.shown += 1
            info = {"general.architecture": "stub", "stub.context_length": self.window, "stub.embedding_length": 2048}
            return {"parameters": self.modelfile, "model_info": info, "capabilities": self.capabilities}
        if method != "GET":
            return None
        return {"models": [self._entry(entry) if isinstance(entry, str) else entry for entry in self.listed]}

    def _entry(self, name: str) -> Json:
        details = {"family": "stub", "context_length": self.window}
        return {"name": name, "model": name, "size": 1, "details": details, "capabilities": self.capabilities}

    def said(self, body: Json) -> Iterable[tuple[str, str]]:
        return [(message["role"], message.get("content", "")) for message in body.get("messages", ())]

    def refused(self, step: Step) -> Any:
        return {"error": step.message}

    def complaint(self, received: Received) -> str | None:
        body = received.body
        if received.path != "/api/chat":
            return f"404 page not found: {received.path}"
        if body.get("tools") and "tools" not in self.capabilities:
            return f'"{self.model}" does not support tools'
        if body.get("think") and "thinking" not in self.capabilities:
            return f'"{self.model}" does not support thinking'
        tokens = sum(len(message.get("content", "")) for message in body["messages"]) // 4
        if tokens > (body.get("options") or {}).get("num_ctx", 4096):
            return "the input length exceeds the context length"
        return next(_problems(body), None)

    async def chunks(self, step: Step, received: Received) -> AsyncIterator[bytes]:
        for delta in step.deltas:
            message = self._message(delta)
            if message is None:
                yield _line(error="error parsing tool call: raw=..., err=invalid character")
                return
            yield _line(message=message, done=False)
            await asyncio.sleep(0)
        if step.raw:
            yield step.raw
        if step.then == "end":
            reason = "length" if step.finish == "length" else "stop"
            counts = {"prompt_eval_count": 100 + len(received.body["messages"]), "eval_count": len(step.deltas)}
            yield _line(message={"role": "assistant", "content": ""}, done=True, done_reason=reason, **counts)

    def _message(self, delta: Json) -> Json | None:
        """None for a call that Ollama's own parser gives up at."""
        message = {"role": "assistant", "content": delta.get("content", "")}
        if "reasoning_content" in delta:
            return {**message, "thinking": delta["reasoning_content"]}
        if "tool_calls" not in delta:
            return message
        raw = delta["tool_calls"][0]
        try:
            arguments = json.loads(raw["function"]["arguments"])
        except ValueError:
            return None
        function = {"index": raw["index"], "name": raw["function"]["name"], "arguments": arguments}
        return {**message, "tool_calls": [{**({"id": raw["id"]} if self.ids else {}), "function": function}]}


def _problems(body: Json) -> Iterator[str]:
    if unknown := set(body) - KNOWN:
        yield f"unknown fields {sorted(unknown)}"
    if body.get("truncate") is not False or not (body.get("options") or {}).get("num_ctx"):
        yield "the prompt might be cut without a word"
    if body.get("think") not in THINK:
        yield f"invalid think value: {body['think']!r}"
    waiting: list[tuple[str, str]] = []
    for at, message in enumerate(body["messages"]):
        if problem := next(_message_problems(message), None):
            yield f"messages[{at}]: {problem}"
        if message["role"] == "tool":
            answered = (message["tool_call_id"], message["tool_name"])
            if not waiting or waiting.pop(0) != answered:
                yield f"messages[{at}]: {answered} is not the result of the next call"
        elif waiting:
            yield f"messages[{at}]: the calls {waiting} have no result"
        waiting += [(call["id"], call["function"]["name"]) for call in message.get("tool_calls", ())]
    if waiting or body["messages"][-1]["role"] not in ("user", "tool"):
        yield "the conversation ends with the model's own words"


def _message_problems(message: Json) -> Iterator[str]:
    if set(message) - FIELDS.get(message["role"], set()):
        yield f"unknown fields {sorted(message)}"
    if not isinstance(message["content"], str):
        yield "content must be a string"
    if message["role"] != "tool" and not any(message.get(key) for key in ("content", "images", "tool_calls")):
        yield "it says nothing"
    for image in message.get("images", ()):
        if not base64.b64decode(image, validate=True):
            yield "an image without data"
    for call in message.get("tool_calls", ()):
        function = call["function"]
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function["name"]) or not isinstance(function["arguments"], dict):
            yield f"a call has a name and an object of arguments, not {function}"


def _line(**fields: Any) -> bytes:
    return json.dumps({"model": "stub-1", **fields}, ensure_ascii=False).encode() + b"\n"
