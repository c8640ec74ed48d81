"""SessionState: one live editor session, and what can be done with it.

What can be rebuilt (cwd, roots, model, mode) is in the ledger's `model_config`; what lives (agent, client, turns and
their cancel_event) is here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from acp_adapter.acp.client import EditorClient
from acp_adapter.acp.lease import leased
from acp_adapter.acp.services import Services
from acp_adapter.acp.turns import Turn, Turns
from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.events import ModeChanged, Noticed, TextChunk, TitleChanged, TurnEvent
from acp_adapter.agent.expansion import attachments, expanded
from acp_adapter.agent.gate import Gate
from acp_adapter.agent.loop import AIAgent, StopReason
from acp_adapter.agent.models import Wanted
from acp_adapter.agent.permissions import Mode
from acp_adapter.agent.projection import events_since
from acp_adapter.agent.system_prompt import system_prompt
from acp_adapter.errors import AuthRequired, InvalidParams, LedgerError, LedgerUnavailable, ProviderError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.sessions import SessionRow
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Message, Part, Transcript, new_id

log = logging.getLogger(__name__)

Emit = Callable[[TurnEvent], None]

TITLE_LENGTH = 60


@define(eq=False)
class SessionState:
    """A live session. `wanted` is the model it runs on; the first turn fills in an automatic choice.

    `is_instructed` is whether the ledger has the system prompt. `mode` is the permission mode; `set_mode`, the config
    option `mode` and a restart all lead to this one value.
    """

    id: str
    workspace: Workspace
    transcript: Transcript
    system_prompt: str
    is_instructed: bool
    client: EditorClient
    services: Services
    emit: Emit
    mode: Mode = "ask"
    wanted: Wanted = field(factory=Wanted)
    title: str | None = None
    mcp_servers: list[Any] = field(factory=list)
    greetings: list[Noticed] = field(factory=list)
    options_changed: Callable[[], None] = field(default=lambda: None)
    agent: AIAgent = field(init=False)
    turns: Turns = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.turns = Turns(self._alone)
        gate = Gate(lambda: self.mode, self.workspace, lambda: self.services.rules(self.cwd), self.client.ask)
        self.agent = AIAgent(
            choose=self._choose_model,
            tools=self.services.tools,
            transcript=self.transcript,
            system_prompt=self.system_prompt,
            workspace=self.workspace,
            gatekeeper=gate,
            emit=self.emit,
            max_steps=self.services.config.max_steps,
        )

    @property
    def cwd(self) -> Path:
        return self.workspace.cwd

    @property
    def model(self) -> str | None:
        """`provider:model`, None while the choice is automatic and not made yet."""
        return self.wanted.name

    @property
    def history(self) -> list[Message]:
        return self.transcript.messages

    @property
    def cancel_event(self) -> asyncio.Event:
        """Set from a cancel until the next turn begins."""
        return self.turns.cancel_event

    async def prompt(self, content: str | list[Part]) -> StopReason:
        """Answer in turn, after the prompts that came before. Raises what ended the turn. See `Turns.take`."""
        prompt = Message(role="user", content=content)
        return await self.turns.take(lambda turn: self._answer(turn, prompt))

    def cancel(self) -> None:
        """Stop the running turn, if any. Prompts that wait behind it are not touched."""
        self.turns.cancel()

    async def set_mode(self, mode: Mode) -> None:
        """Change the permission mode, on record, for the running turn too. Raises LedgerError."""
        await self.remember(mode=mode)
        self.mode = mode
        self.emit(ModeChanged(mode))

    async def set_model(self, model: str | None) -> None:
        """Change the model from the next turn on; None is the automatic choice. Raises LedgerError."""
        await self._record_model(Wanted.of(model))

    async def _record_model(self, wanted: Wanted) -> None:
        config = {"provider": wanted.provider, "base_url": wanted.base_url}
        await self.services.ledger(SessionDB.update_session, self.id, model=wanted.model, model_config=config)
        self.wanted = wanted

    @property
    def additional(self) -> list[str]:
        """The roots besides cwd."""
        return [str(root) for root in self.workspace.roots[1:]]

    async def move(self, folders: Sequence[Path], roots: Sequence[Path]) -> None:
        """Work in other folders from now on, on record; another cwd brings its own system prompt. Raises LedgerError.

        `folders` are as the editor names them, cwd first; `roots` are the same, resolved.
        """
        if roots[0] != self.workspace.roots[0]:
            self._instruct(await asyncio.to_thread(system_prompt, folders[0]))
        await self.services.ledger(
            SessionDB.update_session,
            self.id,
            cwd=str(folders[0]),
            model_config={"additional_directories": [str(folder) for folder in folders[1:]]},
        )
        self.workspace.cwd, self.workspace.roots = folders[0], list(roots)

    def _instruct(self, prompt: str) -> None:
        """Another system prompt, stored with the next turn."""
        self.system_prompt = self.agent.context.system_prompt = prompt
        self.is_instructed = False

    async def compact(self, focus: str | None) -> StopReason:
        """Compact in turn. Raises ProviderError, ContextTooLong or LedgerError."""

        async def work(turn: Turn) -> StopReason:
            turn.run()
            await self.agent.compact(focus)
            return "end_turn"

        return await self.turns.take(work)

    async def undo(self) -> Message:
        """Take the last prompt and all after it out of the conversation; it is marked in the ledger, not deleted.

        To be called in a turn. Raises InvalidParams where there is none that can be taken back.
        """
        asked = [m for m in self.history if m.role == "user" and not (m.details or {}).get("summary")]
        if not asked:
            raise InvalidParams("There is no prompt to take back.")
        await self.transcript.rewind(asked[-1].id)
        return asked[-1]

    async def retry(self) -> StopReason:
        """Take the last answer back and ask again, in turn."""

        async def work(turn: Turn) -> StopReason:
            gone = await self.undo()
            return await self._answer(turn, Message(role="user", content=gone.content))

        return await self.turns.take(work)

    async def rename(self, title: str) -> None:
        """Raises InvalidParams where another session has that title, or it is longer than 100 characters."""
        await self.services.ledger(SessionDB.update_session, self.id, title=title)
        self.title = title
        self.emit(TitleChanged(title, time.time()))

    async def usage(self) -> SessionRow:
        """The session's counters, as the ledger has them."""
        return await self.services.ledger(SessionDB.current, self.id)

    async def end(self) -> None:
        """Stop all turns and wait until they have closed; then end the children that commands left behind."""
        await self.turns.end()
        with contextlib.suppress(LedgerError):
            await self.transcript.flush()
        await self.services.end_children(self.id)

    async def remember(self, **config: Any) -> None:
        """Merge values into the session's `model_config` in the ledger. Raises LedgerError."""
        await self.services.ledger(SessionDB.update_session, self.id, model_config=config)

    async def _answer(self, turn: Turn, unread: Message) -> StopReason:
        await self._entitle(unread)
        await self._store_instructions()
        if turn.cancelled:
            await self.agent.keep(unread)
            return "cancelled"
        turn.run()
        prompt = await self._expanded(unread)
        self._greet()
        try:
            return await self.agent.run_turn(prompt)
        except AuthRequired as missing:
            self.emit(TextChunk(new_id(), missing.message))
            raise

    def _greet(self) -> None:
        """Say what had to wait for a turn: outside of one, an editor may not show it."""
        for notice in self.greetings:
            self.emit(notice)
        self.greetings.clear()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        async with leased(self.services.ledger, self.id, self.services.lease_beat):
            await self._catch_up()
            yield

    async def _catch_up(self) -> None:
        """Take in what another process appended, rewound, compacted or trimmed since the last look, and show it."""
        known = [message for message in self.transcript.messages if message.row is not None]
        try:
            changed = await self.services.ledger(SessionDB.conversation_if_changed, self.id, known)
            if changed is not None and not self.transcript.unsaved:
                self.transcript.messages = changed
                for event in events_since(changed, {message.row for message in known if message.row}):
                    self.emit(event)
        except LedgerUnavailable as fault:
            log.warning("%s goes on without a look at the ledger: %s", self.id, fault)

    async def _expanded(self, prompt: Message) -> Message:
        """With what the model is sent in place of links. Cancelled meanwhile, the prompt is kept as it is."""
        try:
            sent = await expanded(prompt.content, attachments(self.workspace))
        except asyncio.CancelledError:
            await self.agent.keep(prompt)
            raise
        return evolve(prompt, api_content=sent)

    async def _entitle(self, prompt: Message) -> None:
        """Name an unnamed session after its first prompt."""
        words = " ".join(prompt.text().split())
        if self.title or not words:
            return
        base = words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
        ledger = self.services.ledger
        with contextlib.suppress(LedgerError, InvalidParams):
            title = await ledger(SessionDB.next_title, base)
            await ledger(SessionDB.update_session, self.id, title=title)
            self.title = title
            self.emit(TitleChanged(self.title, prompt.timestamp))

    async def _store_instructions(self) -> None:
        """Keep the system prompt as a snapshot, where the ledger has none of this session yet."""
        if not self.is_instructed:
            with contextlib.suppress(LedgerError):
                await self.services.ledger(SessionDB.update_session, self.id, system_prompt=self.system_prompt)
                self.is_instructed = True

    async def _choose_model(self) -> Provider:
        provider, notice = await self.services.models.get(self.wanted, self._tell_retry)
        chosen = Wanted(provider.name, provider.model, provider.base_url or None)
        if chosen != self.wanted:
            with contextlib.suppress(LedgerError):
                await self._record_model(chosen)
            self.options_changed()
        if notice:
            self.emit(Noticed("warning", notice))
        return provider

    def _tell_retry(self, error: ProviderError, delay: float) -> None:
        self.emit(Noticed("warning", f"{error.message} Trying again in {delay:.0f} s."))
