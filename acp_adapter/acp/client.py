"""What we ask of the editor: permission, answers, files, terminals.

Only what its capabilities allow, never without a bound.

Some editors never answer a request that they do not know, so each kind of request has its own time-out here.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from acp_adapter.acp import form, types
from acp_adapter.acp.converter import structure
from acp_adapter.acp.peer import Peer
from acp_adapter.agent.permissions import Choice
from acp_adapter.agent.projection import parsed
from acp_adapter.errors import ClientError
from acp_adapter.tools.command import shell_argv
from acp_adapter.tools.port import Answer, Intent, Question, TerminalRun
from acp_adapter.transcript import ToolCall

log = logging.getLogger(__name__)

FILE_TIMEOUT = 30.0
TERMINAL_TIMEOUT = 15.0
CLEAN_UP_TIMEOUT = 1.0
PERSON_TIMEOUT = 24 * 3600.0
"""Seconds. A person may be at lunch when they are asked; an editor has no such excuse."""


class EditorClient:
    """The connected editor as one session sees it: implements `tools.port.Editor` and the gate's Asker."""

    def __init__(self, peer: Peer, session_id: str, capabilities: types.ClientCapabilities) -> None:
        self._peer = peer
        self._session_id = session_id
        self.can_read = capabilities.fs.read_text_file
        self.can_write = capabilities.fs.write_text_file
        self.can_run = capabilities.terminal
        self.can_ask = capabilities.elicitation is not None and capabilities.elicitation.form is not None

    async def ask(self, call: ToolCall, intent: Intent, offered: Sequence[Choice]) -> Choice | None:
        """The user's choice about a call that was already announced; None for anything but a valid one."""
        asked = types.RequestPermissionRequest(
            session_id=self._session_id,
            tool_call=types.UntaggedToolCallUpdate(
                tool_call_id=call.id,
                title=intent.title,
                kind=intent.kind,
                status="pending",
                content=[structure(shown, types.ToolCallContent) for shown in intent.preview] or None,
                locations=[types.ToolCallLocation(at.path, at.line) for at in intent.locations] or None,
                raw_input=parsed(call.arguments),
            ),
            options=[types.PermissionOption(choice.id, choice.name, choice.kind) for choice in offered],
        )
        try:
            answer = await self._peer.request(types.SESSION_REQUEST_PERMISSION, asked, timeout=PERSON_TIMEOUT)
        except ClientError as fault:
            log.warning("permission was asked in vain: %s", fault.message)
            return None
        if not isinstance(answer.outcome, types.SelectedPermissionOutcome):
            return None
        chosen = answer.outcome.option_id
        return next((choice for choice in offered if choice.id == chosen), None)

    async def ask_user(self, call_id: str, question: Question) -> Answer:
        asked = types.FormElicitationRequest(
            message=question.text,
            requested_schema=form.of(question),
            session_id=self._session_id,
            tool_call_id=call_id,
        )
        return form.answer(await self._peer.request(types.ELICITATION_CREATE, asked, timeout=PERSON_TIMEOUT), question)

    async def read_text_file(self, path: Path, line: int | None = None, limit: int | None = None) -> str:
        asked = types.ReadTextFileRequest(self._session_id, str(path), line, limit)
        return (await self._peer.request(types.FS_READ_TEXT_FILE, asked, timeout=FILE_TIMEOUT)).content

    async def write_text_file(self, path: Path, content: str) -> None:
        asked = types.WriteTextFileRequest(self._session_id, str(path), content)
        await self._peer.request(types.FS_WRITE_TEXT_FILE, asked, timeout=FILE_TIMEOUT)

    async def run_command(
        self, command: str, cwd: Path, env: dict[str, str], output_limit: int, opened: Callable[[str], None]
    ) -> TerminalRun:
        program, *args = shell_argv(command)
        created = await self._peer.request(
            types.TERMINAL_CREATE,
            types.CreateTerminalRequest(
                session_id=self._session_id,
                command=program,
                args=args,
                env=[types.EnvVariable(name, value) for name, value in env.items()],
                cwd=str(cwd),
                output_byte_limit=output_limit,
            ),
            timeout=TERMINAL_TIMEOUT,
        )
        terminal = created.terminal_id
        try:
            opened(terminal)
            return await self._finished(terminal)
        finally:
            await self._let_go(terminal)

    async def _finished(self, terminal: str) -> TerminalRun:
        waited = types.WaitForTerminalExitRequest(self._session_id, terminal)
        try:
            status = await self._peer.request(types.TERMINAL_WAIT_FOR_EXIT, waited, timeout=None)
        except BaseException:
            with contextlib.suppress(ClientError):
                killed = types.KillTerminalRequest(self._session_id, terminal)
                await self._peer.request(types.TERMINAL_KILL, killed, timeout=CLEAN_UP_TIMEOUT)
            raise
        asked = types.TerminalOutputRequest(self._session_id, terminal)
        output = await self._peer.request(types.TERMINAL_OUTPUT, asked, timeout=TERMINAL_TIMEOUT)
        return TerminalRun(output.output, output.truncated, status.exit_code, status.signal)

    async def _let_go(self, terminal: str) -> None:
        released = types.ReleaseTerminalRequest(self._session_id, terminal)
        with contextlib.suppress(ClientError):
            await self._peer.request(types.TERMINAL_RELEASE, released, timeout=CLEAN_UP_TIMEOUT)
