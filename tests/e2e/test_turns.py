"""What one turn does: steps, parallel calls, plan, usage, title, the system prompt it is given."""

from __future__ import annotations

import itertools
import time

import pytest

from tests.clients.editor import Editor, capabilities
from tests.clients.fold import plan
from tests.clients.lab import Lab
from tests.stub_model import SHELL, C, R, T


async def test_the_calls_of_one_step_run_together(lab: Lab) -> None:
    """Each waits for the other's file: one after the other they would both run into their limit."""
    meet = "touch {0}; for i in $(seq 100); do test -e {1} && exit 0; sleep 0.05; done; exit 1"
    lab.model.add(
        C("c1", SHELL, {"command": meet.format("a", "b")}) + C("c2", SHELL, {"command": meet.format("b", "a")}),
        T("met"),
    )
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert [call.fields["status"] for call in turn.calls] == ["completed", "completed"]
    assert turn.text == "met"
    await lab.assert_replay_equals_live(client, session)


async def test_results_are_in_the_order_of_the_calls_for_the_model(lab: Lab) -> None:
    lab.model.add(
        C("c1", SHELL, {"command": "sleep 0.5; echo slow"}) + C("c2", SHELL, {"command": "echo quick"}), T("ok")
    )
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    results = [m["tool_call_id"] for m in lab.model.requests[-1].body["messages"] if m["role"] == "tool"]
    assert sorted(results) == ["c1", "c2"]
    await lab.assert_replay_equals_live(client, session)


async def test_a_plan_is_shown_and_replayed(lab: Lab) -> None:
    entries = [
        {"content": "look", "status": "completed", "priority": "high"},
        {"content": "leap", "status": "pending", "priority": "low"},
    ]
    lab.model.add(C("c1", "update_plan", {"entries": entries}), T("planned"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "plan it")
    assert plan(turn.updates) == entries
    assert not client.received("session/request_permission")
    await lab.assert_replay_equals_live(client, session)


async def test_thoughts_are_thoughts_and_never_part_of_the_answer(lab: Lab) -> None:
    lab.model.add(R("think ", "hard") + T("answer"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    thoughts = [item.text for item in turn.panel if item.role == "thought"]
    assert (thoughts, turn.text) == (["think hard"], "answer")
    await lab.assert_replay_equals_live(client, session)


async def test_text_streams_in_the_chunks_of_the_model_while_it_is_read_quickly(lab: Lab) -> None:
    lab.model.add(T("one ", "two ", "three"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.text == "one two three"
    assert len({u["messageId"] for u in turn.updates if u["sessionUpdate"] == "agent_message_chunk"}) == 1


async def test_the_first_prompt_gives_the_session_a_title_in_list_and_update(lab: Lab) -> None:
    lab.model.add(T("ok"), T("ok"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "Mend the broken bicycle in the cellar")
    await client.prompt(session, "and now something else")
    titles = [
        u["title"] for u in client.updates(session) if u["sessionUpdate"] == "session_info_update" and u.get("title")
    ]
    listed = await client.request("session/list", {})
    assert "bicycle" in listed["sessions"][0]["title"]
    assert titles[-1:] == [listed["sessions"][0]["title"]]


async def test_the_project_s_own_instructions_are_in_the_system_prompt_and_stay_as_they_were(lab: Lab) -> None:
    (lab.project / "AGENTS.md").write_text("Always answer in rhymes, code word xylophone.\n")
    lab.model.add(T("a"), T("b"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "one")
    (lab.project / "AGENTS.md").write_text("changed")
    client = await lab.restart(client)
    await client.prompt(session, "two")
    first, second = (request.texts("system") for request in lab.model.requests)
    assert "xylophone" in first[0] and str(lab.project) in first[0]
    assert first == second


async def test_each_request_begins_with_the_bytes_of_the_one_before_over_turns_restart_and_load(lab: Lab) -> None:
    """Servers cache a prefix that is byte for byte the same. The model knows no efforts, though one is set."""
    lab.configure('mode = "bypass"\neffort = "high"\n')
    client = await lab.start()
    session = await client.new(lab.project)
    (lab.project / "ä.py").write_text("x = 1\n" * 2000)
    link = {"type": "resource_link", "uri": (lab.project / "ä.py").as_uri(), "name": "ä.py"}
    lab.model.add(
        R("hm") + T("I look.") + C("c1", SHELL, {"command": "echo ä; exit 3"}) + C("c1", "make_coffee", "no JSON"),
        T("one"),
    )
    await client.prompt(session, [{"type": "text", "text": "Read \U0001f600 this: "}, link])
    lab.model.add(C("c2", SHELL, {"command": "sleep 60"}))
    turn = await client.begin_prompt(session, "wait")
    await client.until(lambda: any(call.fields.get("status") == "in_progress" for call in turn.calls), "the command")
    assert await turn.cancel() == "cancelled"
    lab.model.add(T("two"), T("three"), T("four"))
    await client.prompt(session, "go on")
    client = await lab.restart(client)
    await client.load(session, lab.project)
    await client.prompt(session, "after a restart")
    other = await lab.start()
    await other.load(session, lab.project)
    await other.prompt(session, "in another process")
    lab.model.add(T("five"))
    await client.prompt(session, "and back")
    halves = [request.raw.partition(b'],"stream"') for request in lab.model.requests]
    assert len(halves) == 7
    for (earlier, _, tools), (later, _, same) in itertools.pairwise(halves):
        assert later.startswith(earlier)
        assert same == tools


async def test_the_tools_have_the_names_and_required_parameters_that_are_promised(lab: Lab) -> None:
    lab.model.add(T("ok"))
    client = await lab.start()
    await client.prompt(await client.new(lab.project), "hi")
    tools = {t["function"]["name"]: t["function"]["parameters"] for t in lab.model.requests[-1].body["tools"]}
    promised = {
        "read_file": {"path"},
        "write_file": {"path", "content"},
        "edit_file": {"path", "old_text", "new_text"},
        "list_directory": {"path"},
        "glob": {"pattern"},
        "grep": {"pattern"},
        "run_command": {"command"},
        "update_plan": {"entries"},
    }
    assert {name: set(tools[name].get("required", ())) for name in promised} == promised


async def test_usage_is_told(lab: Lab) -> None:
    lab.configure(f'[providers.openai]\ncontext_window = 8000\nmodel = "{lab.model.model}"\n')
    lab.model.add(T("one", "two"))
    client = await lab.start(Editor(offers=capabilities(notices=True)))
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    usage = [u for u in client.updates(session) if u["sessionUpdate"] == "usage_update"]
    assert usage and usage[-1]["size"] == 8000 and usage[-1]["used"] > 100


@pytest.mark.parametrize(
    "method", ["session/list", "session/resume", "session/close", "session/delete", "session/fork"]
)
async def test_what_is_advertised_works_and_what_is_not_is_an_unknown_method(lab: Lab, method: str) -> None:
    client = await lab.start()
    offered = client.initialized["agentCapabilities"]["sessionCapabilities"]
    assert client.initialized["agentCapabilities"]["loadSession"] is True
    assert offered.get(method.removeprefix("session/")) is not None
    session = await client.new(lab.project)
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
    await client.request(method, {} if method == "session/list" else params)


async def test_a_session_on_disk_but_not_in_memory_is_listed_with_its_folder_and_time(lab: Lab) -> None:
    lab.model.add(T("ok"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "hello")
    client = await lab.restart(client)
    (row,) = (await client.request("session/list", {"cwd": str(lab.project)}))["sessions"]
    assert (row["sessionId"], row["cwd"]) == (session, str(lab.project))
    assert row["updatedAt"].startswith(time.strftime("%Y-", time.gmtime()))


async def test_a_call_s_id_is_never_given_again_in_a_session_whatever_was_taken_back(lab: Lab) -> None:
    call = C("c1", "list_directory", {"path": "."})
    lab.model.add(call, T("one"), call, T("two"), T("they looked"), call, T("three"))
    client = await lab.start()
    session = await client.new(lab.project)
    ids = [(await client.prompt(session, "look")).calls[0].id]
    await client.prompt(session, "/undo")
    ids.append((await client.prompt(session, "look")).calls[0].id)
    await client.prompt(session, "/compact")
    client = await lab.restart(client)
    await client.load(session, lab.project)
    ids.append((await client.prompt(session, "look")).calls[0].id)
    assert ids == ["c1", "c1-2", "c1-3"]
