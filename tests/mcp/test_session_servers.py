"""MCP servers of a session, in real processes: what they offer, what they give back, how they fail and end."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.errors import InvalidParams, ToolError
from acp_adapter.tools import processes
from acp_adapter.tools.mcp import session_servers
from acp_adapter.tools.mcp.servers import McpServer, configured, merged
from acp_adapter.tools.mcp.session_servers import SessionServers
from acp_adapter.tools.port import ReadMemory, ToolContext, ToolResult
from tests.mcp.conftest import Serve, kinds

BOUND = 30.0
"""Seconds for a server to start, on a busy machine."""


async def ready(session: SessionServers, *servers: McpServer) -> None:
    await session.use(servers)
    await asyncio.gather(*(each.waited_for(BOUND) for each in session._connections.values()))


async def call(session: SessionServers, name: str, /, **arguments: Any) -> ToolResult:
    context = ToolContext("c1", Path("/"), (), None, ReadMemory(), lambda shown: None, lambda plan: None)
    return await session.tools()[name].run(arguments, context)


async def test_every_kind_of_content_is_shown_as_it_is_and_told_in_words(session: SessionServers) -> None:
    await ready(session, kinds())
    result = await call(session, "kinds__every_kind")
    assert [each["content"]["type"] for each in result.shown] == [
        *("text", "image", "audio", "resource_link", "resource", "resource")
    ]
    assert result.text == (
        "plain words\n"
        "[image: image/png, about 9 bytes, shown to the user]\n"
        "[audio: audio/wav, about 6 bytes, shown to the user]\n"
        "[link: a.py <file:///p/a.py>]\n"
        "file:///x.py:\nX=1\n"
        "[resource file:///x.bin: binary, about 3 bytes]"
    )


async def test_text_alone_is_shown_as_the_result_and_structure_is_kept(session: SessionServers) -> None:
    await ready(session, kinds())
    assert await call(session, "kinds__adds", a=1, b=2) == ToolResult("3", shown=[], raw_output={"result": 3})


async def test_a_tool_that_fails_says_so(session: SessionServers) -> None:
    await ready(session, kinds())
    result = await call(session, "kinds__fails")
    assert result.failed and "fails" in result.text


async def test_a_child_sees_path_home_and_what_is_named_and_no_secret(
    session: SessionServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    await ready(session, kinds(X="1"))
    assert (await call(session, "kinds__variable", name="X")).text == "1"
    assert (await call(session, "kinds__variable", name="PATH")).text == os.environ["PATH"]
    assert (await call(session, "kinds__variable", name="HOME")).text == os.environ["HOME"]
    assert (await call(session, "kinds__variable", name="OPENAI_API_KEY")).text == "(not set)"


async def test_bad_and_slow_servers_hold_nothing_back_and_are_told_of_once(
    session: SessionServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_servers, "PATIENCE", 0.2)
    slow = McpServer("slow", "stdio", sys.executable, ("-c", "import time; time.sleep(100)"))
    bad = McpServer("bad", "stdio", "/nonexistent/program")
    broken = McpServer("broken", "stdio", sys.executable, ("-c", "raise SystemExit('no token was given')"))
    nobody = McpServer("nobody", "http", url="http://127.0.0.1:9/mcp?key=secret")
    await session.use([slow, bad, broken, nobody])
    for name in ("bad", "broken", "nobody"):
        await session._connections[name].waited_for(BOUND)
    await session.settled()
    told = list(session.news())
    assert len(told) == 4
    assert "'slow' is still starting" in told[0]
    assert "'bad' (/nonexistent/program) can't be used: there is no program" in told[1]
    assert "no token was given" in told[2]
    assert "'nobody'" in told[3] and "secret" not in told[3]
    assert list(session.news()) == []
    assert session.tools() == {}


async def test_a_server_that_dies_in_mid_call_is_a_failed_call_and_can_be_restarted(session: SessionServers) -> None:
    await ready(session, kinds())
    with pytest.raises(ToolError, match="is gone: it ended in the middle of 'dies'"):
        await call(session, "kinds__dies")
    assert session.tools() == {}
    await session.restart("kinds")
    await session._connections["kinds"].waited_for(BOUND)
    assert (await call(session, "kinds__adds", a=2, b=2)).text == "4"
    with pytest.raises(InvalidParams, match="no MCP server 'other'; it has: kinds"):
        await session.restart("other")


async def test_a_cancelled_call_leaves_its_server_usable(session: SessionServers) -> None:
    await ready(session, kinds())
    hanging = asyncio.create_task(call(session, "kinds__hangs"))
    assert (await call(session, "kinds__adds", a=1, b=1)).text == "2"
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert (await call(session, "kinds__adds", a=1, b=3)).text == "4"


async def test_a_call_that_takes_too_long_is_ended(session: SessionServers) -> None:
    await ready(session, McpServer("kinds", "stdio", kinds().command, kinds().args, timeout=0.3))
    with pytest.raises(ToolError, match="'hangs'"):
        await call(session, "kinds__hangs")


async def test_tools_that_a_server_adds_are_there_afterwards(session: SessionServers) -> None:
    await ready(session, kinds())
    assert "kinds__grown" not in session.tools()
    await call(session, "kinds__grows")
    async with asyncio.timeout(BOUND):
        while "kinds__grown" not in session.tools():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_servers_over_http_are_used_like_others(session: SessionServers, served: Serve, transport: Any) -> None:
    await ready(session, (await served(transport)).server)
    assert (await call(session, "web__adds", a=20, b=22)).text == "42"


async def test_another_list_ends_what_is_gone_and_keeps_what_is_the_same(session: SessionServers) -> None:
    await ready(session, kinds("one"), kinds("two"))
    kept = session._connections["one"]
    await ready(session, kinds("one"), kinds("three"))
    assert session._connections["one"] is kept
    assert {name.partition("__")[0] for name in session.tools()} == {"one", "three"}


async def test_children_are_gone_when_the_session_ends_even_those_that_ignore_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    stubborn = (
        "import os, signal, time, pathlib;"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()));"
        "time.sleep(100)"
    )
    servers = SessionServers(tmp_path, processes.of("stubborn").mark)
    await servers.use([McpServer("stubborn", "stdio", sys.executable, ("-c", stubborn))])
    async with asyncio.timeout(BOUND):
        while not pid_file.exists() or not pid_file.read_text():
            await asyncio.sleep(0.01)
    await servers.aclose()
    await processes.end_all("stubborn")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_config_names_servers_and_says_what_is_wrong_with_a_table() -> None:
    servers, problems = configured(
        {
            "git": {"command": "mcp-server-git", "args": ["--repository", "."], "env": {"A": "b"}, "timeout": 5},
            "web": {"url": "https://mcp.example.com/mcp", "headers": {"X": "y"}},
            "old": {"url": "https://mcp.example.com/sse", "type": "sse"},
            "both": {"command": "x", "url": "https://mcp.example.com"},
            "none": {},
            "odd": {"command": "x", "args": "--all"},
        }
    )
    assert [(each.name, each.transport, each.timeout) for each in servers] == [
        ("git", "stdio", 5.0),
        ("web", "http", 600.0),
        ("old", "sse", 600.0),
    ]
    assert [problem.partition(" It is left out.")[0] for problem in problems] == [
        "config.toml: [mcp_servers.both] needs either a command or a url.",
        "config.toml: [mcp_servers.none] needs either a command or a url.",
        "config.toml: [mcp_servers.odd]: args must be a list of texts.",
    ]


def test_the_clients_server_goes_before_one_of_the_same_name_in_config() -> None:
    client = McpServer.of_client({"name": "git", "command": "a", "args": ["b"], "env": [{"name": "X", "value": "1"}]})
    assert merged([client], [McpServer("git", "stdio", "other"), McpServer("t", "stdio", "t")]) == [
        client,
        McpServer("t", "stdio", "t"),
    ]
    with pytest.raises(InvalidParams, match="transport 'carrier-pigeon'"):
        McpServer.of_client({"name": "x", "type": "carrier-pigeon"})
