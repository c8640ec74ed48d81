"""A server of OpenAI's Responses API for tests: strict about all that the real one refuses.

It encrypts its reasoning, and refuses a reasoning item that is altered or not followed by what followed it. Steps are
those of `tests.stub_server`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from tests.stub_server import Received, Step, StubServer

KNOWN = {
    *("model", "stream", "store", "instructions", "tools", "input", "max_output_tokens", "reasoning", "include"),
    "prompt_cache_key",
}
NAME = r"[a-zA-Z0-9_-]{1,64}"
INPUT = {"input_text", "input_image", "input_file"}
OUTPUT = {"output_text", "refusal"}
REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}

Json = dict[str, Any]


class ResponsesServer(StubServer):
    """`issued` is the encrypted content that it gave, by item id, with the type of the item that followed; `refuses`
    are fields that this one does not know."""

    path = "/v1"

    def __init__(
        self, *steps: Step, model: str = "gpt-5-stub", strict: bool = True, refuses: Iterable[str] = ()
    ) -> None:
        super().__init__(*steps, model=model, strict=strict)
        self.refuses = frozenset(refuses)
        self.issued: dict[str, tuple[str, str]] = {}

    def told(self, method: str, path: str, body: Any) -> Any | None:
        if method != "GET":
            return None
        return {"object": "list", "data": [{"id": e} if isinstance(e, str) else e for e in self.listed]}

    def said(self, body: Json) -> Iterable[tuple[str, str]]:
        for item in body.get("input", ()):
            if item["type"] == "function_call_output":
                yield "tool", _text(item["output"])
            elif item["type"] == "message":
                yield item["role"], _text(item["content"])

    def complaint(self, received: Received) -> str | None:
        if received.path != "/v1/responses":
            return f"no such endpoint: {received.path}"
        for name in sorted(self.refuses):
            if name in received.body:
                return f"Unsupported parameter: '{name}' is not supported with this model."
        return next(_problems(received.body, self.issued), None)

    async def chunks(self, step: Step, received: Received) -> AsyncIterator[bytes]:
        number = 0

        def event(kind: str, **fields: Any) -> bytes:
            nonlocal number
            number += 1
            data = {"type": kind, "sequence_number": number, **fields}
            return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()

        yield event("response.created", response=_response(self.model, "in_progress", [], None))
        groups = list(_groups(step))
        items: list[Json] = []
        for at, (kind, deltas) in enumerate(groups):
            following = groups[at + 1][0] if at + 1 < len(groups) else ""
            item = self._item(kind, deltas, following)
            items.append(item)
            yield event("response.output_item.added", output_index=at, item={**item, "status": "in_progress"})
            for fields in _deltas(kind, deltas):
                yield event(**fields, item_id=item["id"], output_index=at)
                await asyncio.sleep(0)
            yield event("response.output_item.done", output_index=at, item=item)
        if step.raw:
            yield step.raw
        if step.then == "end":
            reason = REASONS.get(step.finish or "")
            kind = "incomplete" if reason else "completed"
            whole = _response(self.model, kind, items, {"reason": reason} if reason else None)
            yield event(f"response.{kind}", response={**whole, "usage": _usage(received.body, step)})

    def _item(self, kind: str, deltas: list[Json], following: str) -> Json:
        item_id = f"{kind[:2]}_{len(self.issued)}_{id(deltas) % 10_000}"
        if kind == "function_call":
            call = deltas[0]["tool_calls"][0]
            function = {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
            return {"type": kind, "id": item_id, "call_id": call["id"], **function, "status": "completed"}
        if kind == "reasoning":
            said = "".join(delta["reasoning_content"] for delta in deltas)
            encrypted = base64.b64encode(f"{len(self.issued)}/{said}".encode()).decode()
            self.issued[item_id] = encrypted, following
            summary = [{"type": "summary_text", "text": said}]
            return {"type": kind, "id": item_id, "summary": summary, "encrypted_content": encrypted}
        text = "".join(delta["content"] for delta in deltas)
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"type": kind, "id": item_id, "role": "assistant", "status": "completed", "content": content}


def _groups(step: Step) -> Iterator[tuple[str, list[Json]]]:
    """The step's deltas, those of one kind that follow each other as one item; each call is its own."""
    group: list[Json] = []
    kind = ""
    for delta in step.deltas:
        now = "function_call" if "tool_calls" in delta else "reasoning" if "reasoning_content" in delta else "message"
        if group and (now != kind or now == "function_call"):
            yield kind, group
            group = []
        kind = now
        group.append(delta)
    if group:
        yield kind, group


def _deltas(kind: str, deltas: list[Json]) -> Iterator[Json]:
    if kind == "reasoning":
        part = {"type": "summary_text", "text": ""}
        yield {"kind": "response.reasoning_summary_part.added", "summary_index": 0, "part": part}
    for delta in deltas:
        if kind == "function_call":
            arguments = delta["tool_calls"][0]["function"]["arguments"]
            yield {"kind": "response.function_call_arguments.delta", "delta": arguments}
        elif kind == "reasoning":
            text = delta["reasoning_content"]
            yield {"kind": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": text}
        else:
            yield {"kind": "response.output_text.delta", "content_index": 0, "delta": delta["content"], "logprobs": []}


def _problems(body: Json, issued: dict[str, tuple[str, str]]) -> Iterator[str]:
    if unknown := set(body) - KNOWN:
        yield f"Unknown parameter: '{sorted(unknown)[0]}'"
    if body.get("store") is not False:
        yield "store must be false here"
    items = body.get("input") or []
    if not items:
        yield "Missing required parameter: 'input'"
    for at, item in enumerate(items):
        yield from (f"input[{at}]: {problem}" for problem in _item_problems(item))
        if item["type"] == "reasoning":
            following = items[at + 1]["type"] if at + 1 < len(items) else ""
            yield from (f"input[{at}]: {problem}" for problem in _reasoning(item, following, issued))
    yield from _pairing(items)
    yield from _settings(body)


def _item_problems(item: Json) -> Iterator[str]:
    if "output_index" in item:
        yield "Unknown parameter: 'output_index'"
    checks: dict[str, Callable[[Json], Iterable[str]]] = {
        "message": _message,
        "function_call": _call,
        "function_call_output": _output,
        "reasoning": lambda _: (),
    }
    if item["type"] not in checks:
        yield f"Invalid value: '{item['type']}'"
        return
    yield from checks[item["type"]](item)


def _message(item: Json) -> Iterator[str]:
    if not item["content"]:
        yield "empty content"
    if item["role"] == "user" or not isinstance(item["content"], str):
        yield from _parts(item["content"], INPUT if item["role"] == "user" else OUTPUT)


def _call(item: Json) -> Iterator[str]:
    if not isinstance(json.loads(item["arguments"]), dict) or not re.fullmatch(NAME, item["name"]):
        yield "a call has a name and an object of arguments"


def _output(item: Json) -> Iterator[str]:
    if not isinstance(item["output"], str):
        yield from _parts(item["output"], INPUT)


def _parts(parts: Any, allowed: set[str]) -> Iterator[str]:
    if not isinstance(parts, list) or not parts:
        yield "content must be a list of parts"
        return
    for part in parts:
        if part["type"] not in allowed:
            yield f"Invalid value: '{part['type']}'. Supported values are: {sorted(allowed)}"
        if part.get("text") == "":
            yield "an empty text"


def _reasoning(item: Json, following: str, issued: dict[str, tuple[str, str]]) -> Iterator[str]:
    if not item.get("encrypted_content"):
        yield "Item with id not found: items are not persisted when `store` is set to false"
    if item.get("id") in issued:
        content, followed = issued[item["id"]]
        if content != item["encrypted_content"]:
            yield "The encrypted content could not be verified"
        if followed and following != followed:
            yield f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
    if not following:
        yield "a reasoning item that nothing follows"


def _pairing(items: list[Json]) -> Iterator[str]:
    open_calls: list[str] = []
    for at, item in enumerate(items):
        if item["type"] == "function_call":
            if item["call_id"] in open_calls:
                yield f"input[{at}]: duplicate call id"
            open_calls.append(item["call_id"])
        elif item["type"] == "function_call_output":
            if item["call_id"] not in open_calls:
                yield f"No tool call found for function call output with call_id {item['call_id']}."
            else:
                open_calls.remove(item["call_id"])
        elif item["type"] == "message" and open_calls:
            yield f"No tool output found for function call {open_calls[0]}."
    if open_calls:
        yield f"No tool output found for function call {open_calls[0]}."


def _settings(body: Json) -> Iterator[str]:
    names = [tool["name"] for tool in body.get("tools") or ()]
    if len(set(names)) < len(names) or not all(re.fullmatch(NAME, name) for name in names):
        yield f"Invalid 'tools': {names}"
    reasoning = body.get("reasoning")
    if reasoning is not None and set(reasoning) - {"effort", "summary"}:
        yield "Unknown parameter in 'reasoning'"


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _response(model: str, status: str, output: list[Json], incomplete: Json | None) -> Json:
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": model, "output": output,
        "error": None, "incomplete_details": incomplete, "instructions": None, "metadata": {}, "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": True, "temperature": 1.0, "top_p": 1.0, "usage": None,
    }  # fmt: skip


def _usage(body: Json, step: Step) -> Json:
    tokens, made = 100 + len(body["input"]), len(step.deltas)
    reasoning = sum("reasoning_content" in delta for delta in step.deltas)
    return {
        "input_tokens": tokens, "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
        "output_tokens": made, "output_tokens_details": {"reasoning_tokens": reasoning}, "total_tokens": tokens + made,
    }  # fmt: skip
