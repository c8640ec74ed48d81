"""A raw ACP client: writes what it is told, right or wrong, and sees every line that comes back.

Every wait is bounded; when one fails, `story` shows the last frames and the agent's stderr.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import define, field

from tests.clients.checks import Connection
from tests.clients.checks.rule import Asked
from tests.clients.editor import Editor, Refusal
from tests.clients.process import AgentProcess
from tests.clients.turn import Turn

T = TypeVar("T")
WAIT = 20.0
"""Seconds until a wait counts as failed, where the test says nothing else: far above what is right, so that a busy
machine fails no test."""


class RpcError(Exception):
    """The agent answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code: int = error.get("code", 0)
        self.message: str = error.get("message", "")
        self.data: Any = error.get("data")


class WaitedInVain(AssertionError):
    """What was waited for did not come."""


@define
class Frame:
    """One line. `sent` is true for client → agent; `data` is None where it is not JSON; `at` is time.monotonic()."""

    sent: bool
    line: bytes
    data: Any
    at: float = field(factory=time.monotonic)

    def __str__(self) -> str:
        text = self.line[:400].decode("utf-8", "replace") + ("…" if len(self.line) > 400 else "")
        return f"{'>>' if self.sent else '<<'} {text}"


class RawClient:
    """One connection to one agent process. `frames` is everything that went over it, in order."""

    def __init__(self, process: AgentProcess, referee: Connection, editor: Editor) -> None:
        self.process, self.editor, self.frames = process, editor, list[Frame]()
        self.live: dict[str, list[dict[str, Any]]] = {}
        """What the client's panel was shown of each session: the agent's updates and the client's own prompts."""
        self.unseen: set[str] = set()
        """Sessions whose panel differs from a replay for a reason that the test names."""
        self.initialized: dict[str, Any] = {}
        self._referee = referee
        self._results: dict[Any, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._news = asyncio.Event()
        self._answers: set[asyncio.Task[None]] = set()
        self._updates: dict[str, list[dict[str, Any]]] = {}
        self._turns: list[Turn] = []
        self._reader = asyncio.create_task(self._read())

    # Writing.

    async def write(self, data: bytes) -> None:
        """Bytes as they are. The frames in them are to be noted with `note_sent`; see `send_line` for whole lines."""
        await self.process.write(data)

    def note_sent(self, line: bytes) -> None:
        self._note(True, line)

    async def send_line(self, line: bytes) -> None:
        self._note(True, line)
        await self.process.write(line + b"\n")

    async def send(self, frame: Any) -> None:
        text = json.dumps(frame, ensure_ascii=False)
        escaped = any("\ud800" <= character <= "\udfff" for character in text)
        await self.send_line((json.dumps(frame) if escaped else text).encode())

    async def notify(self, method: str, **params: Any) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def begin(self, method: str, params: Any = None, *, id: Any = None) -> Any:
        """Send a request; its id, for `result`."""
        if id is None:
            self._next_id += 1
            id = self._next_id if self._next_id % 3 else f"id-{self._next_id}"
        self.expect(id)
        self._open(method, params)
        await self.send(
            {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}
        )
        return id

    def _open(self, method: str, params: Any) -> None:
        """A panel begins anew with a load."""
        session = params.get("sessionId") if isinstance(params, dict) else None
        if isinstance(session, str) and method == "session/load":
            self.live[session] = []

    def expect(self, request_id: Any) -> None:
        """Prepare to `result` a request that the test writes by hand."""
        self._results[request_id] = asyncio.get_running_loop().create_future()

    async def result(self, request_id: Any, timeout: float = WAIT) -> Any:
        """The result of a request that was begun. Raises RpcError."""
        future = self._results[request_id]
        await self.until(future.done, f"the answer to {request_id!r}", timeout)
        return future.result()

    def answered(self, request_id: Any) -> bool:
        return self._results[request_id].done()

    async def request(self, method: str, params: Any = None, timeout: float = WAIT) -> Any:
        """Ask and wait. Raises RpcError."""
        return await self.result(await self.begin(method, params), timeout)

    async def error_of(self, method: str, params: Any = None, timeout: float = WAIT) -> RpcError:
        """The error that this request is answered with; that there is none fails the test."""
        try:
            result = await self.request(method, params, timeout)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} {params!r} was answered with {result!r}, not with an error")

    # The protocol's own words.

    async def initialize(self, version: int = 1, timeout: float = WAIT) -> dict[str, Any]:
        params = {"protocolVersion": version, "clientCapabilities": self.editor.offers}
        params["clientInfo"] = {"name": "raw", "version": "1"}
        self.initialized = await self.request("initialize", params, timeout)
        return self.initialized

    async def new(self, cwd: Any, **more: Any) -> str:
        result = await self.request("session/new", {"cwd": str(cwd), "mcpServers": [], **more})
        return str(result["sessionId"])

    async def load(self, session: str, cwd: Any, timeout: float = WAIT, **more: Any) -> list[dict[str, Any]]:
        """Load, and give the updates of that session which came before the response."""
        before = len(self.updates(session))
        await self.request("session/load", {"sessionId": session, "cwd": str(cwd), "mcpServers": [], **more}, timeout)
        return self.updates(session)[before:]

    async def begin_prompt(self, session: str, prompt: str | list[dict[str, Any]]) -> Turn:
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else prompt
        turn = Turn(self, session, blocks)
        self._turns.append(turn)
        self._begin_next(session)
        turn.id = await self.begin("session/prompt", {"sessionId": session, "prompt": blocks})
        return turn

    async def prompt(self, session: str, prompt: str | list[dict[str, Any]], timeout: float = WAIT) -> Turn:
        """A whole turn. Raises RpcError where the prompt is answered with one."""
        turn = await self.begin_prompt(session, prompt)
        await turn.done(timeout)
        return turn

    async def cancel(self, session: str) -> None:
        await self.notify("session/cancel", sessionId=session)

    # Reading.

    def updates(self, session: str) -> list[dict[str, Any]]:
        """Every `session/update` of the session so far."""
        return self._updates.setdefault(session, [])

    def received(self, method: str) -> list[Frame]:
        """The agent's requests and notifications of that method."""
        return [f for f in self.frames if not f.sent and isinstance(f.data, dict) and f.data.get("method") == method]

    async def until(self, condition: Callable[[], T], what: str, timeout: float = WAIT) -> T:
        """Wait until the condition, looked at after every frame and now and then, holds; its value."""
        end = time.monotonic() + timeout
        while not (value := condition()):
            self._news.clear()
            left = end - time.monotonic()
            if left <= 0 or self._reader.done():
                raise WaitedInVain(f"waited {timeout} s for {what}" if left <= 0 else f"the agent went without {what}")
            try:
                await asyncio.wait_for(self._news.wait(), min(left, 0.1))
            except TimeoutError:
                continue
        return value

    async def _read(self) -> None:
        try:
            async for line in self.process.lines():
                self._received(self._note(False, line))
        finally:
            self._news.set()

    def _note(self, sent: bool, line: bytes) -> Frame:
        (self._referee.sent if sent else self._referee.received)(line)
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            data = None
        frame = Frame(sent, line, data)
        self.frames.append(frame)
        self._news.set()
        return frame

    def _received(self, frame: Frame) -> None:
        data = frame.data
        if not isinstance(data, dict):
            return
        if data.get("method") == "session/update":
            params = data["params"]
            self.updates(params["sessionId"]).append(params["update"])
            self.live.setdefault(params["sessionId"], []).append(params["update"])
        elif "method" in data and "id" in data:
            task = asyncio.create_task(self._answer(data))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)
        elif "method" not in data:
            self._settle(data)

    def _settle(self, data: dict[str, Any]) -> None:
        future = self._results.get(data.get("id"))
        if future is None or future.done():
            return
        for turn in [turn for turn in self._turns if turn.id == data["id"]]:
            turn.begun()  # where it did not wait for the turn before it: a word to the running one
            turn.ended(data)
            self._turns.remove(turn)
            self._begin_next(turn.session)
        if "error" in data:
            future.set_exception(RpcError(data["error"]))
            future.exception()
        else:
            future.set_result(data["result"])

    def _begin_next(self, session: str) -> None:
        """The first of the session's prompts that wait is the one whose turn it is."""
        for turn in [turn for turn in self._turns if turn.session == session][:1]:
            turn.begun()

    async def _answer(self, data: dict[str, Any]) -> None:
        try:
            result = {"result": await self.editor.answer(data["method"], data.get("params") or {})}
        except Refusal as refusal:
            result = {"error": refusal.error}
        await self.send({"jsonrpc": "2.0", "id": data["id"], **result})

    def open_turns(self, session: str) -> set[str]:
        """The names of the prompts in its panel that have no answer yet."""
        return {turn.name for turn in self._turns if turn.session == session and turn.name}

    def unanswered(self) -> list[Asked]:
        """The requests that the agent has not answered yet."""
        return self._referee.unanswered()

    # The end.

    def eof(self) -> None:
        self.process.eof()

    async def kill(self) -> None:
        """SIGKILL, and wait until it is over."""
        self.process.kill()
        await self.ended(10)

    async def ended(self, timeout: float = 5) -> int:
        """Wait until the process is gone and all it wrote is read; its exit code."""
        try:
            code = await self.process.ended(timeout)
        except TimeoutError:
            raise WaitedInVain(f"the agent still runs after {timeout} s") from None
        await asyncio.wait({self._reader}, timeout=5)
        return code

    async def close(self) -> None:
        for task in (*self._answers, self._reader):
            task.cancel()
        await asyncio.gather(*self._answers, self._reader, return_exceptions=True)
        await self.editor.close()
        await self.process.close()

    def story(self) -> str:
        """The last frames, the exit code if it has one, and the end of stderr."""
        tail = "\n".join(map(str, self.frames[-30:]))
        ended = "" if self.process.code is None else f"(the agent ended with code {self.process.code})"
        return f"{tail}\n{ended}\n--- stderr\n{self.process.stderr[-3000:]}"
