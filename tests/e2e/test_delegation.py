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


async def test_three_calls_of_one_name_at_once_are_each_traced_for_what_they_were(lab: Lab) -> None:
    sizes = {"small.txt": 10, "large.txt": 3000}
    for name, size in sizes.items():
        (lab.project / name).write_text("x" * size, "utf-8")
    paths = ["large.txt", "missing.txt", "small.txt"]
    look = C("h1", READ, {"path": paths[0]}) + C("h2", READ, {"path": paths[1]}) + C("h3", READ, {"path": paths[2]})
    lab.model.add(C("c1", DELEGATE, {"task": "look at all"}).when("go"))
    lab.model.add(look.when("look at all"), T("seen").when("look at all"), T("ok").when("go"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    trace = {each["call_id"]: each for each in turn.call("c1")["rawOutput"]["tool_trace"]}
    assert [trace[f"h{n}"]["status"] for n in (1, 2, 3)] == ["completed", "failed", "completed"]
    assert {each["name"] for each in trace.values()} == {READ}
    given = [len(json.dumps({"path": path})) for path in paths]
    assert [trace[f"h{n}"]["argument_bytes"] for n in (1, 2, 3)] == given
    assert [trace[f"h{n}"]["result_bytes"] for n in (1, 3)] == [3000, 10]
    assert all(each["duration"] >= 0 for each in trace.values())
    kept = [json.loads(details) for (details,) in lab.query("SELECT details FROM message_details")]
    assert [each["rawOutput"]["tool_trace"] for each in kept if "rawOutput" in each] == [list(trace.values())]


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


async def test_what_a_helper_did_is_kept_with_its_call_however_it_ends(lab: Lab) -> None:
    lab.model.add(C("c1", DELEGATE, {"task": "look, then fail"}).when("go"))
    look = C("h1", READ, {"path": "missing.py"}).when("look, then fail")
    lab.model.add(look, T("").when("look, then fail"), T("so").when("go"))
    client = await lab.start()
    session = await client.new(lab.project)
    failed = await client.prompt(session, "go")
    assert (failed.text, failed.call("c1")["status"]) == ("so", "failed")
    assert "The helper failed" in lab.model.requests[-1].texts("tool")[0]
    lab.model.add(C("c2", DELEGATE, {"task": "look, then hang"}).when("again"))
    lab.model.add(C("h2", READ, {"path": "none.py"}).when("look, then hang"), HANG.when("look, then hang"))
    cancelled = await client.begin_prompt(session, "again")
    await asyncio.to_thread(lab.model.wait_for_requests, 7)
    assert await cancelled.cancel() == "cancelled"
    assert "cancelled this call" in lab.query("SELECT content FROM messages ORDER BY id DESC LIMIT 1")[0][0]
    for turn, call, inner in ((failed, "c1", "h1"), (cancelled, "c2", "h2")):
        raw = turn.call(call)["rawOutput"]
        assert [each["call_id"] for each in raw["tool_trace"]] == [inner]
        assert raw["session_id"] in json.dumps(lab.query("SELECT id FROM sessions"))
        assert "Read" in json.dumps(turn.call(call)["content"])


async def test_usage_tells_what_helpers_used_beside_the_conversation(lab: Lab) -> None:
    lab.model.add(C("c1", DELEGATE, {"task": "look"}).when("go"), T("report").when("look"), T("ok").when("go"))
    client = await lab.start()
    session = await client.new(lab.project)
    assert "beside" not in (await client.prompt(session, "/usage")).text
    await client.prompt(session, "go")
    told = (await client.prompt(session, "/usage")).text
    helpers_of = "JOIN sessions s ON s.id = u.session_id WHERE s.parent_session_id IS NOT NULL"
    used = lab.query(f"SELECT sum(u.input_tokens + u.output_tokens) FROM session_model_usage u {helpers_of}")[0][0]
    assert "- model calls: 2" in told and f"- beside that, helpers: 1 model calls, {used} tokens" in told


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
