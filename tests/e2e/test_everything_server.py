"""The reference MCP server in sessions of the real agent: from `session/new` over death and cancel to the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

import psutil

from tests.clients import editor
from tests.clients.editor import Editor
from tests.clients.lab import KEY, Lab
from tests.clients.raw import RawClient
from tests.clients.turn import Turn
from tests.mcp.conftest import Serve, everything, everything_argv
from tests.stub_model import C, T

__all__ = ["everything"]

Json = dict[str, Any]
LONG = C("long", "all__trigger-long-running-operation", {"duration": 600, "steps": 600})
SLEEPER = {"name": "slow", "command": "sleep", "args": ["100"]}
BAD = {"name": "bad", "command": "/nonexistent", "args": []}
NOBODY = {"type": "http", "name": "h", "url": "http://127.0.0.1:9/mcp", "headers": []}


def stdio(lab: Lab, **server: Any) -> Json:
    """A server over stdio that the lab finds, should it be left over."""
    env = [{"name": "X", "value": "1"}, {"name": "LAB", "value": lab.marker}]
    return {**server, "env": env}


def reference(lab: Lab, name: str = "all") -> Json:
    program, *args = everything_argv()
    return stdio(lab, name=name, command=program, args=args)


async def begun(lab: Lab, *servers: Json, name: str = "all") -> tuple[RawClient, str]:
    """An agent that allows every call, and a session of it in which that server is ready."""
    client = await lab.start(Editor(permission=editor.allow))
    session = await client.new(lab.project, mcpServers=list(servers))
    await ready(client, session, name)
    return client, session


async def ready(client: RawClient, session: str, name: str) -> None:
    async with asyncio.timeout(60):
        while not any(
            f"`{name}`" in line and " tools: " in line
            for line in (await client.prompt(session, "/mcp")).text.splitlines()
        ):
            pass


def children(client: RawClient) -> list[psutil.Process]:
    """The MCP servers that the agent has started and that live."""
    found = []
    for child in psutil.Process(client.process.pid).children(recursive=True):
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if words[:1] == ["sleep"] or any("server-everything" in word for word in words):
            found.append(child)
    return found


def offered(lab: Lab) -> set[str]:
    """The servers whose tools the last request told the model of."""
    tools = (tool["function"]["name"] for tool in lab.model.requests[-1].body.get("tools", ()))
    return {name.partition("__")[0] for name in tools if "__" in name}


async def in_long_call(client: RawClient, lab: Lab, session: str) -> Turn:
    lab.model.add(LONG)
    turn = await client.begin_prompt(session, "take long")
    await turn.call_is("in_progress")
    return turn


async def test_one_good_server_among_bad_ones_is_all_there_is(lab: Lab) -> None:
    lab.model.add(
        C("c1", "all__get-tiny-image", {})
        + C("c2", "all__get-resource-links", {"count": 2})
        + C("c3", "all__get-env", {}),
        T("seen"),
        T("alone"),
    )
    client, session = await begun(lab, reference(lab), stdio(lab, **SLEEPER), stdio(lab, **BAD), NOBODY)
    turn = await client.prompt(session, "look")
    assert turn.text.endswith("seen") and offered(lab) == {"all"}
    kinds = [[block["content"]["type"] for block in turn.call(f"c{n}")["content"]] for n in (1, 2)]
    assert "image" in kinds[0] and kinds[1].count("resource_link") == 2
    child = json.loads(lab.model.requests[-1].texts("tool")[2])
    assert child["X"] == "1" and {"PATH", "HOME"} <= child.keys() and KEY not in child.values()
    capable = client.initialized["agentCapabilities"]["mcpCapabilities"]
    assert (capable["http"], capable["sse"]) == (True, True)
    told = json.dumps(client.live[session])
    assert all(f"'{name}'" in told for name in ("slow", "bad", "h"))
    other = await client.new(lab.project)
    assert (await client.prompt(other, "hi")).text == "alone" and offered(lab) == set()


async def test_death_in_mid_call_fails_the_call_the_turn_goes_on_and_mcp_brings_it_back(lab: Lab) -> None:
    client, session = await begun(lab, reference(lab))
    lab.model.add(LONG, T("it died"), C("c2", "all__echo", {"message": "here"}), T("back"))
    turn = await client.begin_prompt(session, "take long")
    await turn.call_is("in_progress")
    for child in children(client):
        os.kill(child.pid, signal.SIGKILL)
    assert await turn.done() == "end_turn"
    assert (turn.call("long")["status"], turn.text) == ("failed", "it died")
    assert "is gone" in lab.model.requests[-1].texts("tool")[-1]
    await client.prompt(session, "/mcp restart all")
    await ready(client, session, "all")
    again = await client.prompt(session, "again")
    assert (again.text, again.call("c2")["status"]) == ("back", "completed")


async def test_a_cancel_in_mid_call_leaves_the_server_to_the_next_turn(lab: Lab) -> None:
    client, session = await begun(lab, reference(lab))
    turn = await in_long_call(client, lab, session)
    (child,) = children(client)
    assert await turn.cancel() == "cancelled"
    lab.model.add(C("c2", "all__echo", {"message": "here"}), T("here"))
    again = await client.prompt(session, "again")
    assert (again.text, again.call("c2")["status"]) == ("here", "completed")
    assert children(client) == [child], "it is the same process"


async def test_a_load_with_another_list_ends_what_is_gone_even_in_mid_call(lab: Lab) -> None:
    client, session = await begun(lab, reference(lab))
    (child,) = children(client)
    turn = await in_long_call(client, lab, session)
    lab.model.add(T("went on"), T("another"))
    await client.load(session, lab.project, mcpServers=[reference(lab, "other")])
    assert await turn.done() == "end_turn"
    assert (turn.call("long")["status"], turn.text) == ("failed", "went on")
    await ready(client, session, "other")
    await client.prompt(session, "and now?")
    assert offered(lab) == {"other"}
    assert await asyncio.to_thread(gone, [child])


async def test_a_closed_session_takes_its_servers_with_it_even_in_mid_call(lab: Lab) -> None:
    client, session = await begun(lab, reference(lab), stdio(lab, **SLEEPER))
    turn = await in_long_call(client, lab, session)
    mine = children(client)
    assert len(mine) == 2
    await client.request("session/close", {"sessionId": session})
    assert await turn.done() == "cancelled"
    assert await asyncio.to_thread(gone, mine)


async def test_the_end_of_the_input_ends_all_servers_in_time_even_in_mid_call(lab: Lab) -> None:
    client, session = await begun(lab, reference(lab), stdio(lab, **SLEEPER))
    await in_long_call(client, lab, session)
    mine = children(client)
    client.eof()
    assert await client.ended() == 0
    assert await asyncio.to_thread(gone, mine)


async def test_a_killed_agent_leaves_no_server(lab: Lab) -> None:
    client, _ = await begun(lab, reference(lab), stdio(lab, **SLEEPER))
    mine = children(client)
    assert len(mine) == 2
    await client.kill()
    assert await asyncio.to_thread(gone, mine)


async def test_servers_over_http_are_used_beside_one_another_and_one_that_goes_is_a_failed_call(
    lab: Lab, everything: Serve
) -> None:
    over = {kind: await everything(kind) for kind in ("http", "sse")}
    servers = [{"type": kind, "name": kind, "url": at.server.url, "headers": []} for kind, at in over.items()]
    client, session = await begun(lab, *servers, name="http")
    await ready(client, session, "sse")
    lab.model.add(
        C("c1", "http__get-sum", {"a": 1, "b": 2}) + C("c2", "sse__get-sum", {"a": 3, "b": 4}),
        T("both"),
    )
    turn = await client.prompt(session, "add")
    assert [turn.call(f"c{n}")["status"] for n in (1, 2)] == ["completed", "completed"]
    sums = lab.model.requests[-1].texts("tool")
    assert "3" in sums[0] and "7" in sums[1]
    await over["sse"].kill()
    lab.model.add(C("c3", "http__echo", {"message": "x"}) + C("c4", "sse__echo", {"message": "x"}), T("one"))
    turn = await client.prompt(session, "again")
    assert [turn.call(f"c{n}")["status"] for n in (3, 4)] == ["completed", "failed"]
    assert turn.text.endswith("one")


def gone(processes: list[psutil.Process]) -> bool:
    """Whether they all end soon. Who ended may not have been waited for yet."""
    _, left = psutil.wait_procs(processes, timeout=10)
    return all(process.status() == psutil.STATUS_ZOMBIE for process in left)
