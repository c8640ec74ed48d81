"""One prompt of a session, in its turn: what is made ready before the agent answers, and what follows."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from attrs import evolve

from acp_adapter.acp.turns import Turn
from acp_adapter.agent.base import StopReason
from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.events import Noticed, TextChunk
from acp_adapter.agent.expansion import attachments, expanded
from acp_adapter.agent.loop import AIAgent
from acp_adapter.agent.projection import events_since
from acp_adapter.agent.questions import answering
from acp_adapter.errors import AuthRequired, BudgetSpent, LedgerError, LedgerUnavailable
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, new_id

if TYPE_CHECKING:
    from acp_adapter.acp.session import SessionState

log = logging.getLogger(__name__)


async def catch_up(session: SessionState) -> None:
    """Take in what another process appended, rewound, compacted or trimmed since the last look, and show it."""
    transcript = session.transcript
    known = [message for message in transcript.messages if message.row is not None]
    try:
        changed = await session.services.ledger(SessionDB.conversation_if_changed, session.id, known)
        if changed is not None and not transcript.unsaved:
            same = {message.row: message for message in known}
            # What is as it was stays the same object: much is remembered of each, as its encoding.
            transcript.messages = [same[m.row] if m == same.get(m.row) else m for m in changed]
            for event in events_since(changed, {message.row for message in known if message.row}):
                session.emit(event)
    except LedgerUnavailable as fault:
        log.warning("%s goes on without a look at the ledger: %s", session.id, fault)


async def answer(session: SessionState, turn: Turn, unread: Message) -> StopReason:
    """Have the agent answer the prompt. Raises what ended the turn; the prompt is stored all the same."""
    async with session.agent.listening():
        await session.title.take_first_words(unread)
        await _store_instructions(session)
        if turn.cancelled:
            await session.agent.keep(unread)
            return "cancelled"
        turn.run()
        async with session.agent.keeping(unread):
            await _equip(session)
            last = session.history[-1] if session.history else None
            prompt = await with_links_read(answering(unread, last), session.workspace)
        _greet(session)
        try:
            stop = await session.agent.run_turn(prompt)
        except AuthRequired as missing:
            session.emit(TextChunk(new_id(), missing.message))
            raise
        if stop == "end_turn" and session.services.config.titles:
            await _improve_title(session, prompt)
        return stop


async def with_links_read(prompt: Message, workspace: Workspace) -> Message:
    """The prompt with what the model is sent in place of links."""
    meant = prompt.content if prompt.api_content is None else prompt.api_content
    sent = await expanded(meant, attachments(workspace))
    return prompt if sent is None else evolve(prompt, api_content=sent)


async def _store_instructions(session: SessionState) -> None:
    """Keep the system prompt as a snapshot, where the ledger has none of this session yet."""
    if not session.is_instructed:
        with contextlib.suppress(LedgerError):
            prompt = session.system_prompt
            await session.services.ledger(SessionDB.update_session, session.id, system_prompt=prompt)
            session.is_instructed = True


async def _equip(session: SessionState) -> None:
    """Give the turn the tools of the MCP servers that are there, and look once whether files changed meanwhile."""
    await session.servers.settled()
    session.agent.tools = session.tools()
    session.greetings += [Noticed("warning", news) for news in session.servers.news()]
    if not session.is_compared:
        session.is_compared = True
        warning = await session.checkpoints.warning()
        session.greetings += [warning] if warning else []


def _greet(session: SessionState) -> None:
    """Say what had to wait for a turn: outside of one, an editor may not show it."""
    for notice in session.greetings:
        session.emit(notice)
    session.greetings.clear()


async def _improve_title(session: SessionState, prompt: Message) -> None:
    """Only where there is a model that may be asked."""
    if not isinstance(session.agent, AIAgent):
        return
    provider = await session.chosen.provider()
    with contextlib.suppress(BudgetSpent):
        await session.budget.check()
        charge = session.agent.context.charge(provider)
        session.title.improve(prompt, session.history[-1], provider, charge)
