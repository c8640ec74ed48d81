"""A model server for tests: real HTTP on loopback, OpenAI chat completions, answers from a queue of steps.

    with StubModel(C("c1", SHELL, {"command": "echo hi"}), T("done")) as stub:
        ... point a provider, or `OPENAI_BASE_URL`, at stub.base_url ...
        stub.requests[0].body["messages"]

Steps are added with `+` when one answer holds several: `T("I look.") + C("c1", …) + C("c2", …)`.

The server is strict: it answers 400 to what the strictest of real servers refuse (see `complaint`). It runs as a
process too: `python -m tests.stub_model steps.json` prints its base URL, and `--record FILE` writes each request as a
line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from tests.stub_server import (
    CLOSE,
    DROP,
    ERR,
    FILTER,
    HANG,
    HOLD,
    LEN,
    RAW,
    READ,
    SHELL,
    STALL,
    WRITE,
    C,
    R,
    Received,
    Step,
    StubServer,
    T,
)

__all__ = [
    "CLOSE",
    "DROP",
    "ERR",
    "FILTER",
    "HANG",
    "HOLD",
    "LEN",
    "RAW",
    "READ",
    "SHELL",
    "STALL",
    "WRITE",
    "C",
    "R",
    "Received",
    "Step",
    "StubModel",
    "T",
    "complaint",
]


class StubModel(StubServer):
    """`allowed` adds message fields which this server takes beyond OpenAI's own.

    `window` is how many tokens it takes in: three bytes of a request for one. It refuses more than that with `full`.
    """

    path = "/v1"

    def __init__(self, *steps: Step, model: str = "stub-1", strict: bool = True, allowed: Iterable[str] = ()) -> None:
        super().__init__(*steps, model=model, strict=strict)
        self.allowed = frozenset(allowed)
        self.window: int | None = None
        self.full = "This model's maximum context length is {window} tokens. Your messages resulted in {tokens} tokens."

    def told(self, method: str, path: str, body: Any) -> Any | None:
        if method != "GET":
            return None
        data = [{"id": entry} if isinstance(entry, str) else entry for entry in self.listed]
        return {"object": "list", "data": data}

    def said(self, body: dict[str, Any]) -> Iterable[tuple[str, str]]:
        return [(m.get("role", ""), _text(m.get("content"))) for m in body.get("messages", ())]

    def complaint(self, received: Received) -> str | None:
        return complaint(received.body, self.allowed)

    def _next(self, received: Received) -> Step:
        tokens = len(received.raw) // 3
        if self.window and tokens > self.window:
            return ERR(400, self.full.format(window=self.window, tokens=tokens))
        return super()._next(received)

    async def chunks(self, step: Step, received: Received) -> AsyncIterator[bytes]:
        for delta in step.deltas:
            if "hold" in delta:
                await self.gone_on()
                continue
            yield _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            await asyncio.sleep(0)
        if step.raw:
            yield step.raw
        if step.then == "end":
            yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": step.finish}]})
            if (received.body.get("stream_options") or {}).get("include_usage"):
                prompt = len(received.raw) // 3 if self.window else 100 + len(received.body["messages"])
                tokens = {"prompt_tokens": prompt, "completion_tokens": len(step.deltas)}
                yield _event({"choices": [], "usage": tokens})
            yield b"data: [DONE]\n\n"


def complaint(body: dict[str, Any], allowed: frozenset[str] = frozenset()) -> str | None:
    """What a strict server would refuse this request for: unpaired or repeated calls, empty messages."""
    open_calls: list[str] = []
    for at, message in enumerate(body["messages"]):
        where = f"messages[{at}]"
        if problem := _shape(message, allowed):
            return f"{where}: {problem}"
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"{where}: no tool call {message['tool_call_id']!r} directly before"
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return f"{where}: tool calls {open_calls} have no result"
        open_calls += [call["id"] for call in message.get("tool_calls", ())]
    return f"tool calls {open_calls} have no result" if open_calls else None


def _shape(message: dict[str, Any], allowed: frozenset[str]) -> str | None:
    known = {"role", "content", "name", "tool_calls", "tool_call_id"} | allowed
    if unknown := set(message) - known:
        return f"unknown fields {sorted(unknown)}"
    calls = message.get("tool_calls", [])
    if message["role"] == "assistant" and not calls and not message.get("content"):
        return "an assistant message needs content or tool calls"
    if message["role"] in ("tool", "system") and not isinstance(message.get("content"), str):
        return f"content of role {message['role']} must be a string"
    ids = [call.get("id") for call in calls]
    if len(set(ids)) < len(ids) or not all(ids):
        return f"tool call ids {ids} must be unique"
    return next(filter(None, (_call_shape(call, allowed) for call in calls)), None)


def _call_shape(call: dict[str, Any], allowed: frozenset[str]) -> str | None:
    if set(call) - {"id", "type", "function"} - allowed or call.get("type") != "function":
        return f"a tool call has id, type and function, not {sorted(call)}"
    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["function"]["name"]):
        return f"invalid function name {call['function']['name']!r}"
    try:
        fine = isinstance(json.loads(call["function"]["arguments"]), dict)
    except ValueError:
        fine = False
    return None if fine else f"arguments of {call['id']!r} are not a JSON object"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _event(data: dict[str, Any]) -> bytes:
    chunk = {"id": "chatcmpl-stub", "object": "chat.completion.chunk", **data}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def _step(raw: dict[str, Any]) -> Step:
    """A step of a JSON file: `{"T": "text"}`, `{"C": ["c1", "run_command", {…}]}`, `{"ERR": 429}`, `{"HANG": true}`."""
    makers: dict[str, Callable[..., Step]] = {
        "T": T,
        "R": R,
        "C": C,
        "LEN": LEN,
        "FILTER": FILTER,
        "ERR": ERR,
        "DROP": DROP,
        "STALL": STALL,
    }
    total: Step | None = None
    for name, value in raw.items():
        if name == "when":
            continue
        step = HANG if name == "HANG" else makers[name](*(value if isinstance(value, list) else [value]))
        total = total + step if total else step
    assert total is not None, "an empty step"
    return total.when(raw["when"]) if "when" in raw else total


def main() -> None:
    parser = argparse.ArgumentParser(description="A model server for tests on loopback.")
    parser.add_argument("steps", type=Path, help="a JSON file with a list of steps")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args()
    stub = StubModel(*map(_step, json.loads(args.steps.read_text("utf-8"))))
    stub.record = args.record

    async def run() -> None:
        serving = asyncio.create_task(stub.serve(args.port))
        while not stub.base_url:
            await asyncio.sleep(0.01)
        print(stub.base_url, flush=True)
        await serving

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())


if __name__ == "__main__":
    main()
