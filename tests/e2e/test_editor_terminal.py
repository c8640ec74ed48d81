"""Commands run in the editor's terminal where it offers one, and end with their turn."""

from __future__ import annotations

import os

import pytest

from tests.clients import editor
from tests.clients.editor import Editor, capabilities
from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.turn import output
from tests.stub_model import SHELL, C, T

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")


def terminals() -> Editor:
    return Editor(offers=capabilities(terminal=True))


async def test_a_command_is_shown_as_a_terminal_and_its_output_reaches_the_model(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi; pwd; exit 3"}), T("done"))
    client = await lab.start(terminals())
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    shown = [
        u
        for u in turn.updates
        if any(c["type"] == "terminal" for c in u.get("content") or () if isinstance(c, dict) and "type" in c)
    ]
    assert shown, "the editor must be told which terminal belongs to the call"
    assert turn.call("c1")["status"] == "failed"
    (told,) = lab.model.requests[-1].texts("tool")
    assert "hi" in told and str(lab.project.resolve()) in told and "3" in told
    replay = await lab.start(terminals())
    again = [item for item in panel(await replay.load(session, lab.project)) if item.role == "call"]
    assert "hi" in output(again[0].fields), "the terminal is gone, its output is not"
    await lab.assert_replay_equals_live(client, session)


async def test_cancel_kills_and_releases_the_terminal(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 60"}))
    client = await lab.start(terminals())
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await client.until(lambda: client.received("terminal/wait_for_exit"), "the wait for the command")
    assert await turn.cancel() == "cancelled"
    assert all(terminal.released for terminal in client.editor.terminals.values())


async def test_two_commands_of_one_step_have_two_terminals(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo one"}) + C("c2", SHELL, {"command": "echo two"}), T("done"))
    client = await lab.start(terminals())
    turn = await client.prompt(await client.new(lab.project), "go")
    assert turn.stop_reason == "end_turn"
    assert len(client.editor.terminals) == 2
    assert sorted(text.split()[0] for text in lab.model.requests[-1].texts("tool")) == ["one", "two"]


async def test_a_command_runs_without_the_editor_where_that_has_no_terminal_left(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi"}), T("ok"))
    client = await lab.start(terminals())
    client.editor.overrides["terminal/create"] = editor.refuse(-32603, "no more terminals")
    turn = await client.prompt(await client.new(lab.project), "go")
    assert (turn.call("c1")["status"], output(turn.call("c1")).strip()) == ("completed", "hi")


@pytest.mark.parametrize("method", ["terminal/wait_for_exit", "terminal/output"])
async def test_an_editor_that_refuses_fails_the_call_and_the_turn_goes_on(lab: Lab, method: str) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi"}), T("pity"))
    client = await lab.start(terminals())
    client.editor.overrides[method] = editor.refuse(-32603, "no more terminals")
    turn = await client.prompt(await client.new(lab.project), "go")
    assert (turn.stop_reason, turn.text, turn.call("c1")["status"]) == ("end_turn", "pity", "failed")


async def test_the_terminal_gets_no_key_of_the_model(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "env"}), T("done"))
    client = await lab.start(terminals())
    await client.prompt(await client.new(lab.project), "go")
    (created,) = client.received("terminal/create")
    environment = {entry["name"]: entry["value"] for entry in created.data["params"].get("env", [])}
    assert environment.get("OPENAI_API_KEY", "") == ""
