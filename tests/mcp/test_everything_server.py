"""The reference server of the protocol's authors, over each transport: what it offers, and how it is lost and found."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from acp_adapter.errors import ToolError
from acp_adapter.tools.mcp.servers import McpServer
from acp_adapter.tools.mcp.session_servers import SessionServers
from acp_adapter.tools.port import ReadMemory, ToolContext
from tests.mcp.conftest import Serve, everything_argv
from tests.mcp.test_session_servers import BOUND, call, ready

LONG = {"duration": 600, "steps": 600}
CONTEXT = ToolContext("c1", Path("/"), (), None, ReadMemory(), lambda shown: None, lambda plan: None)


def stdio() -> McpServer:
    node, *args = everything_argv()
    return McpServer("web", "stdio", node, tuple(args))


async def server_over(transport: Any, everything: Serve) -> McpServer:
    return stdio() if transport == "stdio" else (await everything(transport)).server


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_its_tools_work_over(transport: Any, session: SessionServers, everything: Serve) -> None:
    await ready(session, await server_over(transport, everything))
    assert (await call(session, "web__echo", message="grüß dich")).text == "Echo: grüß dich"
    assert "5" in (await call(session, "web__get-sum", a=2, b=3)).text
    image = await call(session, "web__get-tiny-image")
    assert [each["content"]["type"] for each in image.shown].count("image") == 1
    assert "[image: image/png" in image.text
    weather = await call(session, "web__get-structured-content", location="New York")
    assert weather.raw_output.keys() == {"temperature", "conditions", "humidity"}
    links = await call(session, "web__get-resource-links", count=3)
    assert [each["content"]["type"] for each in links.shown].count("resource_link") == 3
    wrong = await call(session, "web__get-sum", a="two", b=3)
    assert wrong.failed and "a" in wrong.text


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_a_cancel_in_mid_call_leaves_it_usable_over(
    transport: Any, session: SessionServers, everything: Serve
) -> None:
    await ready(session, await server_over(transport, everything))
    long = asyncio.create_task(call(session, "web__trigger-long-running-operation", **LONG))
    assert (await call(session, "web__echo", message="meanwhile")).text == "Echo: meanwhile"
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    assert (await call(session, "web__echo", message="afterwards")).text == "Echo: afterwards"


async def test_its_death_in_mid_call_fails_the_call_and_a_restart_brings_it_back(session: SessionServers) -> None:
    await ready(session, stdio())
    long = asyncio.create_task(call(session, "web__trigger-long-running-operation", **LONG))
    assert (await call(session, "web__echo", message="it runs")).text == "Echo: it runs"
    end_children()
    with pytest.raises(ToolError, match="is gone"):
        await asyncio.wait_for(long, BOUND)
    assert session.tools() == {}
    await session.restart("web")
    await session._connections["web"].waited_for(BOUND)
    assert (await call(session, "web__echo", message="again")).text == "Echo: again"


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_that_goes_in_mid_call_fails_the_call_over(
    transport: Any, session: SessionServers, everything: Serve
) -> None:
    served = await everything(transport)
    await ready(session, served.server)
    long = asyncio.create_task(call(session, "web__trigger-long-running-operation", **LONG))
    assert (await call(session, "web__echo", message="it runs")).text == "Echo: it runs"
    await served.kill()
    with pytest.raises(ToolError):
        await asyncio.wait_for(long, BOUND)
    assert session.tools() == {}
    assert any("'web'" in told for told in session.news())


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_server_that_went_while_nobody_called_it_fails_the_next_call_over(
    transport: Any, session: SessionServers, everything: Serve
) -> None:
    served = await everything(transport)
    await ready(session, served.server)
    tool = session.tools()["web__echo"]
    await served.kill()
    with pytest.raises(ToolError, match="'web'"):
        await asyncio.wait_for(tool.run({"message": "gone"}, CONTEXT), BOUND)


async def test_a_child_that_went_while_nobody_called_it_fails_the_next_call(session: SessionServers) -> None:
    await ready(session, stdio())
    tool = session.tools()["web__echo"]
    end_children()
    with pytest.raises(ToolError, match="'web'"):
        await asyncio.wait_for(tool.run({"message": "gone"}, CONTEXT), BOUND)
    assert session.tools() == {}


def end_children() -> None:
    for child in psutil.Process().children():
        if "server-everything" in " ".join(child.cmdline()):
            os.kill(child.pid, signal.SIGKILL)
