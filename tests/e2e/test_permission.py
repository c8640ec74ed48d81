"""Who may run what: the request says enough, only a valid yes counts, and every answer finds its own session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.clients import editor
from tests.clients.editor import Editor
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import READ, SHELL, WRITE, C, Step, T


def touching(name: str) -> Step:
    return C("c1", SHELL, {"command": f"touch ran-{name}"})


async def test_each_answer_finds_its_own_session(lab: Lab) -> None:
    lab.model.add(touching("A").when("A"), touching("B").when("B"))
    lab.model.add(T("not A").when("A"), T("yes B").when("B"))
    client = await lab.start()
    a, b = await client.new(lab.project), await client.new(lab.project)
    client.editor.permission = editor.by_session({a: editor.reject, b: editor.allow})
    one, two = await client.begin_prompt(a, "A"), await client.begin_prompt(b, "B")
    assert await one.done() == await two.done() == "end_turn"
    assert (one.text, two.text) == ("not A", "yes B")
    assert sorted(path.name for path in lab.project.iterdir()) == ["ran-B"]


async def test_the_request_tells_what_a_person_must_know(lab: Lab) -> None:
    lab.model.add(touching("x"), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    (asked,) = await turn.permission_asked()
    call = asked["toolCall"]
    assert "touch ran-x" in call["title"]
    assert (call["kind"], call["rawInput"]) == ("execute", {"command": "touch ran-x"})
    kinds = [option["kind"] for option in asked["options"]]
    assert {"allow_once", "allow_always", "reject_once"} <= set(kinds)
    assert all(option["name"].strip() for option in asked["options"])


async def test_an_edit_is_shown_as_a_diff_before_it_is_allowed(lab: Lab) -> None:
    lab.model.add(C("c1", WRITE, {"path": "new.txt", "content": "hello\n"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    (asked,) = await turn.permission_asked()
    diffs = [shown for shown in asked["toolCall"]["content"] if shown["type"] == "diff"]
    assert [(diff["path"], diff["newText"]) for diff in diffs] == [(str(lab.project / "new.txt"), "hello\n")]
    assert asked["toolCall"]["locations"][0]["path"] == str(lab.project / "new.txt")


NOT_A_YES: dict[str, editor.Policy] = {
    "rejected": editor.reject,
    "dismissed": editor.dismiss,
    "an option that was never offered": editor.answer(editor.selected("sudo")),
    "no such method": editor.refuse(-32601),
    "an internal error": editor.refuse(-32603),
    "null": editor.answer(None),
    "an empty object": editor.answer({}),
    "nonsense": editor.answer({"outcome": {"outcome": "allow"}}),
    "a yes in words": editor.answer("allow_once"),
    "a list": editor.answer([{"outcome": "selected"}]),
    "an option id that is a number": editor.answer({"outcome": {"outcome": "selected", "optionId": 1}}),
}


async def test_anything_but_a_valid_yes_means_no_and_the_turn_goes_on(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for name, policy in NOT_A_YES.items():
        client.editor.permission = policy
        lab.model.add(touching("it"), T("then not"))
        turn = await client.prompt(session, "go")
        assert (turn.stop_reason, turn.text) == ("end_turn", "then not"), name
        assert [call.fields["status"] for call in turn.calls] == ["failed"], name
        assert not (lab.project / "ran-it").exists(), name
        assert "not" in lab.model.requests[-1].texts("tool")[-1], "the model must be told that it did not run"
    await lab.assert_replay_equals_live(client, session)


async def test_a_late_yes_is_honoured(lab: Lab) -> None:
    await late_yes(lab, 1.5)


@pytest.mark.heavy
async def test_a_yes_after_lunch_is_honoured(lab: Lab) -> None:
    await late_yes(lab, 70)


async def late_yes(lab: Lab, delay: float) -> None:
    async def late(params: dict[str, Any]) -> Any:
        await asyncio.sleep(delay)
        return await editor.allow(params)

    lab.model.add(touching("late"), T("done"))
    client = await lab.start(Editor(permission=late))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go", timeout=delay + 20)
    assert turn.call("c1")["status"] == "completed"
    assert (lab.project / "ran-late").exists()


async def test_a_yes_after_the_cancel_comes_too_late(lab: Lab) -> None:
    lab.model.add(touching("zombie"), T("next"))
    client = await lab.start(Editor(permission=editor.never))
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    (asked,) = await turn.permission_asked()
    assert await turn.cancel() == "cancelled"
    request = client.received("session/request_permission")[0].data["id"]
    option = next(option["optionId"] for option in asked["options"] if option["kind"] == "allow_once")
    await client.send({"jsonrpc": "2.0", "id": request, "result": editor.selected(option)})
    assert (await client.prompt(session, "again")).text == "next"
    assert not (lab.project / "ran-zombie").exists()


async def asked_how_often(client: RawClient, lab: Lab, session: str, *steps: Step) -> int:
    """Run one turn with these steps; how often permission was asked in it."""
    before = len(client.received("session/request_permission"))
    lab.model.add(*steps, T("done"))
    await client.prompt(session, "go")
    return len(client.received("session/request_permission")) - before


async def test_always_is_kept_for_the_project_over_restarts_in_a_file_a_person_can_read(lab: Lab) -> None:
    command = C("c1", SHELL, {"command": "echo hello"})
    client = await lab.start(Editor(permission=editor.allow_always))
    session = await client.new(lab.project)
    assert await asked_how_often(client, lab, session, command) == 1
    assert await asked_how_often(client, lab, session, command) == 0
    client = await lab.restart(client)
    assert await asked_how_often(client, lab, await client.new(lab.project), command) == 0
    elsewhere = lab.folder / "elsewhere"
    elsewhere.mkdir()
    assert await asked_how_often(client, lab, await client.new(elsewhere), command) == 1
    files = [path for path in (lab.home / "permissions").rglob("*") if path.is_file()]
    assert any("echo" in path.read_text("utf-8") for path in files)


async def test_always_for_one_command_is_not_always_for_another(lab: Lab) -> None:
    client = await lab.start(Editor(permission=editor.allow_always))
    session = await client.new(lab.project)
    assert await asked_how_often(client, lab, session, C("c1", SHELL, {"command": "echo hello"})) == 1
    for other in ("rm -rf x", "echo hello; rm -rf x", "echo $(rm -rf x)", "echo hello > x", "echo hello\nrm x"):
        client.editor.permission = editor.reject
        assert await asked_how_often(client, lab, session, C("c1", SHELL, {"command": other})) == 1, other


async def test_reading_inside_the_folder_runs_and_outside_it_asks(lab: Lab) -> None:
    (lab.project / "in.txt").write_text("in")
    (lab.folder / "out.txt").write_text("out")
    (lab.project / "link.txt").symlink_to(lab.folder / "out.txt")
    client = await lab.start()
    session = await client.new(lab.project)
    assert await asked_how_often(client, lab, session, C("c1", READ, {"path": "in.txt"})) == 0
    for path in ("../out.txt", str(lab.folder / "out.txt"), "link.txt", "sub/../../out.txt"):
        assert await asked_how_often(client, lab, session, C("c1", READ, {"path": path})) == 1, path


async def test_additional_directories_are_inside(lab: Lab) -> None:
    more = lab.folder / "more"
    more.mkdir()
    (more / "m.txt").write_text("m")
    client = await lab.start()
    session = await client.new(lab.project, additionalDirectories=[str(more)])
    assert await asked_how_often(client, lab, session, C("c1", READ, {"path": str(more / "m.txt")})) == 0


async def test_parallel_calls_are_asked_for_each_and_answered_each(lab: Lab) -> None:
    calls = C("c1", SHELL, {"command": "touch one"}) + C("c2", SHELL, {"command": "touch two"})
    lab.model.add(calls, T("done"))

    async def only_two(params: dict[str, Any]) -> Any:
        yes = "two" in params["toolCall"]["rawInput"]["command"]
        return await (editor.allow if yes else editor.reject)(params)

    client = await lab.start(Editor(permission=only_two))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert (turn.call("c1")["status"], turn.call("c2")["status"]) == ("failed", "completed")
    assert [path.name for path in lab.project.iterdir()] == ["two"]
