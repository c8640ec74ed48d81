"""McpTool: one tool of an MCP server, under a name that no built-in tool has."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import define

from acp_adapter.tools.kept_output import KeptOutput
from acp_adapter.tools.mcp.connection import Connection
from acp_adapter.tools.mcp.content import result_of
from acp_adapter.tools.port import Intent, Tool, ToolContext, ToolResult

if TYPE_CHECKING:
    import mcp_types

SEPARATOR = "__"
"""Between the server's name and the tool's. No built-in tool has it in its name, so none can be shadowed."""
LONGEST = 64
"""Characters of a name that every provider takes."""
DESCRIBED = 2_000
"""Characters of a description that a model is told."""


@define(eq=False)
class McpTool:
    """What a server says of its own tools is not trusted: each call asks like a command does, whatever it claims."""

    name: str
    description: str
    parameters: dict[str, Any]
    title: str
    own_name: str
    connection: Connection

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        return Intent(f"{self.connection.server.name}: {self.title}", "other", "execute")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        answer = await self.connection.call(self.own_name, args)
        return result_of(answer, KeptOutput.of(ctx.outputs, ctx.call_id))


def tools_of(connections: Iterable[Connection]) -> dict[str, Tool]:
    """The tools of all servers, in an order that does not depend on which was there first."""
    tools: dict[str, Tool] = {}
    for connection in sorted(connections, key=lambda each: each.server.name):
        for listed in sorted(connection.tools, key=lambda each: each.name):
            tool = _tool(connection, listed, set(tools))
            tools[tool.name] = tool
    return tools


def _tool(connection: Connection, listed: mcp_types.Tool, taken: set[str]) -> McpTool:
    title = listed.title or (listed.annotations and listed.annotations.title) or listed.name
    return McpTool(
        name=_name(connection.server.name, listed.name, taken),
        description=(listed.description or title)[:DESCRIBED],
        parameters={**listed.input_schema, "type": "object"},
        title=" ".join(title.split())[:80],
        own_name=listed.name,
        connection=connection,
    )


def _name(server: str, tool: str, taken: set[str]) -> str:
    """`server__tool` in the signs and the length that every provider takes; a digest where that would be ambiguous."""
    plain = f"{_plain(server)}{SEPARATOR}{_plain(tool)}"
    if len(plain) <= LONGEST and plain not in taken:
        return plain
    digest = hashlib.sha256("\0".join((server, tool)).encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[: LONGEST - 9]}_{digest}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name) or "_"
