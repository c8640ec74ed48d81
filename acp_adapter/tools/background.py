"""Commands that run on beside the conversation: each has an id, gives its output on demand, ends with its session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from acp_adapter.errors import ToolError
from acp_adapter.tools import processes
from acp_adapter.tools.arguments import schema, text
from acp_adapter.tools.child import Child
from acp_adapter.tools.environment import command_environment
from acp_adapter.tools.output import Output
from acp_adapter.tools.port import Intent, ToolContext, ToolResult

FIRST = 1.0
"""Seconds in which a command that fails at once is still told of as failed."""
LONGEST_WAIT = 300
MOST = 20
"""Commands of one session that run at once."""


@define(eq=False)
class Job:
    """`unread` is what has come since it was last looked at."""

    id: str
    command: str
    unread: Output
    child: Child | None = None

    def receive(self, data: bytes) -> None:
        self.unread.feed(data)

    @property
    def runs(self) -> bool:
        return self.child is not None and not self.child.exited.is_set()

    def take(self) -> str:
        """What is new, and how it stands, in words for the model."""
        said, self.unread = self.unread.text(), Output()
        return "\n".join(filter(None, (said.rstrip("\n"), f"[{self.standing()}]")))

    def standing(self) -> str:
        if self.runs:
            return f"{self.id} is running"
        ended = self.child.ended(timed_out=False, background=False) if self.child else None
        if ended is None or (ended.code is None and ended.signal is None):
            return f"{self.id} has ended"
        return f"{self.id} was ended by {ended.signal}" if ended.signal else f"{self.id} ended with code {ended.code}"


@define(eq=False)
class Jobs:
    """The background commands of one session, by id."""

    session_id: str
    _jobs: dict[str, Job] = field(factory=dict)

    async def start(self, argv: list[str], command: str, cwd: Path, env: Mapping[str, str]) -> Job:
        """Raises ToolError where it can't be started, or too many run already."""
        if sum(job.runs for job in self._jobs.values()) >= MOST:
            raise ToolError(f"{MOST} commands run in the background already. Stop one with stop_command.")
        job = Job(f"cmd-{len(self._jobs) + 1}", command, Output())
        try:
            job.child = await processes.of(self.session_id).launch(
                argv, cwd=cwd, env=command_environment(os.environ, env), receive=job.receive
            )
        except OSError as fault:
            raise ToolError(f"The command can't be started: {fault.strerror or fault}.") from fault
        self._jobs[job.id] = job
        return job

    def get(self, job_id: str) -> Job:
        """Raises ToolError that names those that there are."""
        if job := self._jobs.get(job_id):
            return job
        known = ", ".join(f"{job.id} ({job.command[:40]})" for job in self._jobs.values()) or "none"
        raise ToolError(f"There is no background command {job_id!r} in this session; there are: {known}.")


def of(session_id: str) -> Jobs:
    if session_id not in _sessions:
        _sessions[session_id] = Jobs(session_id)
    return _sessions[session_id]


def forget(session_id: str) -> None:
    """The session has ended, and its children with it."""
    _sessions.pop(session_id, None)


_sessions: dict[str, Jobs] = {}


class CommandOutput:
    name = "command_output"
    description = "Get what a background command has printed since you last looked, and whether it still runs."
    parameters = schema(
        ["id"],
        id=text("Its id, such as cmd-1."),
        wait={
            "type": "integer",
            "minimum": 0,
            "maximum": LONGEST_WAIT,
            "description": "Seconds to wait for its end, 0 if not given.",
        },
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        job = of(ctx.session_id).get(args["id"])
        return Intent(f"Look at {job.id}: {job.command[:80]}", "execute", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        job = of(ctx.session_id).get(args["id"])
        if job.child and args.get("wait"):
            await job.child.wait(args["wait"])
        return ToolResult(job.take())


class StopCommand:
    name = "stop_command"
    description = "End a background command with all that it started."
    parameters = schema(["id"], id=text("Its id, such as cmd-1."))

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        job = of(ctx.session_id).get(args["id"])
        return Intent(f"Stop {job.id}: {job.command[:80]}", "execute", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        job = of(ctx.session_id).get(args["id"])
        if job.child and job.runs:
            await job.child.end()
        return ToolResult(job.take())


async def launched(job: Job) -> ToolResult:
    """What the model is told at once: the id, and what came in the first second; whether it failed already."""
    assert job.child
    await job.child.wait(FIRST)
    failed = not job.runs and job.child.ended(False, False).code != 0
    how = "" if not job.runs else " Look with command_output, end it with stop_command; it ends with the session."
    await asyncio.sleep(0)
    return ToolResult(f"Started as {job.id}.{how}\n{job.take()}", failed=failed)
