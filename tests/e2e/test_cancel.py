"""Stop stops, in every state, at once, and only what it was meant for."""

from __future__ import annotations

import asyncio
import time

import psutil
import pytest

from tests.clients import editor
from tests.clients.editor import Editor
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.clients.turn import Turn
from tests.stub_model import ERR, HANG, SHELL, STALL, C, T

SOON = 2.0
"""Seconds until a cancelled prompt must be answered."""


def children(client: RawClient, words: str) -> list[psutil.Process]:
    """The agent's descendants whose command line holds the words."""
    found = []
    for process in psutil.Process(client.process.pid).children(recursive=True):
        try:
            if words in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


async def test_ten_stops_in_a_row_each_leave_a_session_that_works(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for round_number in range(10):
        lab.model.add(C("c", SHELL, {"command": "sleep 60"}), T(f"ok {round_number}"))
        turn = await client.begin_prompt(session, "long")
        await turn.call_is("in_progress")
        began = time.monotonic()
        assert await turn.cancel() == "cancelled"
        assert time.monotonic() - began < SOON
        assert children(client, "sleep 60") == []
        again = await client.prompt(session, "again")
        assert (again.stop_reason, again.text, again.calls) == ("end_turn", f"ok {round_number}", [])
    listed = await client.request("session/list", {})
    assert [row["sessionId"] for row in listed["sessions"]] == [session]


async def in_state(lab: Lab, client: RawClient, session: str, state: str) -> Turn:
    """A turn that has come to the named state and stays there."""
    steps = {
        "waiting for the model": HANG,
        "streaming": STALL("half"),
        "running a command": C("c1", SHELL, {"command": "sleep 60"}),
        "asking permission": C("c1", SHELL, {"command": "sleep 60"}),
        "backing off": ERR(503, "later", retry_after="30"),
    }
    lab.model.add(steps[state])
    if state == "asking permission":
        client.editor.permission = editor.never
    turn = await client.begin_prompt(session, "go")
    if state == "streaming":
        await turn.says("half")
    elif state == "running a command":
        await turn.call_is("in_progress")
    elif state == "asking permission":
        await turn.permission_asked()
    else:
        await asyncio.to_thread(lab.model.wait_for_requests, 1)
    return turn


STATES = ["waiting for the model", "streaming", "running a command", "asking permission", "backing off"]


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request"])
@pytest.mark.parametrize("state", STATES)
async def test_a_turn_is_cancelled_in_every_state(lab: Lab, state: str, how: str) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await in_state(lab, client, session, state)
    began = time.monotonic()
    if how == "session/cancel":
        await client.cancel(session)
    else:
        await client.notify("$/cancel_request", requestId=turn.id)
    assert await turn.done() == "cancelled"
    assert time.monotonic() - began < SOON
    client.editor.permission = editor.allow
    lab.model.steps.clear()
    lab.model.add(T("fine"))
    again = await client.prompt(session, "again")
    assert (again.stop_reason, again.text) == ("end_turn", "fine")
    await lab.assert_replay_equals_live(client, session)


async def test_a_cancel_without_a_turn_does_not_touch_the_next_prompt(lab: Lab) -> None:
    lab.model.add(T("one"), T("two"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.cancel(session)
    assert (await client.prompt(session, "a")).text == "one"
    for _ in range(3):
        await client.cancel(session)
    assert (await client.prompt(session, "b")).text == "two"


async def test_a_cancel_right_behind_the_prompt_ends_that_prompt(lab: Lab) -> None:
    """The prompt may not even have begun when the cancel comes; it must not get lost, nor hit another."""
    lab.model.add(HANG)
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "a")
    assert await turn.cancel() == "cancelled"
    lab.model.steps.clear()
    lab.model.add(T("b"))
    assert (await client.prompt(session, "b")).text == "b"


async def test_a_second_prompt_waits_and_is_answered_in_its_turn(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 0.5"}), T("first"), T("second"))
    client = await lab.start()
    session = await client.new(lab.project)
    one = await client.begin_prompt(session, "a")
    await one.call_is("in_progress")
    two = await client.begin_prompt(session, "b")
    assert await one.done() == await two.done() == "end_turn"
    assert (one.text, two.text) == ("first", "second")
    assert lab.model.requests[-1].texts("user") == ["a", "b"]
    await lab.assert_replay_equals_live(client, session)


async def test_cancel_stops_the_running_prompt_and_the_waiting_one_goes_on(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 60"}), T("second"))
    client = await lab.start()
    session = await client.new(lab.project)
    one = await client.begin_prompt(session, "a")
    await one.call_is("in_progress")
    two = await client.begin_prompt(session, "b")
    assert await one.cancel() == "cancelled"
    assert (await two.done(), two.text) == ("end_turn", "second")


async def test_a_waiting_prompt_can_be_cancelled_by_its_request(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 1"}), T("first"), T("third"))
    client = await lab.start()
    session = await client.new(lab.project)
    one = await client.begin_prompt(session, "a")
    await one.call_is("in_progress")
    two = await client.begin_prompt(session, "b")
    client.unseen.add(session)  # its panel has b where its answer came, which is before the first one's
    await client.notify("$/cancel_request", requestId=two.id)
    assert (await one.done(), one.text) == ("end_turn", "first")
    assert await two.done() == "cancelled"
    assert (await client.prompt(session, "c")).text == "third"


async def test_cancel_is_per_session(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 60"}).when("left"), STALL("I go on").when("right"))
    client = await lab.start()
    left, right = await client.new(lab.project), await client.new(lab.project)
    one, two = await client.begin_prompt(left, "left"), await client.begin_prompt(right, "right")
    await one.call_is("in_progress")
    await two.says("I go on")
    assert await one.cancel() == "cancelled"
    await client.request("session/list", {})
    assert not client.answered(two.id)
    assert await two.cancel() == "cancelled"


async def test_cancelling_what_is_done_or_was_never_asked_is_silent(lab: Lab) -> None:
    lab.model.add(T("one"), T("two"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "a")
    for request in (turn.id, 4711, "nope", None):
        await client.notify("$/cancel_request", requestId=request)
    await client.notify("$/cancel_request")
    assert (await client.prompt(session, "b")).text == "two"


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_closing_or_deleting_ends_the_running_turn(lab: Lab, method: str) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 60"}), T("never"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "a")
    await turn.call_is("in_progress")
    closing = await client.begin(method, {"sessionId": session})
    assert await turn.done() == "cancelled"
    assert await client.result(closing) == {}
    assert children(client, "sleep 60") == []
    assert lab.count("sessions") == (1 if method == "session/close" else 0)
    assert lab.count("messages") > 0 or method == "session/delete"


async def test_a_client_that_dismisses_its_permission_dialogs_on_cancel_is_fine_too(lab: Lab) -> None:
    """The protocol asks the client to answer pending permission requests with `cancelled`."""
    lab.model.add(C("c1", SHELL, {"command": "touch ran"}))
    client = await lab.start(Editor(permission=editor.never))
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "a")
    await turn.permission_asked()
    asked = client.received("session/request_permission")[0].data["id"]
    await client.cancel(session)
    await client.send({"jsonrpc": "2.0", "id": asked, "result": editor.DISMISSED})
    assert await turn.done() == "cancelled"
    assert not (lab.project / "ran").exists()
