"""The HTTP of all model servers for tests: answers from a queue of steps, on loopback.

Steps hold what is answered in the form of OpenAI's chat completions (a delta is text, reasoning or a call), which each
server turns into the form of its own API: see `tests.stub_model` for the oldest of them. A step takes part only in
requests whose last user text holds its `when(…)` text, so that several sessions may share one server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace
from http.client import responses
from pathlib import Path
from typing import Any, Self

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

CLOSE = Step(then="drop", status=0)
"""Accepts the request and closes the connection, as servers do that no longer keep one."""


def STALL(*texts: str, raw: str = "") -> Step:
    """Text, then bytes of the stream as they are, then silence with the connection open."""
    return replace(T(*texts), then="hang", raw=raw.encode() or None)


HOLD = Step(({"hold": True},))
"""In the middle of an answer: nothing more comes until `go_on`."""


@dataclass(frozen=True)
class Received:
    """A request as it came. `said` is the role and the text of each of its messages, `complaint` what a strict server
    refused it for, `raw` the body's bytes."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes = b""
    said: tuple[tuple[str, str], ...] = ()
    complaint: str | None = None

    def texts(self, role: str) -> list[str]:
        """The text contents of all messages of that role."""
        return [text for said, text in self.said if said == role]


class StubServer:
    """A server with one API, which a subclass knows: the methods up to `chunks`.

    `listed` are the models that it tells of. `requests` holds the model requests in order of arrival; `hangups` counts
    those that the client gave up before their end, `connections` the sockets that it opened. `with` starts and ends it,
    in a thread of its own, so that sync and async tests can use it.
    """

    path = ""
    """What stands between the server's address and the API's own paths."""
    kind = "text/event-stream"
    """The content type of a streamed answer."""

    def __init__(self, *steps: Step, model: str = "stub-1", strict: bool = True) -> None:
        self.steps, self.strict = deque(steps), strict
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
        self._going_on: asyncio.Event | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), name="stub-server", daemon=True)

    def told(self, method: str, path: str, body: Any) -> Any | None:
        """The JSON that answers a request which is no model call; None for one that is."""
        raise NotImplementedError

    def said(self, body: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Role and text of each message."""
        raise NotImplementedError

    def complaint(self, received: Received) -> str | None:
        """What the strictest real server of this API would refuse the request for."""
        raise NotImplementedError

    def refused(self, step: Step) -> Any:
        """The JSON body of an error."""
        return {"error": {"message": step.message, "type": "stub", "code": step.status}}

    def chunks(self, step: Step, received: Received) -> AsyncIterator[bytes]:
        """The pieces of a streamed answer."""
        raise NotImplementedError

    def __enter__(self) -> Self:
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

    def go_on(self) -> None:
        """Let every answer that holds, and all that come, go on."""
        assert self._loop is not None and self._going_on is not None
        self._loop.call_soon_threadsafe(self._going_on.set)

    async def gone_on(self) -> None:
        """In the server: wait where an answer holds."""
        assert self._going_on is not None
        await self._going_on.wait()

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
        self._loop, self._stopped, self._going_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", port)
        with self._changed:
            self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{self.path}"
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
        body = json.loads(data or b"{}")
        told = self.told(method, path, body)
        if told is not None:
            return _whole(writer, 200, json.dumps(told).encode())
        received = self._receive(Received(path, headers, body, data, tuple(self.said(body))))
        step = ERR(400, received.complaint) if received.complaint else self._next(received)
        return await self._answer(step, received, reader, writer)

    def _receive(self, received: Received) -> Received:
        if self.strict:
            received = replace(received, complaint=self.complaint(received))
        with self._changed:
            self.requests.append(received)
            self._changed.notify_all()
        if self.record:
            with self.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(received.body, ensure_ascii=False) + "\n")
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
            return step.then == "hang" and await self._hang(reader)
        if step.raw is not None and step.then == "end":
            return _whole(writer, step.status, step.raw, step.headers)
        if step.status != 200:
            return _whole(writer, step.status, json.dumps(self.refused(step)).encode(), step.headers)
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {self.kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        try:
            async for chunk in self.chunks(step, received):
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

    async def _hang(self, reader: asyncio.StreamReader) -> bool:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        return self._given_up()

    def _given_up(self) -> bool:
        with self._changed:
            self.hangups += 1
            self._changed.notify_all()
        return False


def _indexed(delta: dict[str, Any], at: int) -> dict[str, Any]:
    calls = delta.get("tool_calls")
    return {**delta, "tool_calls": [{**call, "index": call["index"] + at} for call in calls]} if calls else delta


def _whole(writer: asyncio.StreamWriter, status: int, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> bool:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **dict(headers)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} {responses.get(status, 'Error')}\r\n{lines}\r\n".encode() + body)
    return True
