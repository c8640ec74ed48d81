"""A model server for tests: real HTTP on loopback, OpenAI chat completions, answers from a queue of steps.

    with StubModel(C("c1", SHELL, {"command": "echo hi"}), T("done")) as stub:
        ... point a provider, or `OPENAI_BASE_URL`, at stub.base_url ...
        stub.requests[0].body["messages"]

Steps are added with `+` when one answer holds several: `T("I look.") + C("c1", …) + C("c2", …)`. A step takes part
only in requests whose last user text holds its `when(…)` text, so that several sessions may share one stub.

The server is strict: it answers 400 to what the strictest of real servers refuse (see `complaint`). It runs in a thread
of its own, so that sync and async tests can use it, and as a process too: `python tests/stub_model.py steps.json`
prints its base URL, and `--record FILE` writes each request as a line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from http.client import responses
from pathlib import Path
from typing import Any

SHELL, READ, WRITE = "run_command", "read_file", "write_file"


@dataclass(frozen=True)
class Step:
    """One answer. `deltas` are streamed one a chunk; `raw` replaces the whole body; `then` is how the stream ends."""

    deltas: tuple[dict[str, Any], ...] = ()
    finish: str | None = None
    status: int = 200
    message: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None
    then: str = "end"
    needle: str | None = None

    def __add__(self, other: Step) -> Step:
        """Both in one answer; the later call gets the next index, the later end counts."""
        at = sum("tool_calls" in delta for delta in self.deltas)
        moved = tuple(_indexed(delta, at) for delta in other.deltas)
        calls = "tool_calls" in (self.finish, other.finish) and other.finish == "stop"
        finish = "tool_calls" if calls else other.finish
        return replace(other, deltas=self.deltas + moved, finish=finish, needle=self.needle or other.needle)

    def when(self, text: str) -> Step:
        return replace(self, needle=text)


def T(*texts: str) -> Step:
    """Text, one chunk for each argument."""
    return Step(tuple({"content": text} for text in texts), "stop")


def R(*texts: str) -> Step:
    """Reasoning, one chunk for each argument."""
    return Step(tuple({"reasoning_content": text} for text in texts), "stop")


def C(call_id: str, tool: str, args: dict[str, Any] | str) -> Step:
    """A tool call; `args` as a string is sent as it is, JSON or not."""
    arguments = args if isinstance(args, str) else json.dumps(args)
    call = {"index": 0, "id": call_id, "type": "function", "function": {"name": tool, "arguments": arguments}}
    return Step(({"tool_calls": [call]},), "tool_calls")


def LEN(*texts: str) -> Step:
    """Text cut off by the token limit."""
    return replace(T(*texts), finish="length")


def FILTER(*texts: str) -> Step:
    """Text stopped by the content filter."""
    return replace(T(*texts), finish="content_filter")


def ERR(status: int, message: str = "", **headers: str) -> Step:
    """An HTTP error; `retry_after="1"` is sent as `retry-after: 1`."""
    shown = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Step(status=status, message=message or responses.get(status, "Error"), headers=shown)


def DROP(*texts: str) -> Step:
    """Text, then the socket is closed in the middle of the stream."""
    return replace(T(*texts), then="drop")


def RAW(body: bytes | str, content_type: str = "text/event-stream", status: int = 200, **headers: str) -> Step:
    """A body as it is."""
    data = body.encode() if isinstance(body, str) else body
    return Step(raw=data, headers=(("content-type", content_type), *headers.items()), status=status)


HANG = Step(then="hang", status=0)
"""Accepts the request and never answers."""


def STALL(*texts: str, raw: str = "") -> Step:
    """Text, then bytes of the stream as they are, then silence with the connection open."""
    return replace(T(*texts), then="hang", raw=raw.encode() or None)


@dataclass(frozen=True)
class Received:
    """A request as it came. `complaint` is what a strict server refused it for."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    complaint: str | None = None

    def texts(self, role: str) -> list[str]:
        """The text contents of all messages of that role."""
        return [_text(m.get("content")) for m in self.body.get("messages", ()) if m.get("role") == role]


class StubModel:
    """See the module. `allowed` adds message fields which this server takes beyond OpenAI's own; `listed` are the
    models that it tells of.

    `requests` holds the model requests in order of arrival; `hangups` counts those that the client gave up before
    their end, `connections` the sockets that it opened.
    """

    def __init__(self, *steps: Step, model: str = "stub-1", strict: bool = True, allowed: Iterable[str] = ()) -> None:
        self.steps, self.strict, self.allowed = deque(steps), strict, frozenset(allowed)
        self.model = model
        self.listed: list[str | dict[str, Any]] = [model]
        self.requests: list[Received] = []
        self.hangups = 0
        self.connections = 0
        self.record: Path | None = None
        self.base_url = ""
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), name="stub-model", daemon=True)

    def __enter__(self) -> StubModel:
        self._thread.start()
        self._wait(lambda: bool(self.base_url), 10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None and self._stopped is not None
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    def add(self, *steps: Step) -> None:
        with self._changed:
            self.steps.extend(steps)

    def wait_for_requests(self, count: int, timeout: float = 10) -> None:
        """Block until that many model requests came in all; from async code call it with asyncio.to_thread."""
        self._wait(lambda: len(self.requests) >= count, timeout)

    def wait_for_hangups(self, count: int, timeout: float = 10) -> None:
        self._wait(lambda: self.hangups >= count, timeout)

    def _wait(self, true: Any, timeout: float) -> None:
        with self._changed:
            assert self._changed.wait_for(true, timeout), f"the stub saw {len(self.requests)} requests, {self.hangups=}"

    # The server, in its own loop.

    async def serve(self, port: int = 0) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", port)
        with self._changed:
            self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            self._changed.notify_all()
        await self._stopped.wait()
        server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    await writer.drain()
        except asyncio.CancelledError:
            pass  # the stub is stopping; asyncio would report the task of a connection that ends cancelled
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; false when the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        data = await reader.readexactly(int(headers.get("content-length", "0")))
        if method == "GET":
            data = [{"id": entry} if isinstance(entry, str) else entry for entry in self.listed]
            return _whole(writer, 200, json.dumps({"object": "list", "data": data}).encode())
        received = self._receive(path, headers, json.loads(data))
        step = ERR(400, received.complaint) if received.complaint else self._next(received)
        return await self._answer(step, received, reader, writer)

    def _receive(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Received:
        problem = complaint(body, self.allowed) if self.strict else None
        received = Received(path, headers, body, problem)
        with self._changed:
            self.requests.append(received)
            self._changed.notify_all()
        if self.record:
            with self.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(body, ensure_ascii=False) + "\n")
        return received

    def _next(self, received: Received) -> Step:
        users = received.texts("user")
        with self._changed:
            for step in self.steps:
                if step.needle is None or (users and step.needle in users[-1]):
                    self.steps.remove(step)
                    return step
        return ERR(400, "the stub model has no step left")

    async def _answer(
        self, step: Step, received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if step.status == 0:
            return await self._hang(reader)
        if step.raw is not None and step.then == "end":
            return _whole(writer, step.status, step.raw, step.headers)
        if step.status != 200:
            body = {"error": {"message": step.message, "type": "stub", "code": step.status}}
            return _whole(writer, step.status, json.dumps(body).encode(), step.headers)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            async for chunk in self._chunks(step, received):
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                await writer.drain()
        except ConnectionError:
            return self._given_up()
        if step.then == "hang":
            return await self._hang(reader)
        if step.then == "drop":
            return False
        writer.write(b"0\r\n\r\n")
        return True

    async def _chunks(self, step: Step, received: Received) -> AsyncIterator[bytes]:
        for delta in step.deltas:
            yield _event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            await asyncio.sleep(0)
        if step.raw:
            yield step.raw
        if step.then == "end":
            yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": step.finish}]})
            if (received.body.get("stream_options") or {}).get("include_usage"):
                tokens = {"prompt_tokens": 100 + len(received.body["messages"]), "completion_tokens": len(step.deltas)}
                yield _event({"choices": [], "usage": tokens})
            yield b"data: [DONE]\n\n"

    async def _hang(self, reader: asyncio.StreamReader) -> bool:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        return self._given_up()

    def _given_up(self) -> bool:
        with self._changed:
            self.hangups += 1
            self._changed.notify_all()
        return False


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
    return next(filter(None, map(_call_shape, calls)), None)


def _call_shape(call: dict[str, Any]) -> str | None:
    if set(call) - {"id", "type", "function"} or call.get("type") != "function":
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


def _indexed(delta: dict[str, Any], at: int) -> dict[str, Any]:
    calls = delta.get("tool_calls")
    return {**delta, "tool_calls": [{**call, "index": call["index"] + at} for call in calls]} if calls else delta


def _event(data: dict[str, Any]) -> bytes:
    chunk = {"id": "chatcmpl-stub", "object": "chat.completion.chunk", **data}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def _whole(writer: asyncio.StreamWriter, status: int, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> bool:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **dict(headers)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} {responses.get(status, 'Error')}\r\n{lines}\r\n".encode() + body)
    return True


def _step(raw: dict[str, Any]) -> Step:
    """A step of a JSON file: `{"T": "text"}`, `{"C": ["c1", "run_command", {…}]}`, `{"ERR": 429}`, `{"HANG": true}`."""
    makers = {"T": T, "R": R, "C": C, "LEN": LEN, "FILTER": FILTER, "ERR": ERR, "DROP": DROP, "STALL": STALL}
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
