from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from acp_adapter.tools import processes
from acp_adapter.tools.mcp.servers import McpServer, Transport
from acp_adapter.tools.mcp.session_servers import SessionServers

KINDS = str(Path(__file__).with_name("kinds_server.py"))


def kinds(name: str = "kinds", **env: str) -> McpServer:
    """The server with one tool for each kind, over stdio."""
    return McpServer(name, "stdio", sys.executable, (KINDS,), env)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[SessionServers]:
    """The servers of one session, ended with all their children after the test."""
    servers = SessionServers(tmp_path, processes.of("mcp-test").mark)
    yield servers
    await servers.aclose()
    await processes.end_all("mcp-test")


Serve = Callable[[Transport], Awaitable[McpServer]]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Serve]:
    """Starts the same server over HTTP."""
    running: list[asyncio.subprocess.Process] = []

    async def serve(transport: Transport) -> McpServer:
        port = _free_port()
        kind = "sse" if transport == "sse" else "streamable-http"
        process = await asyncio.create_subprocess_exec(
            sys.executable, KINDS, kind, str(port), stderr=asyncio.subprocess.DEVNULL
        )
        running.append(process)
        await _listening(port)
        return McpServer("web", transport, url=f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}")

    yield serve
    for process in running:
        process.kill()
        await process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _listening(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return
