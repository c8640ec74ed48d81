"""The agent dies or the editor quits; the session is there again, for the person and for the model."""

from __future__ import annotations

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.turn import output
from tests.stub_model import SHELL, C, R, T


async def test_a_killed_session_is_shown_again_and_the_model_goes_on_where_it_was(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi"}), T("done zebra-42"), T("second"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "first question")
    client = await lab.restart(client)
    user, call, answer = panel(await client.load(session, lab.project))
    assert (user.role, user.text) == ("user", "first question")
    assert (call.role, call.fields["status"], output(call.fields).strip()) == ("call", "completed", "hi")
    assert (answer.role, answer.text) == ("answer", "done zebra-42")

    turn = await client.prompt(session, "what was it")
    assert (turn.stop_reason, turn.text) == ("end_turn", "second")
    last = lab.model.requests[-1]
    assert last.texts("user") == ["first question", "what was it"]
    assert last.texts("assistant") == ["", "done zebra-42"]
    assert [text.strip() for text in last.texts("tool")] == ["hi"]


async def test_load_tells_the_same_modes_and_options_as_new(lab: Lab) -> None:
    client = await lab.start()
    new = await client.request("session/new", {"cwd": str(lab.project), "mcpServers": []})
    session = new.pop("sessionId")
    client = await lab.restart(client)
    for method in ("session/load", "session/resume"):
        params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
        assert await client.request(method, params) == new
    assert new["modes"] and new["configOptions"]


async def test_a_prompt_to_an_id_that_only_the_ledger_knows_goes_on_with_its_history(lab: Lab) -> None:
    lab.model.add(T("blue"), T("I said blue"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "a colour")
    client = await lab.restart(client)
    turn = await client.prompt(session, "which?")
    assert turn.text == "I said blue"
    assert lab.model.requests[-1].texts("assistant") == ["blue"]


async def test_every_restart_shows_the_same_and_changes_nothing_in_the_ledger(lab: Lab) -> None:
    lab.model.add(R("let me see") + T("I look") + C("c1", SHELL, {"command": "exit 3"}), T("it failed"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "try")
    rows = lab.query("SELECT * FROM messages ORDER BY id")
    replays = []
    for _ in range(2):
        client = await lab.restart(client)
        replays.append(await client.load(session, lab.project))
    assert replays[0] == replays[1]
    assert lab.query("SELECT * FROM messages ORDER BY id") == rows


async def test_two_processes_go_on_with_one_session_in_turn(lab: Lab) -> None:
    """What the other process appended is part of the next prompt's history."""
    lab.model.add(T("one"), T("two"), T("three"))
    first, second = await lab.start(), await lab.start()
    session = await first.new(lab.project)
    await first.prompt(session, "a")
    await second.load(session, lab.project)
    await second.prompt(session, "b")
    await first.prompt(session, "c")
    assert lab.model.requests[-1].texts("assistant") == ["one", "two"]
    assert lab.model.requests[-1].texts("user") == ["a", "b", "c"]


async def test_a_session_whose_folder_is_gone_opens_in_another(lab: Lab) -> None:
    lab.model.add(T("ok"), C("c1", SHELL, {"command": "pwd"}), T("there"))
    client = await lab.start()
    old = lab.folder / "old"
    old.mkdir()
    session = await client.new(old)
    await client.prompt(session, "hi")
    old.rmdir()
    client = await lab.restart(client)
    await client.load(session, lab.project)
    turn = await client.prompt(session, "where are you?")
    assert output(turn.calls[0].fields).strip() == str(lab.project.resolve())
    listed = await client.request("session/list", {"cwd": str(lab.project)})
    assert session in [row["sessionId"] for row in listed["sessions"]]


async def test_a_turn_with_everything_replays_as_it_was_live(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("alpha\nbeta\n", "utf-8")
    lab.model.add(
        R("hmm, ", "files") + T("I will ", "look.") + C("c1", "read_file", {"path": "a.txt"}) + C("c2", "nonsense", {}),
        C("c3", "edit_file", {"path": "a.txt", "old_text": "beta", "new_text": "gamma"}),
        C("c4", "write_file", {"path": "b.txt", "content": "new\n"}) + C("c5", SHELL, {"command": "ls; exit 2"}),
        C("c6", "update_plan", {"entries": [{"content": "rest", "status": "in_progress", "priority": "high"}]}),
        C("c7", "list_directory", {"path": "."})
        + C("c8", "grep", {"pattern": "gamma"})
        + C("c9", "glob", {"pattern": "*"}),
        C("c10", "read_file", "not json"),
        R("so") + T("all done"),
    )
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "do all of it")
    assert turn.stop_reason == "end_turn" and turn.text.endswith("all done")
    assert (lab.project / "a.txt").read_text() == "alpha\ngamma\n"
    statuses = {call.fields["name"]: call.fields["status"] for call in turn.calls[:9]}
    assert {name for name, status in statuses.items() if status == "failed"} == {"nonsense", SHELL}
    await lab.assert_replay_equals_live(client, session)


async def test_a_reader_in_another_process_does_not_close_a_call_that_still_runs(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 2; echo hi"}), T("done"))
    lab.referee.allow("tool call 'c1' is still in_progress")  # in the other process it is
    first, second = await lab.start(), await lab.start()
    session = await first.new(lab.project)
    turn = await first.begin_prompt(session, "go")
    await turn.call_is("in_progress")
    await second.load(session, lab.project)
    error = await second.error_of(
        "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "me too"}]}
    )
    assert str(first.process.pid) in error.message, "the error names who holds the session"
    assert (await turn.done(), turn.text) == ("end_turn", "done")
    assert lab.query("SELECT content FROM messages WHERE role = 'tool'") == [("hi",)]
    lab.model.add(T("now you"))
    shown = await second.prompt(session, "me too")
    assert shown.text == "done" + "now you", "what the other process went on with is shown first"
    assert shown.call("c1")["status"] == "completed"
    assert output(shown.call("c1")).strip() == "hi"
