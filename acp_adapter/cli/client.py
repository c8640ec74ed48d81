"""A small ACP client: it starts the agent as a child process and speaks newline-delimited JSON-RPC with it.

It knows the agent by the protocol alone, as any editor does, so what works here works there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from acp_adapter import __version__
from acp_adapter.cli.terminal import detached
from acp_adapter.errors import AcpAdapterError

PROTOCOL_VERSION = 1
AGENT = (sys.executable, "-P", "-m", "acp_adapter")
"""-P: what lies in the project's folder must not be imported in the place of our own modules."""
HANDSHAKE_SECONDS = 60.0
LEAVE_SECONDS = 3.0

Json = dict[str, Any]
Ask = Callable[[Json], Awaitable[Json]]


class AgentError(AcpAdapterError):
    """The agent's own error answer: `message` is its sentence, `number` its JSON-RPC code."""

    def __init__(self, error: Json) -> None:
        super().__init__(str(error.get("message") or "The agent answered with an error that has no message."))
        self.number = error.get("code")
        self.detail = error.get("data")


class AgentGone(AcpAdapterError):
    """The agent's process ended, or never started."""


class Client:
    """One agent process and the connection to it.

    `on_update` gets the params of each `session/update`, in order. `on_permission` gets the params of
    `session/request_permission` and returns the outcome, `on_form` those of `elicitation/create` and returns the
    result; both are cancelled when their turn is. Without `on_form` the agent is not told that there are forms.
    """

    def __init__(self, on_update: Callable[[Json], None], on_permission: Ask, on_form: Ask | None = None) -> None:
        self._on_update = on_update
        self._on_permission = on_permission
        self._on_form = on_form
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._asked: set[asyncio.Task[None]] = set()
        self._next_id = 0
        self._stderr: deque[str] = deque(maxlen=30)
        self.noise: deque[str] = deque(maxlen=3)
        """The last lines on the agent's stdout that are no frames."""
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._writing = asyncio.Lock()
        self.capabilities: Json = {}

    async def start(self, command: Sequence[str] = AGENT, cwd: Path | None = None, env: Json | None = None) -> Json:
        """Start the agent and shake hands; the answer to `initialize`. Raises AgentGone and AgentError."""
        pipe = asyncio.subprocess.PIPE
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env, **detached()
            )
        except OSError as fault:
            raise AgentGone(f"The agent {command[0]!r} can't be started: {fault}.") from None
        frames, noise = asyncio.create_task(self._read_frames()), asyncio.create_task(self._read_stderr())
        frames.add_done_callback(self._read_ended)
        self._tasks = [noise, frames]
        answer = await asyncio.wait_for(self.request("initialize", self._hello()), HANDSHAKE_SECONDS)
        self.capabilities = answer.get("agentCapabilities") or {}
        return dict(answer)

    @property
    def last_words(self) -> list[str]:
        """The last lines of the agent's stderr."""
        return list(self._stderr)

    async def request(self, method: str, params: Json) -> Any:
        """The result of one request. Raises AgentError for an error answer, AgentGone when no answer can come."""
        self._next_id += 1
        number = self._next_id
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await future
        finally:
            self._waiting.pop(number, None)

    async def prompt(self, session_id: str, text: str) -> Json:
        """Run one turn to its end. Cancelling this call cancels the turn and still awaits the agent's last word."""
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
        turn = asyncio.ensure_future(self.request("session/prompt", params))
        try:
            return dict(await asyncio.shield(turn))
        except asyncio.CancelledError:
            await self.cancel(session_id)
            return dict(await turn)

    async def cancel(self, session_id: str) -> None:
        """Ask for the turn's end; questions that are still open are answered `cancelled`, as ACP demands."""
        await self._send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}})
        for task in tuple(self._asked):
            task.cancel()

    async def aclose(self) -> None:
        """Close the agent's stdin, give it a moment to leave, then end it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin:
            process.stdin.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), LEAVE_SECONDS)
        if process.returncode is None:
            process.kill()
            await process.wait()
        for task in (*self._tasks, *self._asked):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._asked, return_exceptions=True)

    async def _send(self, frame: Json) -> None:
        if self._process is None or self._process.stdin is None:
            raise self._gone()
        line = json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        try:
            async with self._writing:
                self._process.stdin.write(line)
                await self._process.stdin.drain()
        except ConnectionError:
            raise self._gone() from None

    async def _read_frames(self) -> None:
        async for line in lines(self._stream("stdout")):
            try:
                self._receive(line)
            except OSError as fault:  # whoever reads our own output went away: read on, so that the agent can end
                self._give_up(fault)
        await asyncio.wait(self._tasks[:1], timeout=LEAVE_SECONDS)

    def _read_ended(self, reader: asyncio.Task[None]) -> None:
        fault = None if reader.cancelled() else reader.exception()
        self._give_up(fault or self._gone())

    def _give_up(self, fault: BaseException) -> None:
        """No answer can come any more, or none can be shown: tell all who wait."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(fault)

    async def _read_stderr(self) -> None:
        async for line in lines(self._stream("stderr")):
            self._stderr.append(line.decode("utf-8", "replace"))

    def _stream(self, name: str) -> asyncio.StreamReader:
        stream: asyncio.StreamReader = getattr(self._process, name)
        return stream

    def _receive(self, line: bytes) -> None:
        try:
            frame = json.loads(line)
        except ValueError:
            frame = None
        if not isinstance(frame, dict):
            self.noise.append(line[:200].decode("utf-8", "replace"))
            self._stderr.append(f"not a frame: {self.noise[-1]}")
        elif "method" not in frame:
            self._settle(frame)
        elif "id" in frame:
            task = asyncio.create_task(self._answer(frame))
            self._asked.add(task)
            task.add_done_callback(self._asked.discard)
        elif frame["method"] == "session/update":
            self._on_update(frame.get("params") or {})

    def _settle(self, frame: Json) -> None:
        future = self._waiting.get(frame.get("id", 0))
        if future is None or future.done():
            return
        error = frame.get("error")
        if error is None:
            future.set_result(frame.get("result") or {})
        else:
            future.set_exception(AgentError(error))

    async def _answer(self, frame: Json) -> None:
        answer: Json = {"jsonrpc": "2.0", "id": frame["id"]}
        if frame["method"] == "session/request_permission":
            asked = self._on_permission(frame.get("params") or {})
            answer["result"] = {"outcome": await _unless_cancelled(asked, {"outcome": "cancelled"})}
        elif frame["method"] == "elicitation/create" and self._on_form:
            answer["result"] = await _unless_cancelled(self._on_form(frame.get("params") or {}), {"action": "cancel"})
        else:
            answer["error"] = {"code": -32601, "message": f"This client does not offer {frame['method']}."}
        with contextlib.suppress(AgentGone):
            await self._send(answer)

    def _hello(self) -> Json:
        capabilities: Json = {
            "fs": {"readTextFile": False, "writeTextFile": False},
            "terminal": False,
            "session": {"notices": {}},
            **({"elicitation": {"form": {}}} if self._on_form else {}),
        }
        info = {"name": "acp-adapter-chat", "title": "acp-adapter chat", "version": __version__}
        return {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": capabilities, "clientInfo": info}

    def _gone(self) -> AgentGone:
        last = "\n".join(self._stderr).strip()
        return AgentGone("The agent ended." + (f" Its last words:\n{last}" if last else " It left no message."))


async def _unless_cancelled(asked: Awaitable[Json], otherwise: Json) -> Json:
    try:
        return await asked
    except asyncio.CancelledError:
        return otherwise


async def lines(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The stream's non-empty lines without their ends, however long; StreamReader's own limit would break them."""
    rest = bytearray()
    while chunk := await stream.read(1 << 16):
        rest += chunk
        if b"\n" in chunk:
            *whole, last = rest.split(b"\n")
            rest = bytearray(last)
            for line in whole:
                if line.strip():
                    yield bytes(line)
    if rest.strip():
        yield bytes(rest)
