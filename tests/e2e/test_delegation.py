"""Helpers that a model sends out: they look, report and stay on record, change nothing, and cost what they cost."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.stub_model import HANG, READ, SHELL, WRITE, C, Received, T

DELEGATE = "delegate_task"


async def test_a_helper_reads_and_reports_in_a_session_of_its_own(lab: Lab) -> None:
    (lab.project / "a.py").write_text("ANSWER = 42\n", "utf-8")
    lab.model.add(C("c1", DELEGATE, {"task": "find the answer"}).when("what is it?"))
    lab.model.add(C("h1", READ, {"path": "a.py"}).when("find the answer"), T("a.py:1 says 42").when("find the answer"))
    lab.model.add(T("it is 42").when("what is it?"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "what is it?")
    assert (turn.stop_reason, turn.text) == ("end_turn", "it is 42")
    call = turn.call("c1")
    assert call["status"] == "completed" and call["title"] == "Delegate: find the answer"
    assert "a.py:1 says 42" in json.dumps(call["content"]) and "Read a.py" in json.dumps(call["content"])
    assert lab.model.requests[-1].texts("tool") == ["a.py:1 says 42"]
    (traced,) = call["rawOutput"]["tool_trace"]
    assert (traced["call_id"], traced["name"], traced["status"]) == ("h1", READ, "completed")
    helper = call["rawOutput"]["session_id"]
    listed = await client.request("session/list", {})
    assert [each["sessionId"] for each in listed["sessions"]] == [session]
    here = await client.request("session/list", {"cwd": str(lab.project)})
    assert [each["sessionId"] for each in here["sessions"]] == [session]
    assert lab.query(f"SELECT count(*) FROM messages WHERE session_id = '{helper}'") == [(4,)]
    await lab.assert_replay_equals_live(client, session)


async def test_helpers_work_at_the_same_time_and_each_gets_its_own_report(lab: Lab) -> None:
    calls = [C(f"c{n}", DELEGATE, {"task": f"task number {n}"}) for n in range(3)]
    lab.model.add((calls[0] + calls[1] + calls[2]).when("all three"))
    for n in range(3):
        look = C("same-id", READ, {"path": f"missing{n}.py"})
        lab.model.add(look.when(f"task number {n}"), T(f"report {n}").when(f"task number {n}"))
    lab.model.add(T("done").when("all three"))
    client = await lab.start()
    turn = await client.prompt(await client.new(lab.project), "all three")
    assert turn.text == "done"
    for n in range(3):
        raw = turn.call(f"c{n}")["rawOutput"]
        assert f"report {n}" in json.dumps(turn.call(f"c{n}")["content"])
        assert [(each["call_id"], each["status"]) for each in raw["tool_trace"]] == [("same-id", "failed")]
    assert lab.model.requests[-1].texts("tool") == [f"report {n}" for n in range(3)]


async def test_a_helper_changes_and_asks_nothing_whatever_the_mode(lab: Lab) -> None:
    lab.model.add(C("c1", DELEGATE, {"task": "break things"}).when("go"))
    lab.model.add(
        C("h1", WRITE, {"path": "x", "content": "x"}).when("break things")
        + C("h2", SHELL, {"command": "touch y"})
        + C("h3", DELEGATE, {"task": "deeper"})
        + C("h4", READ, {"path": "/etc/hostname"}),
        T("nothing worked").when("break things"),
    )
    lab.model.add(T("well").when("go"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.request("session/set_mode", {"sessionId": session, "modeId": "bypass"})
    turn = await client.prompt(session, "go")
    assert [each["status"] for each in turn.call("c1")["rawOutput"]["tool_trace"]] == ["failed"] * 4
    assert list(lab.project.iterdir()) == []
    assert not client.received("session/request_permission")
    (offered,) = {tuple(sorted(tool["function"]["name"] for tool in asked.body["tools"])) for asked in helpers(lab)}
    assert not {WRITE, SHELL, DELEGATE, "edit_file", "fetch_url"} & set(offered)


async def test_a_cancel_stops_the_helper_and_the_session_goes_on(lab: Lab) -> None:
    lab.model.add(C("c1", DELEGATE, {"task": "take long"}).when("go"), HANG.when("take long"), T("here").when("next"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await asyncio.to_thread(lab.model.wait_for_requests, 2)
    assert await turn.cancel() == "cancelled"
    await asyncio.to_thread(lab.model.wait_for_hangups, 1)
    assert (await client.prompt(session, "next")).text == "here"


async def test_a_helper_whose_model_fails_is_a_failed_call_and_the_turn_goes_on(lab: Lab) -> None:
    lab.model.add(C("c1", DELEGATE, {"task": "say nothing"}).when("go"), T("").when("say nothing"), T("so").when("go"))
    client = await lab.start()
    turn = await client.prompt(await client.new(lab.project), "go")
    assert (turn.text, turn.call("c1")["status"]) == ("so", "failed")
    assert "The helper failed" in lab.model.requests[-1].texts("tool")[0]


async def test_what_helpers_use_counts_towards_the_budget_of_their_session(lab: Lab) -> None:
    lab.configure("[budget]\nsession_tokens = 205\n")
    lab.model.add(C("c1", DELEGATE, {"task": "use tokens"}).when("go"), T("report").when("use tokens"))
    client = await lab.start()
    session = await client.new(lab.project)
    with pytest.raises(RpcError, match="budget"):
        await client.prompt(session, "go")
    assert len(lab.model.requests) == 2


async def test_a_helper_goes_with_its_session_when_that_is_deleted(lab: Lab) -> None:
    lab.model.add(C("c1", DELEGATE, {"task": "look"}).when("go"), T("report").when("look"), T("ok").when("go"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    assert lab.count("sessions") == 2
    await client.request("session/delete", {"sessionId": session})
    assert lab.count("sessions") == 0 and lab.count("messages") == 0


def helpers(lab: Lab) -> list[Received]:
    return [asked for asked in lab.model.requests if "You are a helper" in asked.texts("system")[0]]
