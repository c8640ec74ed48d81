"""What a person does from the prompt of any editor: search, branch, undo, retry, title, mode, model, usage."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.stub_model import SHELL, C, T

SECRET = "ghp_" + "a1" * 18


async def test_every_command_is_advertised_and_help_lists_it(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    told = await _told(client, session, "available_commands_update")
    names = {command["name"] for command in told["availableCommands"]}
    assert names >= {"help", "mode", "model", "compact", "search", "sessions", "tree", "branch", "undo", "retry"}
    help_text = (await client.prompt(session, "/help")).text
    assert all(f"`/{name}" in help_text for name in names)


async def test_a_command_reaches_neither_the_model_nor_the_ledger(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "/sessions")
    assert not lab.model.requests
    assert lab.count("messages") == 0


async def test_a_slash_that_names_no_command_is_a_prompt(lab: Lab) -> None:
    lab.model.add(T("a path"))
    client = await lab.start()
    turn = await client.prompt(await client.new(lab.project), "/etc/hosts is what?")
    assert turn.text == "a path"
    assert lab.model.requests[-1].texts("user") == ["/etc/hosts is what?"]


async def test_search_finds_other_sessions_with_their_ids(lab: Lab) -> None:
    lab.model.add(T("the run is in gateway/run.py"))
    client = await lab.start()
    first = await client.new(lab.project)
    await client.prompt(first, "where is it?")
    second = await client.new(lab.project)
    found = (await client.prompt(second, "/search gateway/run.py")).text
    assert first in found
    assert "No session holds" in (await client.prompt(second, "/search foo-bar")).text


async def test_undo_takes_back_the_last_prompt_for_the_model_and_for_replay(lab: Lab) -> None:
    lab.model.add(T("one"), T("two"), T("three"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "first")
    await client.prompt(session, "second")
    assert "second" in (await client.prompt(session, "/undo")).text
    await client.prompt(session, "third")
    assert lab.model.requests[-1].texts("user") == ["first", "third"]
    assert lab.query("SELECT content FROM messages WHERE active = 0") == [("second",), ("two",)]
    client = await lab.restart(client)
    shown = str(await client.load(session, lab.project))
    assert "third" in shown and "second" not in shown


async def test_undo_of_an_empty_session_is_an_error_that_says_so(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    with pytest.raises(RpcError, match="no prompt to take back"):
        await client.prompt(session, "/undo")


async def test_retry_asks_again_without_the_old_answer(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo x"}), T("wrong"), T("right"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "do it")
    assert (await client.prompt(session, "/retry")).text == "right"
    last = lab.model.requests[-1]
    assert last.texts("user") == ["do it"]
    assert last.texts("assistant") == []


async def test_a_branch_goes_on_by_itself_and_the_tree_shows_it(lab: Lab) -> None:
    lab.model.add(T("one"), T("two"), T("in the branch"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "first")
    await client.prompt(session, "second")
    first_answer = lab.query("SELECT platform_message_id FROM messages WHERE content = 'one'")[0][0]
    said = (await client.prompt(session, f"/branch {first_answer}")).text
    branch = lab.query("SELECT id FROM sessions WHERE parent_session_id IS NOT NULL")[0][0]
    assert branch in said
    await client.load(branch, lab.project)
    await client.prompt(branch, "other way")
    assert lab.model.requests[-1].texts("user") == ["first", "other way"]
    tree = (await client.prompt(session, "/tree")).text
    assert "└─" in tree and branch[:8] in tree
    listed = {info["sessionId"]: info["_meta"] for info in await _listed(client)}
    assert listed[branch]["parentSessionId"] == session
    assert listed[branch]["forkPoint"] == first_answer
    assert listed[session]["branchCount"] == 1


async def test_a_title_is_kept_and_must_be_its_own(lab: Lab) -> None:
    client = await lab.start()
    one, two = await client.new(lab.project), await client.new(lab.project)
    await client.prompt(one, "/title The plan")
    with pytest.raises(RpcError, match="The plan"):
        await client.prompt(two, "/title The plan")
    client = await lab.restart(client)
    assert {info["sessionId"]: info.get("title") for info in await _listed(client)} == {one: "The plan", two: None}


async def test_mode_by_command_is_the_mode_of_the_panel(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "/mode plan")
    assert (await _told(client, session, "current_mode_update"))["currentModeId"] == "plan"
    with pytest.raises(RpcError) as refused:
        await client.prompt(session, "/mode nonsense")
    assert refused.value.code == -32602


async def test_usage_tells_what_was_spent(lab: Lab) -> None:
    lab.model.add(T("hello"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "hi")
    assert "model calls: 1" in (await client.prompt(session, "/usage")).text


async def _listed(client: RawClient) -> list[dict[str, Any]]:
    sessions: list[dict[str, Any]] = (await client.request("session/list", {}))["sessions"]
    return sessions


async def _told(client: RawClient, session: str, kind: str) -> dict[str, Any]:
    """The newest update of that kind, as soon as there is one."""
    found = await client.until(
        lambda: [each for each in client.updates(session) if each["sessionUpdate"] == kind], f"a {kind}"
    )
    return found[-1]


@pytest.mark.parametrize(("form", "ending"), [("", ".md"), ("markdown", ".md"), ("html", ".html"), ("json", ".json")])
async def test_export_writes_the_session_without_secrets_and_overwrites_nothing(
    lab: Lab, form: str, ending: str
) -> None:
    lab.model.add(T("hello there"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, f"my key is {SECRET}")
    for _ in range(2):
        await client.prompt(session, f"/export {form}")
    files = sorted(lab.project.glob(f"*{ending}"))
    assert len(files) == 2
    text = files[0].read_text("utf-8")
    assert "hello there" in text and SECRET not in text


async def test_export_stays_inside_the_folder_and_off_what_is_there(lab: Lab) -> None:
    (lab.project / "there.md").write_text("mine", "utf-8")
    client = await lab.start()
    session = await client.new(lab.project)
    for where, says in (("../out.md", "outside"), ("there.md", "already"), ("no/such/folder.md", "can't be written")):
        with pytest.raises(RpcError, match=says):
            await client.prompt(session, f"/export {where}")
    assert (lab.project / "there.md").read_text("utf-8") == "mine"
    assert not (lab.folder / "out.md").exists()


async def test_tools_says_what_asks_first_in_this_mode(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    told = (await client.prompt(session, "/tools")).text
    assert "`read_file` runs" in told and f"`{SHELL}` asks first" in told
    await client.prompt(session, "/mode plan")
    assert f"`{SHELL}` is refused" in (await client.prompt(session, "/tools")).text


async def test_doctor_checks_what_the_agent_needs(lab: Lab) -> None:
    client = await lab.start()
    told = (await client.prompt(await client.new(lab.project), "/doctor", timeout=60)).text
    assert "✔ **ledger**" in told and "stub-1" in told


async def test_a_command_with_an_attached_file_is_still_a_command(lab: Lab) -> None:
    client = await lab.start()
    link = {"type": "resource_link", "uri": (lab.project / "a.py").as_uri(), "name": "a.py"}
    turn = await client.prompt(await client.new(lab.project), [{"type": "text", "text": "/usage"}, link])
    assert "model calls: 0" in turn.text and not lab.model.requests
