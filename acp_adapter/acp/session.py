"""SessionState: one live editor session, and what can be done with it.

What can be rebuilt (cwd, roots, model, mode) is in the ledger's `model_config`; what lives (agent, client, turns and
their cancel_event) is here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from acp_adapter.acp.answering import agent_of
from acp_adapter.acp.chosen_model import ChosenModel
from acp_adapter.acp.client import EditorClient
from acp_adapter.acp.lease import leased
from acp_adapter.acp.prompting import answer, catch_up, with_links_read
from acp_adapter.acp.services import Services
from acp_adapter.acp.titles import Title
from acp_adapter.acp.turns import Turn, Turns
from acp_adapter.agent.base import Agent, StopReason
from acp_adapter.agent.budget import Budget
from acp_adapter.agent.calls import Emit, Workspace
from acp_adapter.agent.checkpoints import Checkpoints
from acp_adapter.agent.events import ModeChanged, Noticed, TextChunk, UsageChanged
from acp_adapter.agent.models import Wanted
from acp_adapter.agent.permissions import Mode
from acp_adapter.agent.room import Failed
from acp_adapter.errors import InvalidParams, LedgerError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.own.turn import Agent as Function
from acp_adapter.tools.mcp.servers import McpServer, merged
from acp_adapter.tools.mcp.session_servers import SessionServers
from acp_adapter.tools.port import Tool
from acp_adapter.transcript import Content, Message, Transcript, new_id

log = logging.getLogger(__name__)


@define(eq=False)
class SessionState:
    """A live session.

    `is_instructed` is whether the ledger has the system prompt. `mode` is the permission mode; `set_mode`, the config
    option `mode` and a restart all lead to this one value. `cost` is what it had cost when it was opened (US dollars,
    None where that is not known). `failed_summary` keeps a summary that failed from being tried again by itself: see
    `Room`. `is_compared` is whether its files were looked at since it was opened. `own` answers in the place of the
    built-in agent where the user has an agent of their own.
    """

    id: str
    workspace: Workspace
    transcript: Transcript
    system_prompt: str
    is_instructed: bool
    client: EditorClient
    services: Services
    emit: Emit
    chosen: ChosenModel
    title: Title
    servers: SessionServers
    budget: Budget
    mode: Mode = "ask"
    cost: float | None = None
    failed_summary: Failed | None = None
    greetings: list[Noticed] = field(factory=list)
    is_compared: bool = False
    options_changed: Callable[[], None] = field(default=lambda: None)
    own: Function | None = None
    agent: Agent = field(init=False)
    turns: Turns = field(init=False)
    _extra: Mapping[str, Tool] = field(init=False)
    _waiting: dict[str, Message] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.turns = Turns(self._alone)
        self.chosen.changed = lambda: self.options_changed()
        self.agent, self._extra = agent_of(self)
        self.agent.tools = self.tools()

    @property
    def waiting(self) -> list[Message]:
        """What was said and is not part of the conversation yet: to the running turn, then for the turns after it."""
        return [*self.agent.waiting, *self._waiting.values()]

    @property
    def cwd(self) -> Path:
        return self.workspace.cwd

    @property
    def model(self) -> str | None:
        """`provider:model`, None while the choice is automatic and not made yet."""
        return self.chosen.wanted.name

    @property
    def checkpoints(self) -> Checkpoints:
        """What its tools changed in files, and can be taken back."""
        return Checkpoints(self.services.ledger, self.workspace)

    @property
    def has_model(self) -> bool:
        """Whether a model is chosen here: an agent of the user's own sees to that itself."""
        return self.own is None

    @property
    def history(self) -> list[Message]:
        return self.transcript.messages

    @property
    def cancel_event(self) -> asyncio.Event:
        """Set from a cancel until the next turn begins."""
        return self.turns.cancel_event

    async def prompt(self, content: Content, sent: Content | None = None) -> StopReason:
        """Answer in turn, after the prompts that came before. Raises what ended the turn (see `Turns.take`), and
        InvalidParams for what the model does not take, before anything is stored.

        `sent` is what the model reads in the place of `content`, where that is a command.
        """
        await self.chosen.check_media(content)
        return await self._in_turn(Message(role="user", content=content, api_content=sent))

    async def steer(self, content: Content, sent: Content) -> StopReason:
        """Have the running turn see it at its next step; answered as soon as it is stored. Else it is a prompt.

        Raises InvalidParams for what the model does not take.
        """
        await self.chosen.check_media(content)
        message = Message(role="user", content=content, api_content=sent)
        async with self.agent.keeping(message):
            message = await with_links_read(message, self.workspace)
        if not await self.agent.steer(message):
            return await self._in_turn(message)
        if not self.agent.is_speaking:
            self.emit(Noticed("info", "The model reads this at its next step."))
        return "end_turn"

    async def say(self, text: str) -> None:
        """Show Markdown that is no part of the conversation, and not in the middle of a message."""
        await self.agent.quiet()
        self.emit(TextChunk(new_id(), text))

    def cancel(self) -> None:
        """Stop the running turn, if any. Prompts that wait behind it are not touched."""
        self.turns.cancel()

    async def set_mode(self, mode: Mode) -> None:
        """Change the permission mode, on record, for the running turn too. Raises LedgerError."""
        await self.remember(mode=mode)
        self.mode = mode
        self.emit(ModeChanged(mode))

    async def use_servers(self, client: Sequence[McpServer]) -> None:
        """Have the client's MCP servers and those of config.toml from now on; they start in the background."""
        servers = merged(client, self.services.mcp_servers)
        known = [secret for server in servers for secret in server.secrets]
        self.workspace.redactor = self.services.redactor.knowing(known)
        await self.servers.use(servers)

    async def set_model(self, model: str | None) -> None:
        """Change the model from the next turn on; None is the automatic choice. Raises LedgerError."""
        await self.chosen.set(Wanted.of(model))
        if standing := self.standing():
            self.emit(standing)

    def standing(self) -> UsageChanged | None:
        """How full the window is and what the session has cost, where that is known without asking the model."""
        return self.agent.standing(self.chosen.wanted.model or "", self.chosen.card.context_window)

    @property
    def additional(self) -> list[str]:
        """The roots besides cwd."""
        return [str(root) for root in self.workspace.roots[1:]]

    async def move(self, folders: Sequence[Path], roots: Sequence[Path]) -> None:
        """Work in other folders from now on, on record; another cwd brings its own system prompt. Raises LedgerError.

        `folders` are as the editor names them, cwd first; `roots` are the same, resolved.
        """
        if roots[0] != self.workspace.roots[0]:
            prompt = await asyncio.to_thread(self.services.instructions, folders[0])
            self.system_prompt = prompt
            self.agent.instruct(prompt)
            self.is_instructed = False
        await self.services.ledger(
            SessionDB.update_session,
            self.id,
            cwd=str(folders[0]),
            model_config={"additional_directories": [str(folder) for folder in folders[1:]]},
        )
        self.workspace.cwd, self.workspace.roots = folders[0], list(roots)
        self.servers.cwd = folders[0]
        await self.budget.renew()

    async def compact(self, focus: str | None) -> StopReason:
        """Compact in turn. Raises ProviderError, ContextTooLong or LedgerError."""

        async def work(turn: Turn) -> StopReason:
            turn.run()
            await self.agent.compact(focus)
            return "end_turn"

        return await self.turns.take(work)

    def last_prompt(self) -> Message | None:
        """The newest prompt that the model is sent; None where there is none."""
        asked = [m for m in self.history if m.role == "user" and not (m.details or {}).get("summary")]
        return asked[-1] if asked else None

    async def undo(self) -> Message:
        """Take the last prompt and all after it out of the conversation; it is marked in the ledger, not deleted.

        To be called in a turn. Raises InvalidParams where there is none that can be taken back.
        """
        prompt = self.last_prompt()
        if prompt is None:
            raise InvalidParams("There is no prompt to take back.")
        await self.transcript.rewind(prompt.id)
        return prompt

    async def retry(self, sent: Callable[[Content], Awaitable[Content | None]]) -> StopReason:
        """Take the last answer back and ask again, in turn. `sent` is what the model reads in place of a prompt now."""

        async def work(turn: Turn) -> StopReason:
            prompt = self.last_prompt()
            read = await sent(prompt.content or "") if prompt else None
            gone = await self.undo()
            return await answer(self, turn, Message("user", gone.content, api_content=read))

        return await self.turns.take(work)

    async def end(self) -> None:
        """Stop all turns and wait until they have closed; then end the children that commands left behind."""
        await self.title.end()
        await self.turns.end()
        with contextlib.suppress(LedgerError):
            await self.transcript.flush()
        await self.servers.aclose()
        await self.services.end_children(self.id)

    async def remember(self, **config: Any) -> None:
        """Merge values into the session's `model_config` in the ledger. Raises LedgerError."""
        await self.services.ledger(SessionDB.update_session, self.id, model_config=config)

    async def _in_turn(self, prompt: Message) -> StopReason:
        """While it waits for others it is in the ledger already, as what was said to a turn is."""
        held = asyncio.create_task(self._hold(prompt)) if self.turns.busy else None
        self._waiting[prompt.id] = prompt

        async def work(turn: Turn) -> StopReason:
            self._waiting.pop(prompt.id, None)
            if held:
                await held
            return await answer(self, turn, prompt)

        try:
            return await self.turns.take(work)
        finally:
            self._waiting.pop(prompt.id, None)

    async def _hold(self, prompt: Message) -> None:
        """What can't be stored now is told of when its turn comes."""
        with contextlib.suppress(LedgerError):
            await self.transcript.hold(prompt)

    def tools(self) -> Mapping[str, Tool]:
        """All that a turn may use now: the agent's own, and those of the MCP servers that are there."""
        return {**self.services.tools, **self._extra, **self.servers.tools()}

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        async with leased(self.services.ledger, self.id, self.services.lease_beat):
            await catch_up(self)
            yield
