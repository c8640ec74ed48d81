"""SessionState: one live editor session, and its turns, one after the other.

A turn is not a request: its task belongs to the session, and the request only waits for it. What can be rebuilt
(cwd, roots, model, mode) is in the ledger's `model_config`; what lives (agent, client, cancel_event) is here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from acp_adapter.acp.client import EditorClient
from acp_adapter.acp.services import Services
from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.events import ModeChanged, Noticed, TextChunk, TitleChanged, TurnEvent
from acp_adapter.agent.expansion import expanded
from acp_adapter.agent.gate import Gate
from acp_adapter.agent.loop import AIAgent, StopReason
from acp_adapter.agent.models import Wanted
from acp_adapter.agent.permissions import Mode
from acp_adapter.errors import AuthRequired, InvalidParams, LedgerError, LedgerUnavailable, ProviderError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Message, Part, Transcript, new_id

log = logging.getLogger(__name__)

Emit = Callable[[TurnEvent], None]

TITLE_LENGTH = 60


Work = Callable[["Turn"], Awaitable[StopReason]]


@define(eq=False)
class Turn:
    """Work that has the session for itself: waiting, running or done. Cancelling it twice is the same as once."""

    work: Work
    task: asyncio.Task[StopReason] | None = None
    cancelled: bool = False
    running: bool = False

    def cancel(self) -> None:
        """Stop the turn. One that has not begun still stores its prompt, in its place, and then ends."""
        if not self.cancelled:
            self.cancelled = True
            if self.running and self.task:
                self.task.cancel()


@define(eq=False)
class SessionState:
    """A live session. `wanted` is the model it runs on; the first turn fills in an automatic choice.

    `mode` is the permission mode; `set_mode`, the config option `mode` and a restart all lead to this one value.
    """

    id: str
    workspace: Workspace
    transcript: Transcript
    system_prompt: str
    client: EditorClient
    services: Services
    emit: Emit
    mode: Mode = "ask"
    wanted: Wanted = field(factory=Wanted)
    title: str | None = None
    mcp_servers: list[Any] = field(factory=list)
    cancel_event: asyncio.Event = field(factory=asyncio.Event)
    greetings: list[Noticed] = field(factory=list)
    model_chosen: Callable[[], None] = field(default=lambda: None)
    agent: AIAgent = field(init=False)
    _turns: list[Turn] = field(factory=list)
    _order: asyncio.Lock = field(factory=asyncio.Lock)

    def __attrs_post_init__(self) -> None:
        gate = Gate(lambda: self.mode, self.workspace, self.services.rules(self.cwd), self.client.ask)
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
    def busy(self) -> bool:
        return bool(self._turns)

    async def prompt(self, content: str | list[Part]) -> StopReason:
        """Answer in turn: after the prompts that came before. Raises what ended the turn.

        A cancelled caller (`$/cancel_request`) cancels this turn and gets its stop reason, `cancelled`.
        """
        prompt = Message(role="user", content=content)
        return await self.in_turn(lambda turn: self._answer(turn, prompt))

    async def in_turn(self, work: Work) -> StopReason:
        """Do `work` when it has the session for itself, in the order of the calls; as `prompt` does."""
        turn = Turn(work)
        self._turns.append(turn)
        turn.task = asyncio.create_task(self._take_turn(turn))
        while True:
            try:
                return await asyncio.shield(turn.task)
            except asyncio.CancelledError:
                if turn.task.done():
                    return "cancelled"
                turn.cancel()

    def cancel(self) -> None:
        """Stop the running turn, if any. Prompts that wait behind it are not touched."""
        if self._turns:
            self.cancel_event.set()
            self._turns[0].cancel()

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

    def move(self, cwd: Path, roots: Sequence[Path]) -> None:
        """Work in other folders from now on."""
        self.workspace.cwd, self.workspace.roots = cwd, list(roots)

    async def end(self) -> None:
        """Stop all turns and wait until they have closed; then end the children that commands left behind."""
        for turn in self._turns:
            turn.cancel()
        waiting = [turn.task for turn in self._turns if turn.task]
        await asyncio.gather(*waiting, return_exceptions=True)
        with contextlib.suppress(LedgerError):
            await self.transcript.flush()
        await self.services.end_children(self.id)

    async def remember(self, **config: Any) -> None:
        """Merge values into the session's `model_config` in the ledger. Raises LedgerError."""
        await self.services.ledger(SessionDB.update_session, self.id, model_config=config)

    async def _take_turn(self, turn: Turn) -> StopReason:
        async with self._order:
            self.cancel_event.clear()
            try:
                async with self._lease():
                    await self._catch_up()
                    return await turn.work(turn)
            except asyncio.CancelledError:
                if turn.cancelled:
                    return "cancelled"
                raise
            finally:
                turn.running = False
                self._turns.remove(turn)

    async def _answer(self, turn: Turn, unread: Message) -> StopReason:
        prompt = await self._expanded(unread)
        await self._entitle(prompt)
        if turn.cancelled:
            await self.agent.keep(prompt)
            return "cancelled"
        self._greet()
        turn.running = True
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
    async def _lease(self) -> AsyncIterator[None]:
        """Hold the session against other processes while a turn runs. Raises TurnInProgress."""
        ledger = self.services.ledger
        try:
            await ledger(SessionDB.acquire, self.id)
        except LedgerUnavailable as fault:
            log.warning("%s runs without a lease: %s", self.id, fault)
        beat = asyncio.create_task(self._keep_lease())
        try:
            yield
        finally:
            beat.cancel()
            with contextlib.suppress(LedgerError):
                await ledger(SessionDB.release, self.id)

    async def _keep_lease(self) -> None:
        while True:
            await asyncio.sleep(self.services.lease_beat)
            try:
                await self.services.ledger(SessionDB.renew, self.id)
            except LedgerError as fault:
                log.warning("the lease of %s was not renewed: %s", self.id, fault)

    async def _catch_up(self) -> None:
        """Take in what another process appended since this one last looked."""
        last = max((m.row for m in self.transcript.messages if m.row is not None), default=0)
        try:
            self.transcript.messages += await self.services.ledger(SessionDB.messages_after, self.id, last)
        except LedgerUnavailable as fault:
            log.warning("%s goes on without a look at the ledger: %s", self.id, fault)

    async def _expanded(self, prompt: Message) -> Message:
        read = self.client.read_attached(self.workspace.roots)
        return evolve(prompt, api_content=await expanded(prompt.content, read))

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

    async def _choose_model(self) -> Provider:
        provider, notice = await self.services.models.get(self.wanted, self._tell_retry)
        chosen = Wanted(provider.name, provider.model, provider.base_url or None)
        if chosen != self.wanted:
            with contextlib.suppress(LedgerError):
                await self._record_model(chosen)
            self.model_chosen()
        if notice:
            self.emit(Noticed("warning", notice))
        return provider

    def _tell_retry(self, error: ProviderError, delay: float) -> None:
        self.emit(Noticed("warning", f"{error.message} Trying again in {delay:.0f} s."))
