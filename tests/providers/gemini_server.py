"""A Gemini server for tests: the Gemini API's wire format, strict about all that the real one refuses.

It signs what it says like Gemini 3: the first call of each step, and the end of an answer without calls; and it refuses
a request in which a signature of the current turn is another, or is missing, which only a Gemini 2 lets pass. Steps are
those of `tests.stub_server`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from acp_adapter.providers.gemini.request import UNSIGNED
from tests.stub_server import Received, Step, StubServer

FINISH = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
          429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}  # fmt: skip
KNOWN = {"contents", "systemInstruction", "tools", "generationConfig"}
DATA = {"text", "inlineData", "functionCall", "functionResponse"}
NAME = r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"

Json = dict[str, Any]


class GeminiServer(StubServer):
    """`issued` are the signatures that it gave, by the call, or the text that they end; `ids` says whether its
    calls have any."""

    path = "/v1beta"

    def __init__(self, *steps: Step, model: str = "gemini-3-stub", strict: bool = True, ids: bool = True) -> None:
        super().__init__(*steps, model=model, strict=strict)
        self.ids = ids
        self.issued: dict[str, str] = {}

    def told(self, method: str, path: str, body: Any) -> Any | None:
        if method != "GET":
            return None
        return {"models": [_model(entry) if isinstance(entry, str) else entry for entry in self.listed]}

    def said(self, body: Json) -> Iterable[tuple[str, str]]:
        for content in body.get("contents", ()):
            role = "assistant" if content["role"] == "model" else "user"
            answers = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
            yield from (("tool", str(next(iter(answer["response"].values())))) for answer in answers)
            texts = [part["text"] for part in content["parts"] if "text" in part]
            if texts or not answers:
                yield role, "".join(texts)

    def refused(self, step: Step) -> Any:
        status = STATUS.get(step.status, "UNKNOWN")
        return {"error": {"code": step.status, "message": step.message, "status": status}}

    def complaint(self, received: Received) -> str | None:
        wanted = f"/v1beta/models/{self.model}:streamGenerateContent?alt=sse"
        if received.path != wanted:
            return f"no such method: {received.path}"
        return next(_problems(received.body, self.issued, "gemini-2" not in self.model), None)

    async def chunks(self, step: Step, received: Received) -> AsyncIterator[bytes]:
        signed = False
        said = ""
        finish = FINISH.get(step.finish or "")
        for delta in step.deltas:
            part = self._part(delta, signed)
            if part is None:
                finish = "MALFORMED_FUNCTION_CALL"
                continue
            signed = signed or "functionCall" in part
            said += delta.get("content") or ""
            yield _event({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]})
            await asyncio.sleep(0)
        if step.raw:
            yield step.raw
        if step.then == "end":
            last = [] if signed else [{"text": "", "thoughtSignature": self._sign(said)}]
            yield _event(
                {
                    "candidates": [{"content": {"role": "model", "parts": last}, "finishReason": finish, "index": 0}],
                    "usageMetadata": _usage(received.body, step),
                }
            )

    def _part(self, delta: Json, signed: bool) -> Json | None:
        if "tool_calls" not in delta:
            text = {"text": delta.get("content") or delta.get("reasoning_content")}
            return {**text, "thought": True} if "reasoning_content" in delta else text
        raw = delta["tool_calls"][0]
        try:
            arguments = json.loads(raw["function"]["arguments"])
        except ValueError:
            return None
        if not isinstance(arguments, dict):
            return None
        call = {"name": raw["function"]["name"], "args": arguments, **({"id": raw["id"]} if self.ids else {})}
        return {"functionCall": call, **({} if signed else {"thoughtSignature": self._sign(named(call))})}

    def _sign(self, what: str) -> str:
        signature = base64.b64encode(f"{len(self.issued)}/{what}".encode()).decode()
        self.issued[what] = signature
        return signature


def _problems(body: Json, issued: dict[str, str], demands: bool) -> Iterator[str]:
    if unknown := set(body) - KNOWN:
        yield f'Invalid JSON payload received. Unknown name "{sorted(unknown)[0]}"'
    contents = body.get("contents") or []
    if not contents or contents[-1]["role"] != "user" or contents[0]["role"] != "user":
        yield "contents must begin and end with the user's"
    for at, content in enumerate(contents):
        yield from (f"contents[{at}]: {problem}" for problem in _content(content))
        if at and contents[at - 1]["role"] == content["role"]:
            yield f"contents[{at}]: the same role twice"
        before = contents[at - 1]["parts"] if at else []
        yield from (f"contents[{at}]: {problem}" for problem in _pairing(before, content["parts"]))
    yield from _signatures(contents, issued, demands)
    yield from _settings(body)


def _content(content: Json) -> Iterator[str]:
    if set(content) != {"role", "parts"} or content["role"] not in ("user", "model") or not content["parts"]:
        yield "a content has a role and parts"
    for part in content["parts"]:
        if len(set(part) & DATA) != 1 or set(part) - DATA - {"thoughtSignature"}:
            yield f"required oneof field 'data' must have one initialized field, not {sorted(part)}"
        if "functionCall" in part and content["role"] != "model":
            yield "a call in the user's content"
        yield from _part_problems(part)


def _part_problems(part: Json) -> Iterator[str]:
    if part.get("text") == "":
        yield "text must not be empty"
    if "inlineData" in part and not base64.b64decode(part["inlineData"]["data"], validate=True):
        yield "inlineData without data"
    for key, value in (("functionCall", "args"), ("functionResponse", "response")):
        if key in part and not re.fullmatch(NAME, part[key]["name"]):
            yield f"invalid function name {part[key]['name']!r}"
        if key in part and not isinstance(part[key][value], dict):
            yield f"{value} must be an object"


def _pairing(before: list[Json], parts: list[Json]) -> Iterator[str]:
    """The results of all calls, in their order, at the beginning of the next content."""
    called = [(p["functionCall"].get("id"), p["functionCall"]["name"]) for p in before if "functionCall" in p]
    answered = [
        (part["functionResponse"].get("id"), part["functionResponse"]["name"])
        for part in parts
        if "functionResponse" in part
    ]
    if called != answered:
        yield f"the function responses {answered} are not those of the calls {called}"
    if any("functionResponse" not in part for part in parts[: len(answered)]):
        yield "function responses come first"


def _signatures(contents: list[Json], issued: dict[str, str], demands: bool) -> Iterator[str]:
    """What was signed stays signed; and in the current turn the first call of every step is."""
    begins = [at for at, c in enumerate(contents) if c["role"] == "user" and any("text" in p for p in c["parts"])]
    for at, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        for number, part in enumerate(calls):
            signature = part.get("thoughtSignature")
            known = issued.get(named(part["functionCall"]))
            if known and signature != known:
                yield f"contents[{at}]: the thought_signature of this call is another"
            if demands and number == 0 and begins and at > begins[-1] and not signature:
                yield f"Function call is missing a thought_signature in functionCall parts. contents[{at}]"
            if signature and signature not in (UNSIGNED, known) and not _base64(signature):
                yield f"contents[{at}]: Thought signature is not valid"


def named(call: Json) -> str:
    """Another model's call may have the same id."""
    return f"{call.get('id')} {json.dumps(call['args'], sort_keys=True)}"


def _settings(body: Json) -> Iterator[str]:
    config = body.get("generationConfig") or {}
    thinking = config.get("thinkingConfig") or {}
    if set(config) - {"maxOutputTokens", "thinkingConfig"}:
        yield f"unknown generationConfig {sorted(config)}"
    if {"thinkingLevel", "thinkingBudget"} <= set(thinking):
        yield "You can only set only one of thinking budget and thinking level."
    for tool in body.get("tools") or ():
        names = [declaration["name"] for declaration in tool["functionDeclarations"]]
        if len(set(names)) < len(names) or not all(re.fullmatch(NAME, name) for name in names):
            yield f"invalid function names {names}"
    if "systemInstruction" in body and not body["systemInstruction"]["parts"][0]["text"]:
        yield "an empty systemInstruction"


def _base64(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except ValueError:
        return False


def _model(name: str) -> Json:
    return {
        "name": f"models/{name}",
        "displayName": name.title(),
        "inputTokenLimit": 1048576,
        "outputTokenLimit": 65536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
        "thinking": True,
    }


def _usage(body: Json, step: Step) -> Json:
    thoughts = sum("reasoning_content" in delta for delta in step.deltas)
    counts = {"promptTokenCount": 100 + len(body["contents"]), "candidatesTokenCount": len(step.deltas) - thoughts}
    return {**counts, "thoughtsTokenCount": thoughts, "cachedContentTokenCount": 40}


def _event(data: Json) -> bytes:
    return b"data: " + json.dumps({**data, "modelVersion": "stub"}, ensure_ascii=False).encode() + b"\r\n\r\n"
