"""A bench to try tools on: a real folder, the real toolbox, and what an editor would have been shown."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
from attrs import define, field

from acp_adapter.errors import ClientError, ToolError
from acp_adapter.tools import orphans, processes
from acp_adapter.tools.arguments import checked
from acp_adapter.tools.port import (
    Answer,
    Editor,
    Intent,
    Question,
    ReadMemory,
    TerminalRun,
    Tool,
    ToolContext,
    ToolResult,
)
from acp_adapter.tools.toolbox import builtin_tools

NOT_FOUND = -32002
_calls = itertools.count(1)


@define
class Bench:
    """Calls tools as a session does: arguments checked, intent stated, then run, all in one context."""

    cwd: Path
    editor: Editor | None = None
    session_id: str = "bench"
    env: dict[str, str] = field(factory=dict)
    memory: ReadMemory = field(factory=ReadMemory)
    shown: list[Sequence[dict[str, Any]]] = field(factory=list)
    plans: list[Sequence[dict[str, Any]]] = field(factory=list)
    tools: dict[str, Tool] = field(factory=builtin_tools)
    outputs: Path | None = None

    def context(self) -> ToolContext:
        return ToolContext(
            call_id=f"call-{next(_calls)}",
            cwd=self.cwd,
            roots=[self.cwd.resolve()],
            editor=self.editor,
            memory=self.memory,
            progress=self.shown.append,
            plan=self.plans.append,
            env=self.env,
            session_id=self.session_id,
            outputs=self.outputs,
        )

    async def intent(self, name: str, **args: Any) -> Intent:
        tool = self.tools[name]
        return await tool.intent(checked(tool.parameters, args), self.context())

    async def call(self, name: str, **args: Any) -> ToolResult:
        tool, context = self.tools[name], self.context()
        known = checked(tool.parameters, args)
        await tool.intent(known, context)
        return await tool.run(known, context)

    async def text(self, name: str, **args: Any) -> str:
        result = await self.call(name, **args)
        assert not result.failed, result.text
        return result.text

    async def refused(self, name: str, **args: Any) -> str:
        """The sentence with which the tool fails; it must fail."""
        try:
            result = await self.call(name, **args)
        except ToolError as fault:
            return fault.message
        raise AssertionError(f"{name} was not refused but said: {result.text}")


@define
class FakeEditor:
    """An editor's side of the protocol: buffers that may differ from the disk, and a terminal."""

    can_read: bool = True
    can_write: bool = True
    can_run: bool = False
    can_ask: bool = False
    buffers: dict[Path, str] = field(factory=dict)
    written: list[Path] = field(factory=list)
    silent: bool = False
    terminal_env: dict[str, str] = field(factory=dict)
    asked_limit: int = 0

    async def read_text_file(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        self._answer()
        if path not in self.buffers:
            raise ClientError(f"The editor does not know {path}.", code=NOT_FOUND)
        return self.buffers[path]

    async def write_text_file(self, path: Path, content: str) -> None:
        self._answer()
        self.buffers[path] = content
        self.written.append(path)

    async def run_command(
        self, command: str, cwd: Path, env: dict[str, str], output_limit: int, opened: Callable[[str], None]
    ) -> TerminalRun:
        self._answer()
        self.terminal_env, self.asked_limit = env, output_limit
        opened("terminal-1")
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", command, cwd=cwd, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
        )
        try:
            out, _ = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        return TerminalRun(out.decode()[-output_limit:], len(out) > output_limit, process.returncode, None)

    async def ask_user(self, call_id: str, question: Question) -> Answer:
        self._answer()
        return Answer("accept", question.options[0])

    def _answer(self) -> None:
        if self.silent:
            raise ClientError("The editor did not answer within 30 seconds.")


def living_children() -> list[str]:
    """Processes that a tool of this program or this program itself started, wherever they are now."""
    own = {child.pid for child in psutil.Process().children(recursive=True)}
    found = []
    for process in psutil.process_iter():
        try:
            marked = process.environ().get(orphans.MARK, "").startswith(processes._PROGRAM)
            if (marked or process.pid in own) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {' '.join(process.cmdline())}")
        except psutil.Error:
            continue
    return found


async def gone(pid: int, seconds: float = 5) -> bool:
    """Whether a process ends (a zombie has) within the time."""
    for _ in range(int(seconds / 0.02)):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        await asyncio.sleep(0.02)
    return False
