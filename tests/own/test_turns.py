"""An agent that somebody else wrote, behind the same sessions, ledger, permissions and editors."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.clients import editor
from tests.clients.editor import Editor, capabilities
from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.clients.turn import output
from tests.own.conftest import Host


async def test_what_an_agent_yields_is_the_answer(host: Host, lab: Lab) -> None:
    client = await host.start("echo")
    session = await client.new(lab.project)
    turn = await client.prompt(session, "hello")
    assert (turn.stop_reason, turn.text) == ("end_turn", "You said: hello")
    assert not lab.model.requests
    await lab.assert_replay_equals_live(client, session)


async def test_everything_that_an_agent_says_is_replayed_as_it_was_shown(host: Host, lab: Lab) -> None:
    (lab.project / "a.txt").write_text("alpha\n", "utf-8")
    client = await host.start("says_everything", Editor(offers=capabilities(notices=True)))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.stop_reason == "end_turn"
    roles = [(item.role, item.text or item.fields.get("title")) for item in turn.panel]
    assert roles[:5] == [
        ("thought", "first thought"),
        ("answer", "one"),
        ("thought", "a second thought"),
        ("call", "Update the plan"),
        ("answer", "two"),
    ]
    statuses = [(call.fields["name"], call.fields["status"]) for call in turn.calls]
    assert statuses[1:5] == [
        ("read_file", "completed"),
        ("write_file", "completed"),
        ("look_up", "completed"),
        ("look_up", "failed"),
    ]
    assert output(turn.calls[4].fields) == "LookupError: no such word"
    assert statuses[5:] == [("glob", "completed")] * 3
    assert (lab.project / "b.txt").read_text("utf-8") == "new\n"
    usage = [update for update in turn.updates if update["sessionUpdate"] == "usage_update"]
    assert [(each["used"], each["size"], each["cost"]["amount"]) for each in usage] == [(100, 1000, 0.25)]
    await lab.assert_replay_equals_live(client, session)
    assert lab.query("SELECT input_tokens, output_tokens, estimated_cost_usd FROM sessions") == [(90, 10, 0.25)]


async def test_a_kill_loses_nothing_and_the_agent_has_its_history_again(host: Host, lab: Lab) -> None:
    client = await host.start("tells_history")
    session = await client.new(lab.project)
    first = await client.prompt(session, "one")
    client = await host.restart(client, "tells_history")
    shown = panel(await client.load(session, lab.project))
    assert [(item.role, item.text) for item in shown] == [("user", "one"), ("answer", first.text)]
    turn = await client.prompt(session, "two")
    assert turn.text == repr([("user", "one"), ("assistant", first.text), ("user", "two")])


async def test_streamed_text_is_on_disk_before_the_turn_ends(host: Host, lab: Lab) -> None:
    client = await host.start("streams_for_ever")
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.says("and on and on")
    await client.until(lambda: lab.count("message_drafts"), "a draft")
    client = await host.restart(client, "streams_for_ever")
    user, answer = panel(await client.load(session, lab.project))
    assert user.text == "go"
    assert answer.text.startswith("begun and on")


async def test_what_an_agent_keeps_is_there_after_a_restart_and_goes_with_undo_and_branch(host: Host, lab: Lab) -> None:
    client = await host.start("remembers")
    session = await client.new(lab.project)
    assert (await client.prompt(session, "a")).text == "[] user"
    assert (await client.prompt(session, "b")).text == "['a'] user assistant user"
    client = await host.restart(client, "remembers")
    await client.prompt(session, "/undo")
    assert (await client.prompt(session, "c")).text == "['a'] user assistant user"
    branch = await client.request("session/fork", {"sessionId": session, "cwd": str(lab.project), "mcpServers": []})
    turn = await client.prompt(branch["sessionId"], "d")
    assert turn.text == "['a', 'c'] user assistant user assistant user"


@pytest.mark.parametrize(("policy", "text", "status"), [
    (editor.allow, "deployed", "completed"),
    (editor.reject, "not deployed", "failed"),
    (editor.dismiss, "not deployed", "failed"),
])  # fmt: skip
async def test_an_agent_asks_before_it_does_something(
    host: Host, lab: Lab, policy: editor.Policy, text: str, status: str
) -> None:
    client = await host.start("asks", Editor(permission=policy))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    (asked,) = await turn.permission_asked()
    assert asked["toolCall"]["title"] == "Deploy to production"
    assert asked["toolCall"]["rawInput"] == {"to": "production"}
    assert (turn.text, turn.calls[0].fields["status"]) == (text, status)
    await lab.assert_replay_equals_live(client, session)


async def test_what_was_always_allowed_is_not_asked_again_and_modes_hold(host: Host, lab: Lab) -> None:
    client = await host.start("asks", Editor(permission=editor.allow_always))
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    again = await client.prompt(session, "go")
    assert again.text == "deployed"
    assert len(client.received("session/request_permission")) == 1
    await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
    assert (await client.prompt(session, "go")).text == "not deployed"


async def test_a_rule_about_commands_holds_for_an_agents_own_shell(host: Host, lab: Lab) -> None:
    (lab.home / "permissions").mkdir(parents=True, mode=0o700)
    lab.home.chmod(0o700)
    rules = '[[allow]]\ntool = "shell"\nprefix = "git status"\n\n[[reject]]\ntool = "*"\nprefix = "git push"\n'
    (lab.home / "permissions" / "everywhere.toml").write_text(rules, "utf-8")
    (lab.home / "permissions" / "everywhere.toml").chmod(0o600)
    client = await host.start("asks_for_a_command", Editor(permission=editor.never))
    session = await client.new(lab.project)
    assert (await client.prompt(session, "git status -s")).text == "True"
    assert (await client.prompt(session, "git push --force")).text == "False"
    assert client.received("session/request_permission") == []


async def test_a_tool_of_ours_is_gated_for_an_agent_as_for_a_model(host: Host, lab: Lab) -> None:
    (lab.project / "a.txt").write_text("alpha\n", "utf-8")
    client = await host.start("says_everything", Editor(permission=editor.reject))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert not (lab.project / "b.txt").exists()
    assert turn.text.endswith("three True")


async def test_a_plain_function_uses_tools_and_its_returned_text_is_shown(host: Host, lab: Lab) -> None:
    (lab.project / "a.txt").write_text("alpha\n", "utf-8")
    client = await host.start("plain")
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.text == "There are 1"
    assert [output(call.fields) for call in turn.calls] == ["a.txt", "1"]
    await lab.assert_replay_equals_live(client, session)


async def test_a_cancel_in_mid_stream_ends_the_agents_task_and_keeps_what_was_said(host: Host, lab: Lab) -> None:
    client = await host.start("streams_for_ever")
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.says("and on and on")
    assert await turn.cancel() == "cancelled"
    assert (lab.project / "cancelled").read_text("utf-8") == "True"
    await lab.assert_replay_equals_live(client, session)
    again = await client.begin_prompt(session, "again")
    await again.says("begun")
    assert await again.cancel() == "cancelled"


async def test_a_cancel_closes_the_call_that_an_agent_was_in(host: Host, lab: Lab) -> None:
    client = await host.start("hangs_in_a_tool")
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("in_progress")
    assert await turn.cancel() == "cancelled"
    assert turn.calls[0].fields["status"] == "failed"
    await lab.assert_replay_equals_live(client, session)


async def test_a_cancel_while_permission_is_asked_is_a_no(host: Host, lab: Lab) -> None:
    client = await host.start("asks", Editor(permission=editor.never))
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.permission_asked()
    assert await turn.cancel() == "cancelled"
    assert turn.calls[0].fields["status"] == "failed"
    await lab.assert_replay_equals_live(client, session)


async def test_an_error_of_the_agent_is_the_answers_error_and_the_session_goes_on(host: Host, lab: Lab) -> None:
    lab.referee.allow("Traceback")
    client = await host.start("fails")
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    with pytest.raises(RpcError) as caught:
        await turn.done()
    assert re.search(r"agents\.py:fails failed: ValueError: the sky fell", caught.value.message)
    assert "the sky fell" in client.process.stderr, "the log has the traceback"
    assert turn.text == "so far so good"
    again = await client.prompt(session, "fine")
    assert (again.stop_reason, again.text) == ("end_turn", "so far so good")
    await lab.assert_replay_equals_live(client, session)


async def test_an_error_that_can_not_say_what_it_is_is_named_all_the_same(host: Host, lab: Lab) -> None:
    lab.referee.allow("Traceback")
    client = await host.start("fails_without_words")
    session = await client.new(lab.project)
    with pytest.raises(RpcError, match="fails_without_words failed: Speechless"):
        await client.prompt(session, "go")


async def test_what_is_neither_text_nor_event_is_a_clear_error(host: Host, lab: Lab) -> None:
    lab.referee.allow("Traceback")
    client = await host.start("misspeaks")
    session = await client.new(lab.project)
    with pytest.raises(RpcError, match=r"An agent says text, Thought, Plan or Usage, not int\."):
        await client.prompt(session, "go")


async def test_prints_and_children_of_an_agent_reach_no_frame(host: Host, lab: Lab) -> None:
    client = await host.start("noisy")
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.text == "quiet 0"
    assert "a banner" in client.process.stderr and "raw bytes" in client.process.stderr
    assert all(frame.data is not None for frame in client.frames)


@pytest.mark.parametrize("name", ["blocks", "streams_for_ever"])
async def test_two_sessions_work_side_by_side(host: Host, lab: Lab, name: str) -> None:
    """One that blocks, or goes on for ever, holds the other up in nothing."""
    client = await host.start(name)
    left, right = await client.new(lab.project), await client.new(lab.project)
    one = await client.begin_prompt(left, "left")
    await one.says("waiting" if name == "blocks" else "begun")
    if name == "blocks":
        (lab.project / "right").touch()
        assert (await client.prompt(right, "right")).text == "waiting done"
        (lab.project / "left").touch()
        assert (await one.done(), one.text) == ("end_turn", "waiting done")
    else:
        two = await client.begin_prompt(right, "right")
        await two.says("and on")
        assert await two.cancel() == "cancelled"
        assert not client.answered(one.id)
        assert await one.cancel() == "cancelled"


async def test_an_agent_that_blocks_does_not_freeze_the_wire(host: Host, lab: Lab) -> None:
    """Even one that blocks in a coroutine: the editor is answered, and a cancel ends the turn."""
    client = await host.start("blocks_in_a_coroutine")
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await client.until((lab.project / "blocked").exists, "the agent that blocks")
    listed = await client.request("session/list", {})
    assert [row["sessionId"] for row in listed["sessions"]] == [session]
    assert await turn.cancel() == "cancelled"
    (lab.project / "go").touch()
    (lab.project / "next").touch()
    assert (await client.prompt(session, "next")).text == "done"


async def test_a_blocking_function_that_is_cancelled_is_left_behind(host: Host, lab: Lab) -> None:
    client = await host.start("blocks")
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "never there")
    await turn.says("waiting")
    assert await turn.cancel() == "cancelled"
    assert turn.text == "waiting "
    await lab.assert_replay_equals_live(client, session)


async def test_a_budget_ends_the_turns_of_an_agent_that_counts(host: Host, lab: Lab) -> None:
    lab.configure("[budget]\nsession_tokens = 1200\n")
    client = await host.start("spends")
    session = await client.new(lab.project)
    assert (await client.prompt(session, "one")).text == "dear"
    with pytest.raises(RpcError, match="session_tokens"):
        await client.prompt(session, "two")


async def test_a_prompt_waits_for_the_one_before_it_and_steering_is_the_next_prompt(host: Host, lab: Lab) -> None:
    client = await host.start("blocks")
    session = await client.new(lab.project)
    one = await client.begin_prompt(session, "first")
    await one.says("waiting")
    two = await client.begin_prompt(session, "/steer second")
    (lab.project / "second").touch()
    (lab.project / "first").touch()
    assert [await one.done(), await two.done()] == ["end_turn", "end_turn"]
    assert two.text == "waiting done"


async def test_commands_that_need_a_model_say_why_not_and_the_others_work(host: Host, lab: Lab) -> None:
    client = await host.start("echo")
    result = await client.request("session/new", {"cwd": str(lab.project), "mcpServers": []})
    session = result["sessionId"]
    assert [option["id"] for option in result["configOptions"]] == ["mode"]
    await client.prompt(session, "hello")
    for command in ("/model", "/model openai:x", "/effort high", "/compact"):
        error = await client.error_of(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": command}]}
        )
        assert "own" in error.message, command
    assert "read_file" in (await client.prompt(session, "/tools")).text
    assert "hello" in (await client.prompt(session, "/search hello")).text
    told = (await client.prompt(session, "/doctor")).text
    assert "ripgrep" in told and "model" not in told
    assert (await client.prompt(session, "/retry")).text == "You said: hello"
    params = {"sessionId": session, "configId": "model", "value": "openai:x"}
    assert (await client.error_of("session/set_config_option", params)).code == -32602


async def test_a_session_of_the_built_in_agent_goes_on_with_an_own_one_and_back(host: Host, lab: Lab) -> None:
    from tests.stub_model import T

    lab.model.add(T("from the model"), T("back again"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "one")
    client = await host.restart(client, "tells_history")
    turn = await client.prompt(session, "two")
    assert turn.text == repr([("user", "one"), ("assistant", "from the model"), ("user", "two")])
    client = await lab.restart(client)
    assert (await client.prompt(session, "three")).text == "back again"
    assert lab.model.requests[-1].texts("assistant") == ["from the model", turn.text]


async def test_the_process_ends_although_an_agent_does_not(host: Host, lab: Lab) -> None:
    client = await host.start("blocks_in_a_coroutine")
    session = await client.new(lab.project)
    await client.begin_prompt(session, "never there")
    await client.until((lab.project / "blocked").exists, "the agent that blocks")
    client.eof()
    assert await client.ended(5) == 0
    await asyncio.sleep(0)
