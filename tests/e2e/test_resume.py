"""`session/resume`: the model has the whole history, the editor is told none of it."""

from __future__ import annotations

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import SHELL, C, T

CONVERSATION = {
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
}


async def resume(client: RawClient, lab: Lab, session: str) -> list[str]:
    """Resume; the kinds of the updates that came up to the response."""
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
    await client.request("session/resume", params)
    return [update["sessionUpdate"] for update in client.updates(session)]


@pytest.mark.parametrize("restarted", [True, False])
async def test_resume_replays_nothing_and_forgets_nothing(lab: Lab, restarted: bool) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi"}), T("done zebra-42"), T("second"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "first question")
    if restarted:
        client = await lab.restart(client)
    else:
        client.updates(session).clear()
    assert not CONVERSATION & set(await resume(client, lab, session))
    turn = await client.prompt(session, "what was it")
    assert (turn.stop_reason, turn.text) == ("end_turn", "second")
    last = lab.model.requests[-1]
    assert last.texts("user") == ["first question", "what was it"]
    assert last.texts("assistant") == ["", "done zebra-42"]


async def test_a_resumed_session_can_still_be_loaded(lab: Lab) -> None:
    lab.model.add(T("one"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "a")
    client = await lab.restart(client)
    await resume(client, lab, session)
    kinds = [update["sessionUpdate"] for update in await client.load(session, lab.project)]
    assert [kind for kind in kinds if kind in CONVERSATION] == ["user_message_chunk", "agent_message_chunk"]
