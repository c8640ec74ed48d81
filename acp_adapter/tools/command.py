"""run_command: a shell command, in the editor's terminal where it offers one, else as a child of our own."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from acp_adapter.errors import ClientError, ToolError
from acp_adapter.tools import background, processes, shown
from acp_adapter.tools.arguments import count, schema, text
from acp_adapter.tools.child import Exit
from acp_adapter.tools.environment import command_environment, terminal_environment
from acp_adapter.tools.kept_output import KeptOutput
from acp_adapter.tools.output import HEAD, TAIL, Output
from acp_adapter.tools.paths import permitted, printable, stated, visible
from acp_adapter.tools.port import Intent, TerminalRun, ToolContext, ToolResult

TIMEOUT = 120
LONGEST = 3600
TICK = 0.1
"""Seconds between two looks at a running command, at least."""
SHOWN = 4_000
"""Bytes of the output's end that are shown while it runs."""
RATE = 4_000

SHELL = "powershell.exe" if sys.platform == "win32" else "bash" if shutil.which("bash") else "sh"
"""Not the user's own shell: models write for this one."""


class RunCommand:
    name = "run_command"
    description = (
        f"Run a command with {SHELL} in the working folder and get its output and exit code. Nobody can answer "
        "questions: stdin is empty. What is left in the background ends with the session."
    )
    parameters = schema(
        ["command"],
        command=text("What the shell runs."),
        timeout={**count(f"Seconds, {TIMEOUT} if not given."), "maximum": LONGEST},
        cwd=text("Another folder to run it in."),
        background={"type": "boolean", "description": "Let it run on, for servers and watchers: gives an id at once."},
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        command = args["command"]
        if not command.strip() or "\0" in command:
            raise ToolError("command must be a shell command, not empty and without NUL characters.")
        folder = stated("cwd", args.get("cwd", "."), ctx)
        if not folder.is_dir():
            raise ToolError(f"{folder} is not a folder, so nothing can run there.")
        title, whole = _title(command)
        title += " (in the background)" if args.get("background") else ""
        preview = [] if whole else [shown.code(visible(command))]
        return Intent(title, "execute", "execute", [folder], command=command, preview=preview)

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        folder = permitted("cwd", args.get("cwd", "."), ctx)
        if args.get("background"):
            jobs = background.of(ctx.session_id)
            argv = shell_argv(args["command"])
            return await background.launched(await jobs.start(argv, args["command"], folder, ctx.env))
        timeout = args.get("timeout", TIMEOUT)
        if ctx.editor and ctx.editor.can_run:
            result = await _in_terminal(args["command"], folder, timeout, ctx)
            if result:
                return result
        return await _as_child(args["command"], folder, timeout, ctx)


async def _as_child(command: str, folder: Path, timeout: float, ctx: ToolContext) -> ToolResult:
    kept = KeptOutput.of(ctx.outputs, ctx.call_id)
    output = Output(kept=kept)
    progress = _Progress(output, ctx)
    try:
        ended = await processes.of(ctx.session_id).run(
            shell_argv(command),
            cwd=folder,
            env=command_environment(os.environ, ctx.env),
            receive=progress.feed,
            timeout=timeout,
        )
    except OSError as fault:
        raise ToolError(f"The command can't be started: {fault.strerror or fault}.") from fault
    finally:
        progress.close()
        if kept:
            kept.close()
    raw = {"exitCode": ended.code, "signal": ended.signal, "truncated": output.left_out > 0}
    return _result(output.text(), ended, timeout, raw)


async def _in_terminal(command: str, folder: Path, timeout: float, ctx: ToolContext) -> ToolResult | None:
    """None where the editor answered that it can't, before anything ran."""
    assert ctx.editor
    terminals: list[str] = []

    def opened(terminal_id: str) -> None:
        terminals.append(terminal_id)
        ctx.progress([shown.terminal(terminal_id)])

    env = terminal_environment(os.environ, ctx.env)
    try:
        async with asyncio.timeout(timeout):
            ended = await ctx.editor.run_command(command, folder, env, HEAD + TAIL, opened)
    except TimeoutError:
        ended = TerminalRun("", False, None, None)
        return _from_terminal(ended, terminals, timeout, timed_out=True)
    except ClientError as fault:
        if terminals or "code" not in fault.data:
            raise ToolError(f"The editor's terminal failed: {fault.message}") from fault
        return None
    return _from_terminal(ended, terminals, timeout)


def _from_terminal(ended: TerminalRun, terminals: list[str], timeout: float, timed_out: bool = False) -> ToolResult:
    kept = Output()
    kept.feed(ended.output.encode("utf-8", "replace"))
    output = ("[The beginning is left out.]\n" if ended.truncated else "") + kept.text()
    raw = {"exitCode": ended.exit_code, "signal": ended.signal, "truncated": ended.truncated}
    exit_ = Exit(ended.exit_code, ended.signal, timed_out)
    return _result(output, exit_, timeout, raw, [shown.terminal(each) for each in terminals])


def _result(
    output: str, ended: Exit, timeout: float, raw: dict[str, Any], blocks: list[dict[str, Any]] | None = None
) -> ToolResult:
    failed = ended.timed_out or ended.code != 0
    words = _ending(ended, timeout)
    body = output if output.endswith("\n") or not output else output + "\n"
    if not output and not words:
        words = "[No output.]"
    return ToolResult((body + words).rstrip("\n"), failed=failed, shown=blocks or (), raw_output=raw)


def _ending(ended: Exit, timeout: float) -> str:
    """What the model must know about how it ended, in brackets; empty for a plain success."""
    notes = []
    if ended.timed_out:
        notes.append(f"Stopped after {timeout:g} seconds with all it had started; timeout allows up to {LONGEST}.")
    elif ended.signal:
        notes.append(f"Ended by {ended.signal}.")
    elif ended.code is None:
        notes.append("How it ended is not known.")
    elif ended.code:
        notes.append(f"Exit code {ended.code}.")
    if ended.background:
        notes.append("Something it started still runs in the background, until the session ends.")
    return f"[{' '.join(notes)}]" if notes else ""


class _Progress:
    """Shows the end of the output while it comes, ten times a second at most. Each time replaces the last, so all
    of them together are kept below the output's own size and RATE bytes a second."""

    def __init__(self, output: Output, ctx: ToolContext) -> None:
        self._output = output
        self._ctx = ctx
        self._began = time.monotonic()
        self._spent = 0
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        self._output.feed(data)
        if self._timer is None:
            self._wait()

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK, self._show)

    def _show(self) -> None:
        self._timer = None
        allowed = self._output.total + RATE * (time.monotonic() - self._began)
        if self._spent + min(SHOWN, self._output.total) > allowed:
            self._wait()
            return
        block = shown.code(self._output.end(SHOWN))
        self._spent += len(block["content"]["text"])
        self._ctx.progress([block])


def shell_argv(command: str) -> list[str]:
    """How a command is given to the shell: no start-up files, no quoting that could go wrong."""
    if sys.platform == "win32":
        script = f"[Console]::OutputEncoding = [Text.Encoding]::UTF8\n{command}\nexit $LASTEXITCODE"
        encoded = base64.b64encode(script.encode("utf-16-le")).decode()
        return [SHELL, "-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded]
    return [SHELL, "-c", command]


def _title(command: str) -> tuple[str, bool]:
    """Its first line with nothing hidden in it, and whether that is all of the command."""
    first, _, more = command.strip().partition("\n")
    title = printable(first)
    whole = not more and len(title) <= 120
    return title[:120] + ("" if whole else " …"), whole
