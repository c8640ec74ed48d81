"""`kill -9` at any moment: what the client saw finished is in the ledger, and streamed text is at most 0.5 s behind."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tests.clients.checks.sessions import ANY_TIME
from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.clients.turn import Turn
from tests.stub_model import ERR, HANG, SHELL, STALL, C, T


async def test_a_prompt_is_kept_although_the_model_never_answered(lab: Lab) -> None:
    lab.model.add(HANG)
    client = await lab.start()
    session = await client.new(lab.project)
    await client.begin_prompt(session, "keep me")
    await asyncio.to_thread(lab.model.wait_for_requests, 1)
    client = await lab.restart(client)
    assert [item.text for item in panel(await client.load(session, lab.project))] == ["keep me"]


async def test_a_tool_result_is_kept_although_the_next_model_call_fails(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo one"}), ERR(400, "broken"), T("fine"))
    client = await lab.start()
    session = await client.new(lab.project)
    with pytest.raises(RpcError):
        await client.prompt(session, "go")
    turn = await client.prompt(session, "again")
    assert turn.text == "fine"
    assert [text.strip() for text in lab.model.requests[-1].texts("tool")] == ["one"]
    await lab.assert_replay_equals_live(client, session)


async def test_a_call_that_was_shown_completed_is_completed_after_a_kill(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo one"}), HANG)
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("completed", "c1")
    client = await lab.restart(client)
    calls = [item for item in panel(await client.load(session, lab.project)) if item.role == "call"]
    assert [call.fields["status"] for call in calls] == ["completed"]


async def test_nothing_is_missing_when_the_kill_follows_the_response_at_once(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo one"}), T("the end"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.done()
    client.process.kill()
    again = await lab.restart(client)
    shown = panel(await again.load(session, lab.project))
    assert [(item.role, item.text) for item in shown if item.role != "call"] == [("user", "go"), ("answer", "the end")]


async def test_streamed_text_is_at_most_half_a_second_behind(lab: Lab) -> None:
    lab.model.add(STALL("what was ", "said before"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "tell me")
    await turn.says("said before")
    await asyncio.sleep(0.6)
    client = await lab.restart(client)
    user, answer = panel(await client.load(session, lab.project))
    assert (user.text, answer.text) == ("tell me", "what was said before")


async def test_a_killed_half_answer_is_stored_once_and_the_next_turn_is_valid(lab: Lab) -> None:
    lab.model.add(STALL("half an"), T("whole"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "tell me")
    await turn.says("half an")
    await asyncio.sleep(0.6)
    client = await lab.restart(client)
    turn = await client.prompt(session, "again")
    assert turn.text == "whole"
    texts = [item.text for item in panel(await client.load(session, lab.project))]
    assert texts == ["tell me", "half an", "again", "whole"]


def of_the_turn(turn: Turn) -> int:
    """How many updates came that belong to the turn, not to the session."""
    return sum(update["sessionUpdate"] not in ANY_TIME for update in turn.updates)


def _is_beyond(turn: Turn, moment: int) -> bool:
    return of_the_turn(turn) > moment


async def test_kills_at_many_moments_of_a_turn_never_damage_the_ledger(lab: Lab) -> None:
    """Each kill meets the turn at another point; whatever was shown completed must be there afterwards."""
    client = await lab.start()
    for moment in range(8):
        session = await client.new(lab.project)
        lab.model.steps.clear()
        lab.model.add(
            T("a") + C("c1", SHELL, {"command": "echo 1"}), T("b") + C("c2", SHELL, {"command": "echo 2"}), T("c")
        )
        turn = await client.begin_prompt(session, "go")
        await client.until(partial(_is_beyond, turn, moment), f"update {moment}")
        client = await lab.restart(client)
        seen = {call.id for call in turn.calls if call.fields["status"] == "completed"}
        shown = panel(await client.load(session, lab.project))
        assert shown[0].text == "go"
        done = {item.id for item in shown if item.role == "call" and item.fields["status"] == "completed"}
        assert seen <= done
