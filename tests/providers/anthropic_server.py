"""An Anthropic server for tests: the Messages API's wire format, strict about all that the real one refuses.

It signs its thinking, and refuses a request in which a thought before a call that it made is missing or another one.
Steps are those of `tests.stub_server`; text and reasoning may come in any order.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.stub_server import Received, Step, StubServer

FINISH = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
ERRORS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
          413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}  # fmt: skip
KNOWN = {"model", "stream", "tools", "system", "messages", "max_tokens", "thinking", "output_config", "cache_control"}
BLOCKS = {
    "user": {"text", "image", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}
IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
NAME = r"[a-zA-Z0-9_-]{1,128}"
MOST_BREAKPOINTS = 4

Json = dict[str, Any]


class AnthropicServer(StubServer):
    """`issued` are the signatures that it gave, with their thoughts; `thought` those before each call, by id and
    arguments: a test may give an id twice, and another model may have given it too.

    `refuses` are fields that this one does not know, with their places, `page` is how many models it tells of at once.
    """

    path = "/v1"

    def __init__(
        self, *steps: Step, model: str = "claude-stub-5", strict: bool = True, refuses: Iterable[str] = ()
    ) -> None:
        super().__init__(*steps, model=model, strict=strict)
        self.refuses = frozenset(refuses)
        self.issued: dict[str, str] = {}
        self.thought: dict[str, list[list[str]]] = {}
        self.page = 1000

    def told(self, method: str, path: str, body: Any) -> Any | None:
        if method != "GET":
            return None
        listed = [_model(entry) if isinstance(entry, str) else entry for entry in self.listed]
        ids = [entry.get("id") for entry in listed]
        after = parse_qs(urlsplit(path).query).get("after_id")
        start = ids.index(after[0]) + 1 if after else 0
        data, more = listed[start : start + self.page], start + self.page < len(listed)
        return {"data": data, "has_more": more, "last_id": data[-1].get("id") if data else None}

    def said(self, body: Json) -> Iterable[tuple[str, str]]:
        for turn in body.get("messages", ()):
            results = [block for block in turn["content"] if block["type"] == "tool_result"]
            yield from (("tool", "".join(b.get("text", "") for b in block.get("content", ()))) for block in results)
            texts = [block["text"] for block in turn["content"] if block["type"] == "text"]
            if texts or not results:
                yield turn["role"], "".join(texts)

    def refused(self, step: Step) -> Any:
        kind = ERRORS.get(step.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": step.message}, "request_id": "req_1"}

    def complaint(self, received: Received) -> str | None:
        if received.path != "/v1/messages":
            return f"no such endpoint: {received.path}"
        if "anthropic-version" not in received.headers:
            return "anthropic-version: header is required"
        for name in sorted(self.refuses):
            if f'"{name.rpartition(".")[2]}"' in json.dumps(received.body):
                return f"{name}: Extra inputs are not permitted"
        return next(_problems(received.body, self.issued, self.thought), None)

    async def chunks(self, step: Step, received: Received) -> AsyncIterator[bytes]:
        usage = {
            "input_tokens": 60,
            "cache_read_input_tokens": 40,
            "cache_creation_input_tokens": 5,
            "output_tokens": 1,
        }
        start = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": self.model}
        yield _event("message_start", message={**start, "stop_reason": None, "stop_sequence": None, "usage": usage})
        yield _event("ping")
        signed: list[str] = []
        for index, (kind, deltas) in enumerate(_blocks_of(step)):
            for event in self._block(index, kind, deltas, signed):
                yield event
                await asyncio.sleep(0)
        if step.raw:
            yield step.raw
        if step.then == "end":
            delta = {"stop_reason": FINISH.get(step.finish or "stop"), "stop_sequence": None}
            yield _event("message_delta", delta=delta, usage={"output_tokens": len(step.deltas) + 1})
            yield _event("message_stop")

    def _block(self, index: int, kind: str, deltas: list[Json], signed: list[str]) -> Iterator[bytes]:
        """`signed` are the signatures of this answer so far."""
        if kind == "tool_use":
            function = deltas[0]["tool_calls"][0]
            key = _key(function["id"], function["function"]["arguments"])
            self.thought.setdefault(key, []).append(list(signed))
            block = {"type": "tool_use", "id": function["id"], "name": function["function"]["name"], "input": {}}
            parts = [
                {"type": "input_json_delta", "partial_json": p}
                for p in ("", *_halves(function["function"]["arguments"]))
            ]
        elif kind == "thinking":
            said = "".join(delta["reasoning_content"] for delta in deltas)
            block = {"type": "thinking", "thinking": "", "signature": ""}
            parts = [{"type": "thinking_delta", "thinking": delta["reasoning_content"]} for delta in deltas]
            signed.append(self._sign(said))
            parts.append({"type": "signature_delta", "signature": signed[-1]})
        else:
            block = {"type": "text", "text": ""}
            parts = [{"type": "text_delta", "text": delta["content"]} for delta in deltas]
        yield _event("content_block_start", index=index, content_block=block)
        yield from (_event("content_block_delta", index=index, delta=part) for part in parts)
        yield _event("content_block_stop", index=index)

    def _sign(self, thought: str) -> str:
        signature = base64.b64encode(f"{len(self.issued)}/{thought}".encode()).decode()
        self.issued[signature] = thought
        return signature


def _blocks_of(step: Step) -> Iterator[tuple[str, list[Json]]]:
    """The step's deltas, those of one kind that follow each other as one block; each call is its own."""
    group: list[Json] = []
    kind = ""
    for delta in step.deltas:
        now = "tool_use" if "tool_calls" in delta else "thinking" if "reasoning_content" in delta else "text"
        if group and (now != kind or now == "tool_use"):
            yield kind, group
            group = []
        kind = now
        group.append(delta)
    if group:
        yield kind, group


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _problems(body: Json, issued: dict[str, str], thought: dict[str, list[list[str]]]) -> Iterator[str]:
    if unknown := set(body) - KNOWN:
        yield f"{sorted(unknown)[0]}: Extra inputs are not permitted"
    turns = body.get("messages") or []
    if not turns or turns[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    if turns and turns[-1]["role"] != "user":
        yield "the conversation must end with a user message"
    for at, turn in enumerate(turns):
        if at and turns[at - 1]["role"] == turn["role"]:
            yield f"messages.{at}: roles must alternate"
        yield from (f"messages.{at}: {problem}" for problem in _turn(turn))
        before = turns[at - 1]["content"] if at else []
        yield from (f"messages.{at}: {problem}" for problem in _pairing(before, turn["content"]))
    calls = [block["id"] for turn in turns for block in turn["content"] if block["type"] == "tool_use"]
    if len(set(calls)) < len(calls):
        yield f"messages: `tool_use` ids must be unique: {calls}"
    yield from _thoughts(body, turns, issued)
    for turn in turns:
        yield from _thoughts_before_calls(turn["content"], thought)
    yield from _settings(body)
    yield from _tools(body.get("tools") or [])


def _turn(turn: Json) -> Iterator[str]:
    if set(turn) != {"role", "content"} or turn["role"] not in BLOCKS or not turn["content"]:
        yield "a message has a role and content"
    for block in turn["content"]:
        if block["type"] not in BLOCKS[turn["role"]]:
            yield f"unexpected {block['type']} in {turn['role']}"
        yield from _block_problems(block)


def _block_problems(block: Json) -> Iterator[str]:
    kind = block["type"]
    if kind == "text" and not block["text"].strip():
        yield "text content blocks must contain non-whitespace text"
    if kind == "image" and block["source"]["type"] == "base64" and block["source"]["media_type"] not in IMAGES:
        yield f"image: {block['source']['media_type']} is not supported"
    if kind == "tool_use" and not (re.fullmatch(NAME, block["name"]) and isinstance(block["input"], dict)):
        yield "tool_use: name or input is not valid"
    for key in ("id", "tool_use_id"):
        if key in block and not re.fullmatch(r"[a-zA-Z0-9_-]+", block[key]):
            yield f"{key}: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if kind == "tool_result":
        yield from (problem for inner in block.get("content", ()) for problem in _block_problems(inner))


def _pairing(before: list[Json], blocks: list[Json]) -> Iterator[str]:
    """The results of all calls come first in the very next message, and nothing is answered twice."""
    called = [block["id"] for block in before if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if sorted(called) != sorted(answered):
        yield f"tool_use ids {called} were found without tool_result blocks immediately after: {answered}"
    if any(block["type"] != "tool_result" for block in blocks[: len(answered)]):
        yield "tool_result blocks come first"


def _thoughts(body: Json, turns: list[Json], issued: dict[str, str]) -> Iterator[str]:
    """Thinking is unaltered; and with a budget, the current turn's calls have it before them."""
    for at, turn in enumerate(turns):
        for block in turn["content"]:
            if block["type"] == "thinking" and issued and issued.get(block["signature"]) != block["thinking"]:
                yield f"messages.{at}: Invalid `signature` in `thinking` block"
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    for at in range(len(turns) - 1, -1, -1):
        kinds = [block["type"] for block in turns[at]["content"]]
        if turns[at]["role"] == "user" and "text" in kinds:
            return
        if "tool_use" in kinds and kinds[0] not in ("thinking", "redacted_thinking"):
            yield f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`"


def _thoughts_before_calls(blocks: list[Json], thought: dict[str, list[list[str]]]) -> Iterator[str]:
    """Stricter than the real one, which forgives it without a budget, and in turns that are over."""
    so_far: list[str] = []
    for block in blocks:
        if block["type"] == "thinking":
            so_far.append(block["signature"])
        key = _key(block["id"], json.dumps(block["input"])) if block["type"] == "tool_use" else ""
        if so_far not in thought.get(key, [so_far]):
            yield f"the thinking before {block['id']} is not what it was"


def _key(call_id: str, arguments: str) -> str:
    return f"{call_id} {arguments}"


def _settings(body: Json) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    if body.get("max_tokens", 0) < 1:
        yield "max_tokens: Field required"
    if thinking.get("type") == "enabled" and not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
        yield "max_tokens must be greater than thinking.budget_tokens, which must be at least 1024"
    if json.dumps(body).count('"cache_control"') > MOST_BREAKPOINTS:
        yield f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided"
    if any(not block["text"].strip() for block in body.get("system") or ()):
        yield "system: text content blocks must be non-empty"


def _tools(tools: list[Json]) -> Iterator[str]:
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names) or not all(re.fullmatch(NAME, name) for name in names):
        yield f"tools: names are not valid: {names}"
    for at, tool in enumerate(tools):
        schema, where = tool["input_schema"], f"tools.{at}.custom.input_schema"
        if schema.get("type") != "object":
            yield f"{where}.type: Input should be 'object'"
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            yield f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level"
        if not all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name) for name in schema.get("properties", ())):
            yield f"{where}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"


def _model(name: str) -> Json:
    return {
        "type": "model", "id": name, "display_name": name.title(), "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": 200_000, "max_tokens": 64_000, "lifecycle": "active",
        "capabilities": {"image_input": {"supported": True}, "thinking": {"supported": True}},
    }  # fmt: skip


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()
