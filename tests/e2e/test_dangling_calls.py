"""A turn that is cut off in the middle of its tool calls is closed, once, and the next one is valid for any model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import SHELL, C, T

TWO_CALLS = C("c1", SHELL, {"command": "sleep 30"}) + C("c2", SHELL, {"command": "echo b"})


async def cut_off(lab: Lab, client: RawClient, session: str, how: str) -> RawClient:
    """Begin a turn whose first call runs long, and end it in one of the ways that happen."""
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("in_progress", "c1")
    await turn.call_is("completed", "c2")
    if how == "cancel":
        assert await turn.cancel() == "cancelled"
        return client
    if how == "close":
        await client.request("session/close", {"sessionId": session})
        return client
    if how == "eof":
        client.eof()
        await client.ended()
    return await lab.restart(client)


def results(request: Any) -> dict[str, int]:
    """How many results each call has in a model request."""
    ids = [m["tool_call_id"] for m in request.body["messages"] if m["role"] == "tool"]
    return {call_id: ids.count(call_id) for call_id in ids}


def call_statuses(updates: list[dict[str, Any]]) -> list[str]:
    return [item.fields["status"] for item in panel(updates) if item.role == "call"]


@pytest.mark.parametrize("how", ["cancel", "kill", "eof", "close"])
@pytest.mark.parametrize("reopen", ["load", "prompt"])
async def test_the_next_turn_is_valid_and_the_replay_shows_the_call_as_failed(lab: Lab, how: str, reopen: str) -> None:
    lab.model.add(TWO_CALLS, T("fine"))
    client = await lab.start()
    session = await client.new(lab.project)
    client = await cut_off(lab, client, session, how)
    if reopen == "load":
        assert call_statuses(await client.load(session, lab.project)) == ["failed", "completed"]
    turn = await client.prompt(session, "go on")
    assert (turn.stop_reason, turn.text) == ("end_turn", "fine")
    assert results(lab.model.requests[-1]) == {"c1": 1, "c2": 1}
    assert call_statuses(await client.load(session, lab.project)) == ["failed", "completed"]


async def test_the_closing_result_is_stored_once_however_often_the_session_is_opened(lab: Lab) -> None:
    lab.model.add(TWO_CALLS)
    client = await lab.start()
    session = await client.new(lab.project)
    client = await cut_off(lab, client, session, "kill")
    for _ in range(3):
        await client.load(session, lab.project)
        client = await lab.restart(client)
    await client.load(session, lab.project)
    stored = lab.query("SELECT tool_call_id, count(*) FROM messages WHERE role = 'tool' GROUP BY 1 ORDER BY 1")
    assert stored == [("c1", 1), ("c2", 1)]


async def test_a_cancelled_call_replays_as_it_was_shown(lab: Lab) -> None:
    lab.model.add(T("I wait.") + TWO_CALLS)
    client = await lab.start()
    session = await client.new(lab.project)
    await cut_off(lab, client, session, "cancel")
    await lab.assert_replay_equals_live(client, session)


async def test_call_ids_that_a_model_uses_again_stay_apart(lab: Lab) -> None:
    """Many models count their calls from one in each answer; the editor must not mix them up."""
    again = C("call_1", SHELL, {"command": "echo x"})
    lab.model.add(again, again, T("one"), again, T("two"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "first")
    turn = await client.prompt(session, "second")
    assert turn.text == "two"
    ids = [update["toolCallId"] for update in client.updates(session) if update["sessionUpdate"] == "tool_call"]
    assert len(ids) == len(set(ids)) == 3
    await lab.assert_replay_equals_live(client, session)


async def test_two_calls_with_one_id_in_one_answer_are_two_calls(lab: Lab) -> None:
    lab.model.add(C("x", SHELL, {"command": "echo a"}) + C("x", SHELL, {"command": "echo b"}), T("both"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.text == "both"
    assert len({call.id for call in turn.calls}) == 2
    await lab.assert_replay_equals_live(client, session)
