"""The editor's side of a connection: who is asked for permission, whose buffers and terminals are used.

A permission policy is a function of the request's params that returns a result, raises `Refusal`, or waits. The
policies below are the ones that people and editors are known for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from attrs import define, field

Params = dict[str, Any]
Policy = Callable[[Params], Awaitable[Any]]


class Refusal(Exception):
    """A JSON-RPC error as the client's answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message}


def choose(kind: str) -> Policy:
    """Take the first option of that kind: `allow_once`, `allow_always`, `reject_once`, `reject_always`."""

    async def policy(params: Params) -> Any:
        option = next(option for option in params["options"] if option["kind"] == kind)
        return selected(option["optionId"])

    return policy


def answer(result: Any) -> Policy:
    async def policy(params: Params) -> Any:
        return result

    return policy


def refuse(code: int, message: str = "no") -> Policy:
    async def policy(params: Params) -> Any:
        raise Refusal(code, message)

    return policy


async def never(params: Params) -> Any:
    """The person has gone for lunch, and the editor forgets its duty to answer after a cancel."""
    await asyncio.Event().wait()


def in_turn(*policies: Policy) -> Policy:
    """The first request meets the first policy, and so on."""
    queue = list(policies)

    async def policy(params: Params) -> Any:
        return await queue.pop(0)(params)

    return policy


def by_session(policies: dict[str, Policy]) -> Policy:
    async def policy(params: Params) -> Any:
        return await policies[params["sessionId"]](params)

    return policy


def selected(option: str) -> Any:
    return {"outcome": {"outcome": "selected", "optionId": option}}


DISMISSED = {"outcome": {"outcome": "cancelled"}}
allow, allow_always = choose("allow_once"), choose("allow_always")
reject, reject_always = choose("reject_once"), choose("reject_always")
dismiss = answer(DISMISSED)


def capabilities(
    fs: bool = False,
    terminal: bool = False,
    notices: bool = False,
    compaction: bool = False,
    boolean: bool = False,
    auth: bool = False,
    forms: bool = False,
) -> dict[str, Any]:
    """What a client says at `initialize`, in the protocol's spelling."""
    session: dict[str, Any] = {"notices": {}} if notices else {}
    session |= {"compaction": {}} if compaction else {}
    session |= {"configOptions": {"boolean": {}}} if boolean else {}
    offered: dict[str, Any] = {"fs": {"readTextFile": fs, "writeTextFile": fs}, "terminal": terminal}
    offered |= {"session": session} if session else {}
    offered |= {"elicitation": {"form": {}}} if forms else {}
    return offered | ({"auth": {"terminal": True}} if auth else {})


@define
class Editor:
    """Answers what the agent asks. `buffers` are the open, perhaps unsaved files by absolute path."""

    offers: dict[str, Any] = field(factory=capabilities)
    permission: Policy = allow
    buffers: dict[str, str] = field(factory=dict)
    written: list[str] = field(factory=list)
    terminals: dict[str, Terminal] = field(factory=dict)
    overrides: dict[str, Policy] = field(factory=dict)

    async def answer(self, method: str, params: Params) -> Any:
        """The result of a request. Raises Refusal for one that is answered with an error."""
        if method in self.overrides:
            return await self.overrides[method](params)
        handlers: dict[str, Policy] = {
            "session/request_permission": self.permission,
            "fs/read_text_file": self._read,
            "fs/write_text_file": self._write,
            "terminal/create": self._create,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._kill,
            "terminal/release": self._release,
        }
        if method not in handlers:
            raise Refusal(-32601, f"no method {method}")
        return await handlers[method](params)

    async def close(self) -> None:
        for terminal in self.terminals.values():
            await terminal.release()

    async def _read(self, params: Params) -> Any:
        if params["path"] not in self.buffers:
            raise Refusal(-32002, f"no file {params['path']}")
        lines = self.buffers[params["path"]].splitlines(keepends=True)
        first = (params.get("line") or 1) - 1
        return {"content": "".join(lines[first:][: params.get("limit")])}

    async def _write(self, params: Params) -> Any:
        self.buffers[params["path"]] = params["content"]
        self.written.append(params["path"])
        return None

    async def _create(self, params: Params) -> Any:
        terminal = await Terminal.start(params)
        name = f"term-{len(self.terminals) + 1}"
        self.terminals[name] = terminal
        return {"terminalId": name}

    async def _output(self, params: Params) -> Any:
        return self.terminals[params["terminalId"]].output()

    async def _wait(self, params: Params) -> Any:
        return await self.terminals[params["terminalId"]].exit()

    async def _kill(self, params: Params) -> Any:
        self.terminals[params["terminalId"]].kill()
        return {}

    async def _release(self, params: Params) -> Any:
        await self.terminals[params["terminalId"]].release()
        return {}


@define
class Terminal:
    """A terminal of the editor: a real process whose output is kept."""

    process: asyncio.subprocess.Process
    limit: int
    kept: bytearray = field(factory=bytearray)
    truncated: bool = False
    released: bool = False
    reader: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, params: Params) -> Terminal:
        process = await asyncio.create_subprocess_exec(
            params["command"],
            *params.get("args") or (),
            cwd=params.get("cwd"),
            env={**os.environ, **{entry["name"]: entry["value"] for entry in params.get("env") or ()}},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=os.name == "posix",
        )
        terminal = cls(process, params.get("outputByteLimit") or 1_000_000)
        terminal.reader = asyncio.create_task(terminal._collect())
        return terminal

    async def _collect(self) -> None:
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(65536):
            self.kept += data
            if len(self.kept) > self.limit:
                self.truncated = True
                del self.kept[: len(self.kept) - self.limit]

    def output(self) -> Any:
        shown: dict[str, Any] = {"output": self.kept.decode("utf-8", "replace"), "truncated": self.truncated}
        return shown | ({"exitStatus": self._status()} if self.process.returncode is not None else {})

    async def exit(self) -> Any:
        await self.process.wait()
        if self.reader:
            await self.reader
        return self._status()

    def kill(self) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL) if os.name == "posix" else self.process.kill()

    async def release(self) -> None:
        if not self.released:
            self.released = True
            self.kill()
            await self.exit()

    def _status(self) -> dict[str, Any]:
        code = self.process.returncode
        if code is not None and code < 0:
            return {"exitCode": None, "signal": signal.Signals(-code).name}
        return {"exitCode": code, "signal": None}
