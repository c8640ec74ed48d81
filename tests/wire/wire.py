"""A Peer without a process: bytes go in, frames are looked at as they come out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from acp_adapter.acp import types
from acp_adapter.acp.handshake import negotiate
from acp_adapter.acp.peer import Handler, Peer

DONE = {"stopReason": "end_turn"}
CANCELLED = -32800
INITIALIZE = {"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {"protocolVersion": 1}}


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


class Wire:
    """The editor's end of a connection. `slow()` stops reading, `fast()` reads again."""

    def __init__(self, handlers: Mapping[str, Handler] | None = None, initialized: bool = True) -> None:
        self.peer = Peer()
        self.peer.offer({types.INITIALIZE: self._initialize, **(handlers or {})})
        self.peer.outbox.connect(self)
        self._out = b""
        if initialized:
            self.peer.client = types.InitializeRequest(1)

    def write(self, data: bytes) -> None:
        self._out += data

    def send(self, *messages: Any) -> None:
        """Messages as JSON, or lines as bytes."""
        self.peer.feed(b"".join(each if isinstance(each, bytes) else line(each) for each in messages))

    def slow(self) -> None:
        self.peer.outbox.pause()

    def fast(self) -> None:
        self.peer.outbox.resume()

    async def frames(self, settle: float = 5) -> list[Any]:
        """What came out since the last look, once every request is answered or `settle` seconds have passed."""
        await self.peer.settled(settle)
        await self.peer.drained()
        out, self._out = self._out, b""
        assert out.endswith(b"\n") or not out
        return [json.loads(each) for each in out.splitlines()]

    async def ask(self, *messages: Any) -> list[Any]:
        self.send(*messages)
        return await self.frames()

    async def _initialize(self, _: types.InitializeRequest) -> dict[str, Any]:
        return negotiate({})


def request(msg_id: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params if params is not None else {}}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params if params is not None else {}}


def prompt(msg_id: Any, text: str = "hi") -> dict[str, Any]:
    return request(msg_id, "session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": text}]})


def chunk(text: str, message: str = "m", session: str = "s") -> types.SessionNotification:
    return types.SessionNotification(session, types.AgentMessageChunk(types.TextContent(text), message))


def outcome(frame: dict[str, Any]) -> tuple[Any, Any]:
    """The id of a response, and its error code or its result."""
    assert frame["jsonrpc"] == "2.0"
    assert ("result" in frame) != ("error" in frame)
    return frame["id"], frame["error"]["code"] if "error" in frame else frame["result"]


async def finish(_: types.PromptRequest) -> types.PromptResponse:
    return types.PromptResponse("end_turn")


async def hang(_: types.PromptRequest) -> types.PromptResponse:
    await asyncio.Event().wait()
    raise AssertionError


def wire(prompt: Handler = finish) -> Wire:
    return Wire({"session/prompt": prompt})
