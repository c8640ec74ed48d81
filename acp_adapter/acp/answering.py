"""Who answers in a session: the built-in agent, or one of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from acp_adapter.agent.base import Agent
from acp_adapter.agent.delegation import DelegateTask
from acp_adapter.agent.gate import Gate
from acp_adapter.agent.loop import AIAgent
from acp_adapter.agent.own import OwnAgent
from acp_adapter.tools.port import Tool

if TYPE_CHECKING:
    from acp_adapter.acp.session import SessionState


def agent_of(session: SessionState) -> tuple[Agent, Mapping[str, Tool]]:
    """The session's agent, and the tools that only such an agent has."""
    services = session.services
    gate = Gate(lambda: session.mode, session.workspace, lambda: services.rules(session.cwd), session.client.ask)
    if session.own:
        return _own(session, gate), {}
    agent = _built_in(session, gate)
    helpers = DelegateTask(agent, services.ledger, gate, lambda: session.chosen.wanted)
    return agent, {helpers.name: helpers}


def _built_in(session: SessionState, gate: Gate) -> AIAgent:
    agent = AIAgent(
        choose=session.chosen.provider,
        tools=session.services.tools,
        transcript=session.transcript,
        system_prompt=session.system_prompt,
        workspace=session.workspace,
        gatekeeper=gate,
        emit=session.emit,
        max_steps=session.services.config.max_steps,
        effort=lambda: session.chosen.effort,
        budget=session.budget,
    )
    agent.context.cost = session.cost
    agent.room.failed = session.failed_summary
    agent.room.remember = lambda failed: session.remember(failed_summary=failed)
    return agent


def _own(session: SessionState, gate: Gate) -> OwnAgent:
    assert session.services.own and session.own
    return OwnAgent(
        tools=session.services.tools,
        transcript=session.transcript,
        workspace=session.workspace,
        gatekeeper=gate,
        emit=session.emit,
        function=session.own,
        author=session.services.own.author,
        name=session.services.own.name,
        budget=session.budget,
        cost=session.cost,
    )
