"""delegate_task: a helper of the model looks into one question in a session of its own, and reports.

A helper reads and searches inside the session's folders; nobody is asked for it, so what would ask is refused. Its
conversation is a delegate session of the ledger: hidden from the list, deleted with its parent, and kept whole, so that
its trace can be read. What it uses counts towards its parent's budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import asdict, define, evolve, field, frozen

from acp_adapter.agent.calls import Emit, Ruling
from acp_adapter.agent.events import Noticed, ToolCallChanged, ToolCallStarted, TurnEvent
from acp_adapter.agent.gate import Gate
from acp_adapter.agent.models import Wanted
from acp_adapter.errors import AcpAdapterError, LedgerError, ToolError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.tree import DELEGATE_FROM
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools import shown
from acp_adapter.tools.arguments import schema, text
from acp_adapter.tools.port import Intent, ReadMemory, Shown, Tool, ToolContext, ToolResult
from acp_adapter.tools.toolbox import ACTIONS
from acp_adapter.transcript import Message, ToolCall, Transcript, new_id

if TYPE_CHECKING:
    from acp_adapter.agent.loop import AIAgent

STEPS = 40
"""Model calls of one helper."""
AT_ONCE = 4
"""Helpers of one session that work at the same time; others wait."""
LINES = 12
"""Calls of a helper that are shown while it works."""
BESIDE = ("session_search", "recall")
"""Tools of a helper beyond those that read the project."""

MARKS = {"pending": "…", "in_progress": "…", "completed": "✔", "failed": "✗"}
ROLE = (
    "You are a helper of another agent, which gave you one task. You can look and search, not change or run anything. "
    "Nobody can be asked. Only your last message is read: report what you found, with paths and line numbers, and say "
    "what you could not find out."
)
UNASKED = "A helper works without the user, so what would have to be asked is not run. Do without it, and report that."


@frozen
class Onlooker:
    """Lets through what the session's gate runs without a question in plan mode, and refuses the rest."""

    gate: Gate

    async def permit(self, call: ToolCall, intent: Intent) -> Ruling:
        ruling = self.gate.unasked(call, intent, "plan")
        return ruling or Ruling(UNASKED, {"verdict": "reject", "by": "mode", "mode": "plan"})

    def hiding(self, tool: str, asked: bool) -> Callable[[Path], bool]:
        return self.gate.hiding(tool, asked)

    def reads(self, paths: Sequence[Path], passed: Sequence[Path]) -> bool:
        return self.gate.reads(paths, passed)


@define(eq=False)
class DelegateTask:
    """The tool, for one session. `parent` is the agent that delegates, `gate` its own, `wanted` tells its model."""

    parent: AIAgent
    ledger: Ledger
    gate: Gate
    wanted: Callable[[], Wanted]
    name: str = "delegate_task"
    description: str = (
        "Have a helper look into one question in a conversation of its own, and get its report: for searches and "
        "readings whose details need not stay in this conversation. It knows nothing but the task, so say all that it "
        "needs. It can read and search, not change or run. Several calls in one answer work at the same time."
    )
    parameters: dict[str, Any] = field(factory=lambda: schema(["task"], task=text("What to find out, in full.")))
    _room: asyncio.Semaphore = field(factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        if not args["task"].strip():
            raise ToolError("The task is empty.")
        return Intent(f"Delegate: {' '.join(args['task'].split())[:80]}", "think", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        async with self._room:
            helper_id = await self._session(ctx)
            story = _Story(ctx.progress, self.parent.emit)
            helper = self._helper(helper_id, story)
            try:
                stop = await helper.run_turn(Message("user", args["task"]))
            except AcpAdapterError as fault:
                return await self._report(helper, story, f"The helper failed: {fault.message}", failed=True)
            except asyncio.CancelledError:
                ctx.so_far.append(await self._report(helper, story))
                raise
            finally:
                self.parent.context.spend(helper.context.cost)
            note = "" if stop == "end_turn" else f"[The helper ended with {stop}; its report may be incomplete.]"
            return await self._report(helper, story, note)

    async def _session(self, ctx: ToolContext) -> str:
        """A delegate session of the node in which the parent's conversation goes on."""
        helper_id, wanted = new_id(), self.wanted()
        try:
            node = await self.ledger(SessionDB.current, ctx.session_id)
            await self.ledger(
                SessionDB.create_session,
                helper_id,
                model=wanted.model,
                model_config={
                    DELEGATE_FROM: node.id,
                    "provider": wanted.provider,
                    "mode": "plan",
                },
                cwd=str(ctx.cwd),
                system_prompt=self._prompt(),
                parent=node.id,
            )
        except LedgerError as fault:
            raise ToolError(f"The helper was not started, because its work can't be kept: {fault.message}") from fault
        return helper_id

    def _prompt(self) -> str:
        return f"{self.parent.context.system_prompt}\n\n{ROLE}"

    def _helper(self, helper_id: str, story: _Story) -> AIAgent:
        parent = self.parent
        workspace = evolve(parent.workspace, session_id=helper_id, memory=ReadMemory())
        return type(parent)(
            choose=parent.choose,
            tools=self._tools(),
            transcript=Transcript(helper_id, self.ledger),
            system_prompt=self._prompt(),
            workspace=workspace,
            gatekeeper=Onlooker(self.gate),
            emit=story.take,
            max_steps=STEPS,
            effort=parent.effort,
            budget=parent.budget,
        )

    def _tools(self) -> Mapping[str, Tool]:
        tools = self.parent.tools
        return {name: tool for name, tool in tools.items() if ACTIONS.get(name) == "read" or name in BESIDE}

    async def _report(self, helper: AIAgent, story: _Story, note: str = "", *, failed: bool = False) -> ToolResult:
        """What it said and did, however it ended: its trace is kept with the call."""
        said = "".join(each.text() for each in helper.transcript.messages[-1:] if each.role == "assistant")
        report = "\n\n".join(part for part in (said, note) if part)
        raw = {"session_id": helper.workspace.session_id, "tool_trace": await self._trace(helper)}
        content = [*story.shown(), *([shown.text(report)] if report else [])]
        return ToolResult(report, failed=failed or not said, shown=content, raw_output=raw)

    async def _trace(self, helper: AIAgent) -> list[dict[str, Any]]:
        """Each of its calls with name, status, sizes and duration; what the ledger does not have is not in it."""
        try:
            return [asdict(call) for call in await self.ledger(SessionDB.tool_trace, helper.workspace.session_id)]
        except LedgerError:
            return []


@define(eq=False)
class _Story:
    """What a helper does, told in its parent's tool call while it works; what the user must know is told as ever."""

    progress: Callable[[Sequence[Shown]], None]
    emit: Emit
    _calls: dict[str, tuple[str, str]] = field(factory=dict)
    """Title and status of each call."""

    def take(self, event: TurnEvent) -> None:
        if isinstance(event, ToolCallStarted):
            self._calls[event.call_id] = event.title, event.status
        elif isinstance(event, ToolCallChanged) and event.status and event.call_id in self._calls:
            self._calls[event.call_id] = event.title or self._calls[event.call_id][0], event.status
        elif isinstance(event, Noticed):
            return self.emit(event)
        else:
            return None
        return self.progress(self.shown())

    def shown(self) -> list[Shown]:
        calls = list(self._calls.values())
        lines = [f"- {MARKS[status]} {title}" for title, status in calls[-LINES:]]
        if len(calls) > LINES:
            lines.insert(0, f"- … {len(calls) - LINES} more before")
        return [shown.text("\n".join(lines))] if lines else []
