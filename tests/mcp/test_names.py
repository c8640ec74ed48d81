"""Names of MCP tools: what a server calls its tools never stands for another server's tool, or for a built-in one."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.tools.mcp.servers import McpServer
from acp_adapter.tools.mcp.session_servers import SessionServers
from acp_adapter.tools.mcp.tool import name_of, tools_of
from acp_adapter.tools.port import ReadMemory, ToolContext
from acp_adapter.tools.toolbox import builtin_tools
from tests.mcp import tricky_server
from tests.mcp.conftest import kinds
from tests.mcp.test_session_servers import call, ready

TRICKY = McpServer("tricky", "stdio", sys.executable, (str(Path(tricky_server.__file__)),))
names = st.text(alphabet="ab_-.é\u200b", max_size=6)


async def test_each_name_calls_the_tool_that_it_was_made_for(session: SessionServers) -> None:
    await ready(session, TRICKY)
    tools = session.tools()
    assert len(tools) == len(tricky_server.NAMES) + 1, "the second `adds` has no name of its own, `huge` has"
    assert not set(tools) & set(builtin_tools())
    for name in tools:
        assert re.fullmatch(r"tricky__[A-Za-z0-9_-]{1,56}", name)
    for own in tricky_server.NAMES:
        assert (await call(session, name_of("tricky", own))).text == repr(own)


async def test_what_a_server_says_of_its_tools_is_told_as_a_person_would_see_it(session: SessionServers) -> None:
    await ready(session, TRICKY)
    for name, tool in session.tools().items():
        told = tool.description + json.dumps(tool.parameters, ensure_ascii=False)
        assert not [sign for sign in told if unicodedata.category(sign) in ("Cf", "Cc", "Co")], name
        assert len(told) < 5_000, name
    assert session.tools()["tricky__huge"].parameters == {"type": "object"}


async def test_who_is_asked_sees_the_tool_s_own_name_beside_what_it_claims_to_be(session: SessionServers) -> None:
    await ready(session, TRICKY)
    context = ToolContext("c1", Path("/"), (), None, ReadMemory(), lambda shown: None, lambda plan: None)
    for own in tricky_server.NAMES[:-3]:
        intent = await session.tools()[name_of("tricky", own)].intent({}, context)
        assert intent.action == "execute", "it asks as a command does, whatever it claims"
        assert intent.title.isprintable()
        seen = own.replace("\u200b", "\\u200b").replace("\u202e", "\\u202e").replace("\n", "\\n")
        assert intent.title.startswith(f"tricky: {seen}"[:100]), own


async def test_no_server_s_tools_depend_on_which_others_are_there(session: SessionServers) -> None:
    servers = [kinds("run"), kinds("ру"), kinds("сс"), kinds("x" * 80)]
    await ready(session, *servers)
    together = set(session.tools())
    assert len(together) == 4 * 7
    assert list(session.tools()) == list(tools_of(reversed(session._connections.values())))
    await ready(session, servers[2])
    assert set(session.tools()) < together


@given(names, names, names, names)
def test_two_tools_never_share_a_name(server: str, tool: str, other: str, another: str) -> None:
    same = (server, tool) == (other, another)
    assert (name_of(server, tool) == name_of(other, another)) is same


@pytest.mark.parametrize("server", ["git_", "git__git", "_git", "git ", "g\u200bit", "gіt", "GIT", "git.", ""])
def test_a_rule_for_all_tools_of_a_server_covers_no_other_server(server: str) -> None:
    assert name_of("git", "_x") == "git___x"
    assert not name_of(server, "git_status").startswith("git__")
