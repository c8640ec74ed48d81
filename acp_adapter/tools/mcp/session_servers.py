"""SessionServers: the MCP servers of one session. They start together in the background and hold nothing back.

A turn waits for those that are still starting, but only a few seconds: what comes later is there in the next turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import define, field

from acp_adapter.errors import InvalidParams
from acp_adapter.tools.mcp.connection import Connection
from acp_adapter.tools.mcp.servers import McpServer
from acp_adapter.tools.mcp.tool import tools_of
from acp_adapter.tools.port import Tool

PATIENCE = 5.0
"""Seconds from the start of a server for which turns wait for it."""


@define(eq=False)
class SessionServers:
    """`mark` gives the environment that marks a child as this session's, see `acp_adapter.tools.processes`."""

    cwd: Path
    mark: Callable[[], Mapping[str, str]]
    _connections: dict[str, Connection] = field(factory=dict)
    _told: set[str] = field(factory=set)
    """What the user has been told already."""

    async def use(self, servers: Sequence[McpServer]) -> None:
        """Have exactly these from now on: start what is new, end what is gone, keep what is the same."""
        wanted = {server.name: server for server in servers}
        gone = [each for name, each in self._connections.items() if wanted.get(name) != each.server]
        self._connections = {n: each for n, each in self._connections.items() if each not in gone}
        for name in [name for name in wanted if name not in self._connections]:
            self._open(wanted[name])
        await _closed(gone)

    async def settled(self) -> None:
        """Until every server is ready or has failed, or has had PATIENCE since it was started."""
        await asyncio.gather(*(each.waited_for(PATIENCE) for each in self._connections.values()))

    def tools(self) -> Mapping[str, Tool]:
        """What can be called now."""
        return tools_of(self._connections.values())

    def news(self) -> Iterator[str]:
        """Sentences for the user about servers that can't be used, or not yet; each only once."""
        for name, each in self._connections.items():
            if each.state == "failed":
                yield from self._once(f"The MCP server {name!r} ({each.server.place}) can't be used: {each.fault}")
            elif each.state == "connecting":
                yield from self._once(f"The MCP server {name!r} is still starting. Its tools come in a later turn.")

    def lines(self) -> list[str]:
        """One line of Markdown for each server: how it stands and what it offers."""
        return [f"- `{name}` ({each.server.place}): {_standing(each)}" for name, each in self._connections.items()]

    async def restart(self, name: str) -> None:
        """Start that server anew. Raises InvalidParams where the session has no such server."""
        old = self._connections.get(name)
        if old is None:
            known = ", ".join(self._connections) or "none"
            raise InvalidParams(f"This session has no MCP server {name!r}; it has: {known}.")
        await old.aclose()
        self._told = {said for said in self._told if f"{name!r}" not in said}
        self._open(old.server)

    async def aclose(self) -> None:
        """End all, together."""
        connections, self._connections = list(self._connections.values()), {}
        await _closed(connections)

    def _open(self, server: McpServer) -> None:
        connection = Connection(server, self.cwd, self.mark if server.transport == "stdio" else dict)
        self._connections[server.name] = connection
        connection.open()

    def _once(self, sentence: str) -> Iterator[str]:
        if sentence not in self._told:
            self._told.add(sentence)
            yield sentence


async def _closed(connections: Sequence[Connection]) -> None:
    await asyncio.gather(*(each.aclose() for each in connections))


def _standing(connection: Connection) -> str:
    if connection.state == "ready":
        names = ", ".join(tool.name for tool in connection.tools)
        return f"{len(connection.tools)} tools{f': {names}' if names else ''}"
    return f"{connection.state}{f': {connection.fault}' if connection.fault else ''}"
