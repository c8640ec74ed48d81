"""One tool call from the model's words to its stored result: check, state the intent, permit, run, keep, show."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from attrs import define, evolve, field, frozen

from acp_adapter.agent.events import PlanChanged, ToolCallChanged, ToolCallStarted, TurnEvent
from acp_adapter.agent.projection import details_of, finished, parsed, started
from acp_adapter.errors import AcpAdapterError, ToolError
from acp_adapter.redaction import Redactor
from acp_adapter.tools.arguments import checked
from acp_adapter.tools.port import (
    Editor,
    FileHistory,
    Intent,
    Question,
    ReadMemory,
    Shown,
    Tool,
    ToolContext,
    ToolResult,
)
from acp_adapter.transcript import Message, ToolCall, new_id, uninterrupted

log = logging.getLogger(__name__)

UNTOLD = "This can't be done as it was asked for. Why is not told, since what is there may not be read without asking."
CANCELLED = "The user cancelled this call before it was done."

Emit = Callable[[TurnEvent], None]


@frozen
class Ruling:
    """Whether a call may run. `refusal` is a sentence for the model that says why not, None where it may.

    `record` is kept with the call: `verdict`, `by` (mode, rule or user), and the mode, rule or choice itself.
    """

    refusal: str | None
    record: dict[str, str]


class Gatekeeper(Protocol):
    """Decides whether a call may run, asking the user where the mode and the rules say so."""

    async def permit(self, call: ToolCall, intent: Intent) -> Ruling: ...

    def hiding(self, tool: str, asked: bool) -> Callable[[Path], bool]:
        """Tells of a file whether the tool must not show what is in it: a rule refuses that, or asks first and the
        user was not `asked` about this call."""
        ...

    def reads(self, paths: Sequence[Path], passed: Sequence[Path]) -> bool:
        """Whether what is in the files may be told without asking."""
        ...


@define
class Workspace:
    """Where a session's tools work. `roots` are absolute and resolved, the first is `cwd`.

    `redactor` takes secrets out of what tools give, before anybody is told. `readable` are resolved folders outside
    the roots that are read without asking; `outputs` is where long output is kept, None for nowhere. `history` keeps
    what its tools change in files.
    """

    session_id: str
    cwd: Path
    roots: Sequence[Path]
    editor: Editor | None = None
    memory: ReadMemory = field(factory=ReadMemory)
    redactor: Redactor = field(factory=Redactor)
    readable: list[Path] = field(factory=list)
    outputs: Path | None = None
    history: FileHistory | None = None

    def context(
        self,
        call_id: str,
        progress: Callable[[Sequence[Shown]], None] = lambda content: None,
        plan: Callable[[Sequence[dict[str, Any]]], None] = lambda entries: None,
        hides: Callable[[Path], bool] = lambda path: False,
    ) -> ToolContext:
        """What one call may use here."""
        return ToolContext(
            call_id=call_id,
            cwd=self.cwd,
            roots=self.roots,
            editor=self.editor,
            memory=self.memory,
            progress=progress,
            plan=plan,
            session_id=self.session_id,
            hides=hides,
            outputs=self.outputs,
            history=self.history,
        )


@frozen
class ToolRunner:
    """Runs the calls of one session. `keep` stores a message before anything is shown of it."""

    tools: Mapping[str, Tool]
    workspace: Workspace
    gatekeeper: Gatekeeper
    keep: Callable[[Message], Awaitable[None]]
    emit: Emit
    announced: dict[str, ToolCallStarted] = field(factory=dict)
    """The calls that have been shown and have no result yet, as they stand."""

    async def run(self, calls: Sequence[ToolCall]) -> list[Question]:
        """Give each call exactly one result, whatever happens to it. The questions that are to end the turn.

        They are announced in the model's order and then run at once. A cancellation goes on after the results of
        those that were announced are stored.
        """
        announced = [await self.announced_call(call) for call in calls]
        async with asyncio.TaskGroup() as group:
            for each in announced:
                group.create_task(each.run())
        return [each.question for each in announced if each.question]

    async def announced_call(self, call: ToolCall) -> AnnouncedCall:
        """The call, shown and ready to run. A call that is announced must be run."""
        announced = AnnouncedCall(self, call)
        await announced.announce()
        return announced


class AnnouncedCall:
    def __init__(self, runner: ToolRunner, call: ToolCall) -> None:
        self._runner = runner
        self._call = call
        self._begun = time.monotonic()
        self._context = runner.workspace.context(call.id, self._show_progress, self._publish_plan, self._hides)
        self._hiding: Callable[[Path], bool] | None = None
        self._ruling: Ruling | None = None
        self._ready: tuple[Tool, dict[str, Any], Intent] | None = None
        self._hopeless: ToolResult | None = None
        self._start: ToolCallStarted | None = None
        self._plan: Sequence[dict[str, Any]] | None = None
        self.question: Question | None = None

    async def announce(self) -> None:
        """Check the call, state its intent and show it. What is wrong with it becomes its result in `run`."""
        self._hopeless = await self._or_failure(self._prepare())
        self._start = started(self._call, self._ready[2] if self._ready else None)
        self._runner.announced[self._call.id] = self._start
        self._runner.emit(self._start)

    async def run(self) -> ToolResult:
        """Permit it, run it, store and show its result."""
        try:
            result = self._hopeless or await self._or_failure(self._permitted())
        except asyncio.CancelledError:
            done = self._context.so_far[-1:] or [ToolResult("")]
            await uninterrupted(self._close(evolve(done[0], text=CANCELLED, failed=True)))
            raise
        return await uninterrupted(self._close(result or ToolResult("")))

    async def _or_failure(self, work: Awaitable[ToolResult | None]) -> ToolResult | None:
        """What `work` gives; failures of every kind become failed results that the model reads."""
        try:
            return await work
        except AcpAdapterError as fault:
            return ToolResult(fault.message, failed=True)
        except Exception:  # a bug in one tool must not take the turn with it
            incident = new_id()[:8]
            log.exception("tool %s failed, incident %s", self._call.name, incident)
            return ToolResult(f"The tool failed inside (incident {incident}; see the log).", failed=True)

    async def _prepare(self) -> None:
        tool = self._runner.tools.get(self._call.name)
        if tool is None:
            names = ", ".join(sorted(self._runner.tools))
            raise ToolError(f"There is no tool {self._call.name!r}. The tools are: {names}.")
        args = checked(tool.parameters, parsed(self._call.arguments))
        intent = await self._intent(tool, args)
        self._ready = tool, args, evolve(intent, passed=tuple(self._context.passed))

    async def _intent(self, tool: Tool, args: dict[str, Any]) -> Intent:
        """Nothing is decided yet: why a change does not fit a file is told only to who may read that."""
        try:
            return await tool.intent(args, self._context)
        except ToolError as fault:
            paths, passed = list(self._context.resolved.values()), list(self._context.passed)
            if self._runner.gatekeeper.reads(paths, passed):
                raise
            raise ToolError(UNTOLD) from fault

    async def _permitted(self) -> ToolResult:
        assert self._ready is not None
        tool, args, intent = self._ready
        self._ruling = await self._runner.gatekeeper.permit(self._call, intent)
        if self._ruling.refusal:
            return ToolResult(self._ruling.refusal, failed=True)
        if self._start:
            self._runner.announced[self._call.id] = evolve(self._start, status="in_progress")
        self._runner.emit(ToolCallChanged(self._call.id, status="in_progress"))
        async with self._watched(intent):
            return await tool.run(args, self._context)

    def _watched(self, intent: Intent) -> AbstractAsyncContextManager[None]:
        """What may write files by itself is watched: commands, and tools of other programs."""
        workspace = self._runner.workspace
        if intent.action != "execute" or workspace.history is None:
            return nullcontext()
        return workspace.history.watching(workspace.memory.seen, self._call.id)

    async def _close(self, result: ToolResult) -> ToolResult:
        """Store the result, without secrets, then show it."""
        assert self._start is not None
        result = self._redacted(result)
        ruling = (self._ruling and self._ruling.record) or None
        details = details_of(self._start, result, time.monotonic() - self._begun, self._plan, ruling)
        await self._runner.keep(
            Message(
                role="tool",
                content=result.text,
                tool_call_id=self._call.id,
                tool_name=self._call.name,
                details=details,
            )
        )
        self.question = result.asks
        self._runner.announced.pop(self._call.id, None)
        self._runner.emit(finished(self._start, result, ruling))
        return result

    def _hides(self, path: Path) -> bool:
        if self._hiding is None:
            asked = self._ruling is not None and self._ruling.record.get("by") == "user"
            self._hiding = self._runner.gatekeeper.hiding(self._call.name, asked)
        return self._hiding(path)

    def _show_progress(self, content: Sequence[Shown]) -> None:
        shown = self._runner.workspace.redactor.value(list(content))
        self._runner.emit(ToolCallChanged(self._call.id, content=shown))

    def _redacted(self, result: ToolResult) -> ToolResult:
        redact = self._runner.workspace.redactor.value
        shown, raw = redact(list(result.shown)), redact(result.raw_output)
        return evolve(result, text=redact(result.text), shown=shown, raw_output=raw)

    def _publish_plan(self, entries: Sequence[dict[str, Any]]) -> None:
        self._plan = entries
        self._runner.emit(PlanChanged(entries))
