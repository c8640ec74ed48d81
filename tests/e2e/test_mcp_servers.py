"""MCP servers of a session: named by the client or by config.toml, their tools asked for like commands."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.clients import editor
from tests.clients.editor import Editor
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import C, T

KINDS = str(Path(__file__).parents[1] / "mcp" / "kinds_server.py")

Json = dict[str, Any]


def kinds(name: str = "kinds", **env: str) -> Json:
    pairs = [{"name": key, "value": value} for key, value in env.items()]
    return {"name": name, "command": sys.executable, "args": [KINDS], "env": pairs}


def offered(lab: Lab) -> set[str]:
    """The MCP tools that the last request told the model of."""
    tools = lab.model.requests[-1].body.get("tools", ())
    return {tool["function"]["name"] for tool in tools if "__" in tool["function"]["name"]}


async def test_its_tools_are_called_with_permission_and_every_kind_of_content_is_kept(lab: Lab) -> None:
    lab.model.add(C("c1", "kinds__every_kind", {}), C("c2", "kinds__variable", {"name": "X"}), T("seen"), T("again"))
    client = await lab.start(Editor(permission=editor.choose("allow_once")))
    session = await client.new(lab.project, mcpServers=[kinds(X="1")])
    await ready(client, session, "kinds")
    turn = await client.prompt(session, "look")
    assert (turn.stop_reason, turn.text) == ("end_turn", "seen")
    assert len(client.received("session/request_permission")) == 2
    shown = [block["content"]["type"] for block in turn.call("c1")["content"]]
    assert shown == ["text", "image", "audio", "resource_link", "resource", "resource"]
    told = lab.model.requests[-1].texts("tool")
    assert "plain words" in told[0] and told[1] == "1"
    client = await lab.restart(client)
    await client.load(session, lab.project)
    assert (await client.prompt(session, "and now?")).text == "again"
    assert offered(lab) == set(), "a load without servers has none"


async def test_servers_that_hang_or_are_not_there_hold_nothing_back_and_are_told(lab: Lab) -> None:
    lab.model.add(C("c1", "ok__adds", {"a": 1, "b": 2}), T("three"))
    client = await lab.start(Editor(permission=editor.choose("allow_once")))
    servers = [
        kinds("ok"),
        {"name": "slow", "command": "sleep", "args": ["100"], "env": []},
        {"name": "bad", "command": "/nonexistent", "args": [], "env": []},
        {"type": "http", "name": "h", "url": "http://127.0.0.1:9/mcp", "headers": []},
    ]
    session = await client.new(lab.project, mcpServers=servers)
    await ready(client, session, "ok")
    turn = await client.prompt(session, "add")
    assert turn.text.endswith("three")
    assert lab.model.requests[-1].texts("tool") == ["3"]
    listed = (await client.prompt(session, "/mcp")).text
    assert "`ok`" in listed and "adds" in listed
    for name in ("bad", "h"):
        (line,) = [line for line in listed.splitlines() if f"`{name}`" in line]
        assert "failed" in line
        assert f"'{name}'" in notices(client, session)
    other = await client.new(lab.project)
    lab.model.add(T("alone"))
    await client.prompt(other, "hi")
    assert offered(lab) == set(), "each session has its own servers"


async def test_a_load_brings_its_own_list(lab: Lab) -> None:
    lab.model.add(T("one"), T("two"))
    client = await lab.start()
    session = await client.new(lab.project, mcpServers=[kinds("first")])
    await ready(client, session, "first")
    await client.prompt(session, "hi")
    assert {name.partition("__")[0] for name in offered(lab)} == {"first"}
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": [kinds("second")]}
    await client.request("session/load", params)
    await ready(client, session, "second")
    await client.prompt(session, "hi")
    assert {name.partition("__")[0] for name in offered(lab)} == {"second"}


async def test_a_server_that_dies_in_a_call_fails_the_call_and_can_be_started_again(lab: Lab) -> None:
    lab.model.add(
        C("c1", "kinds__dies", {}), T("it died"), T("without"), C("c2", "kinds__adds", {"a": 1, "b": 1}), T("2")
    )
    client = await lab.start(Editor(permission=editor.choose("allow_once")))
    session = await client.new(lab.project, mcpServers=[kinds()])
    await ready(client, session, "kinds")
    turn = await client.prompt(session, "go")
    assert (turn.text, turn.call("c1")["status"]) == ("it died", "failed")
    await client.prompt(session, "and now?")
    assert offered(lab) == set()
    await client.prompt(session, "/mcp restart kinds")
    await ready(client, session, "kinds")
    turn = await client.prompt(session, "again")
    assert turn.call("c2")["status"] == "completed"


async def test_a_cancel_in_a_call_answers_at_once_and_the_session_goes_on(lab: Lab) -> None:
    lab.model.add(C("c1", "kinds__hangs", {}), T("here"))
    client = await lab.start(Editor(permission=editor.choose("allow_once")))
    session = await client.new(lab.project, mcpServers=[kinds()])
    await ready(client, session, "kinds")
    turn = await client.begin_prompt(session, "go")
    await client.until(lambda: any(call.fields.get("status") == "in_progress" for call in turn.calls), "the call", 20)
    assert await turn.cancel() == "cancelled"
    assert (await client.prompt(session, "next")).text == "here"


async def test_a_load_with_other_servers_fails_the_call_that_runs_and_the_turn_goes_on(lab: Lab) -> None:
    lab.model.add(C("c1", "kinds__hangs", {}), T("after"))
    client = await lab.start(Editor(permission=editor.choose("allow_once")))
    session = await client.new(lab.project, mcpServers=[kinds()])
    await ready(client, session, "kinds")
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("in_progress")
    await client.load(session, lab.project)
    assert await turn.done() == "end_turn"
    assert turn.call("c1")["status"] == "failed"


async def test_a_server_of_config_toml_is_there_in_every_session_and_rules_hold_for_its_tools(lab: Lab) -> None:
    table = {"command": sys.executable, "args": [KINDS]}
    lab.configure(
        f"[mcp_servers.kinds]\ncommand = {json.dumps(table['command'])}\nargs = {json.dumps(table['args'])}\n"
    )
    rules = lab.home / "permissions" / "everywhere.toml"
    rules.parent.mkdir(mode=0o700)
    rules.write_text('[[allow]]\ntool = "kinds__adds"\n', "utf-8")
    rules.chmod(0o600)
    lab.model.add(C("c1", "kinds__adds", {"a": 2, "b": 2}), T("four"))
    client = await lab.start()
    session = await client.new(lab.project)
    await ready(client, session, "kinds")
    turn = await client.prompt(session, "add")
    assert (turn.text, turn.call("c1")["status"]) == ("four", "completed")
    assert not client.received("session/request_permission")


async def test_a_broken_table_is_told_and_the_rest_holds(lab: Lab) -> None:
    lab.configure('[mcp_servers.odd]\nargs = ["x"]\n')
    lab.model.add(T("hello"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.until(lambda: len(client.updates(session)) > 0, "the commands", 10)
    await client.prompt(session, "hi")
    assert "mcp_servers.odd" in notices(client, session)


async def test_plan_mode_runs_none_of_them(lab: Lab) -> None:
    lab.model.add(C("c1", "kinds__adds", {"a": 2, "b": 2}), T("no"))
    client = await lab.start()
    session = await client.new(lab.project, mcpServers=[kinds()])
    await ready(client, session, "kinds")
    await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
    assert (await client.prompt(session, "add")).call("c1")["status"] == "failed"


async def test_a_cancel_while_servers_start_keeps_the_prompt(lab: Lab) -> None:
    lab.model.add(T("both seen"))
    client = await lab.start()
    slow = {"name": "slow", "command": "sleep", "args": ["100"], "env": []}
    session = await client.new(lab.project, mcpServers=[slow])
    turn = await client.begin_prompt(session, "the first")
    assert await turn.cancel() == "cancelled"
    await client.prompt(session, "the second")
    assert lab.model.requests[-1].texts("user") == ["the first", "the second"]


async def ready(client: RawClient, session: str, name: str) -> None:
    """Wait until that server is there, however busy the machine is; a turn would go on without it."""
    async with asyncio.timeout(60):
        while f"`{name}` ({sys.executable}): 7 tools" not in (await client.prompt(session, "/mcp")).text:
            pass


def notices(client: RawClient, session: str) -> str:
    return json.dumps([u for u in client.updates(session) if u["sessionUpdate"] == "agent_message_chunk"])
