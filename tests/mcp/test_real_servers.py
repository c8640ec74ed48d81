"""Servers that people use, as the registries have them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from acp_adapter.tools.mcp.servers import McpServer
from acp_adapter.tools.mcp.session_servers import SessionServers
from tests.mcp.test_session_servers import call, ready


async def test_the_git_server_tells_of_a_repository_and_commits_in_it(session: SessionServers, tmp_path: Path) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path)], check=True)
    for setting in ("user.name=nobody", "user.email=nobody@example.invalid"):
        await asyncio.to_thread(subprocess.run, ["git", "-C", str(tmp_path), "config", *setting.split("=")], check=True)
    (tmp_path / "a.txt").write_text("one\n", "utf-8")
    await ready(session, McpServer("git", "stdio", sys.executable, ("-m", "mcp_server_git")))
    place = str(tmp_path)
    assert "a.txt" in (await call(session, "git__git_status", repo_path=place)).text
    await call(session, "git__git_add", repo_path=place, files=["a.txt"])
    await call(session, "git__git_commit", repo_path=place, message="One file")
    assert "One file" in (await call(session, "git__git_log", repo_path=place)).text


async def test_the_time_server_tells_the_time_in_structure_too(session: SessionServers) -> None:
    await ready(session, McpServer("time", "stdio", sys.executable, ("-m", "mcp_server_time")))
    told = await call(session, "time__get_current_time", timezone="UTC")
    assert not told.failed
    assert told.raw_output is None or told.raw_output["timezone"] == "UTC"
