from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from attrs import define

from acp_adapter.tools import processes
from acp_adapter.tools.mcp.servers import McpServer, Transport
from acp_adapter.tools.mcp.session_servers import SessionServers

EVERYTHING = Path(__file__).parents[1] / "clients/ts/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
LOOPBACK = Path(__file__).with_name("loopback.mjs")
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


@define
class Served:
    """A server that is reached over HTTP on loopback, and its process."""

    server: McpServer
    process: asyncio.subprocess.Process

    async def kill(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


Serve = Callable[[Transport], Awaitable[Served]]


@pytest.fixture
async def served() -> AsyncIterator[Serve]:
    """Starts the server with one tool for each kind over HTTP."""
    running: list[Served] = []

    async def serve(transport: Transport) -> Served:
        port = free_port()
        kind = "sse" if transport == "sse" else "streamable-http"
        running.append(await start(transport, port, sys.executable, KINDS, kind, str(port)))
        return running[-1]

    yield serve
    for each in running:
        await each.kill()


@pytest.fixture
async def everything() -> AsyncIterator[Serve]:
    """Starts the reference server of the protocol's authors over HTTP."""
    running: list[Served] = []

    async def serve(transport: Transport) -> Served:
        port = free_port()
        kind = "sse" if transport == "sse" else "streamableHttp"
        running.append(await start(transport, port, *everything_argv(kind), env={**os.environ, "PORT": str(port)}))
        return running[-1]

    yield serve
    for each in running:
        await each.kill()


def everything_argv(kind: str = "stdio") -> list[str]:
    """How the reference server is started; skips where it is not installed, which `.ci/run` sees to."""
    node = shutil.which("node")
    missing = "node is not installed" if not node else "run: npm install --prefix tests/clients/ts"
    if not node or not EVERYTHING.exists():
        if os.environ.get("ACP_ADAPTER_TEST_ALL_CLIENTS"):
            pytest.fail(missing)
        pytest.skip(missing)
    return [node, "--import", LOOPBACK.as_uri(), str(EVERYTHING), kind]


async def start(
    transport: Transport, port: int, *argv: str, env: Mapping[str, str] | None = None, name: str = "web"
) -> Served:
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*argv, stdout=quiet, stderr=quiet, env=env)
    await _listening(port)
    place = f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
    return Served(McpServer(name, transport, url=place), process)


def free_port() -> int:
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
