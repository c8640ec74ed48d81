"""McpTool: one tool of an MCP server, under a name that no built-in tool has."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import define

from acp_adapter.tools.kept_output import KeptOutput
from acp_adapter.tools.mcp.connection import Connection
from acp_adapter.tools.mcp.content import result_of
from acp_adapter.tools.paths import printable
from acp_adapter.tools.port import Intent, Tool, ToolContext, ToolResult

if TYPE_CHECKING:
    import mcp_types

SEPARATOR = "__"
"""Between the server's name and the tool's. No built-in tool has it in its name, so none can be shadowed."""
LONGEST = 64
"""Characters of a name that every provider takes."""
DESCRIBED = 2_000
"""Characters of a description that a model is told."""
LARGEST = 50_000
"""Characters of the largest schema that a model is told."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN_SERVER = re.compile(r"[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*")
_UNSEEN = ("Cc", "Cf", "Co", "Cs")
"""Unicode's categories of control, format, private and half characters."""


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
        return Intent(f"{printable(self.connection.server.name)}: {self.title}", "other", "execute")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        answer = await self.connection.call(self.own_name, args)
        return result_of(answer, KeptOutput.of(ctx.outputs, ctx.call_id))


def tools_of(connections: Iterable[Connection]) -> dict[str, Tool]:
    """The tools of all servers, in an order that does not depend on which was there first."""
    tools: dict[str, Tool] = {}
    for connection in sorted(connections, key=lambda each: each.server.name):
        for listed in sorted(connection.tools, key=lambda each: each.name):
            tool = _tool(connection, listed)
            tools.setdefault(tool.name, tool)
    return tools


def _tool(connection: Connection, listed: mcp_types.Tool) -> McpTool:
    claimed = listed.title or (listed.annotations and listed.annotations.title) or listed.name
    title = printable(listed.name) if claimed == listed.name else f"{printable(listed.name)} ({_line(claimed)})"
    return McpTool(
        name=name_of(connection.server.name, listed.name),
        description=_seen(listed.description or claimed)[:DESCRIBED],
        parameters=_schema(listed.input_schema),
        title=title[:120],
        own_name=listed.name,
        connection=connection,
    )


def name_of(server: str, tool: str) -> str:
    """`server__tool`, in the signs and the length that every provider takes, and always the same for the same two.

    Names that are not plain carry a digest of what they are. So no server or tool can take the name of another, which
    a rule may allow: what is before the first `__` stands for one server alone.
    """
    name = f"{_server(server)}{SEPARATOR}{tool if _PLAIN.fullmatch(tool) else _marked(tool)}"
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 9]}_{_digest(server, tool)}"


def _server(name: str) -> str:
    return name if _PLAIN_SERVER.fullmatch(name) else _marked(name)


def _marked(name: str) -> str:
    return f"{re.sub('[^A-Za-z0-9]+', '_', name).strip('_')}-{_digest(name)}"


def _digest(*names: str) -> str:
    return hashlib.sha256("\0".join(names).encode("utf-8", "replace")).hexdigest()[:8]


def _seen(text: str) -> str:
    """What a person who looks at the text would see: without signs that are invisible or turn others around."""
    return "".join(sign for sign in text if sign in "\n\t" or unicodedata.category(sign) not in _UNSEEN)


def _line(text: str) -> str:
    return " ".join(_seen(text).split())


def _schema(given: dict[str, Any]) -> dict[str, Any]:
    """The server's schema, its words as a person would see them; one that is absurdly large is left out."""
    if len(json.dumps(given)) > LARGEST:
        return {"type": "object"}
    return {**_words_seen(given), "type": "object"}


def _words_seen(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_words_seen(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _seen(value)[:DESCRIBED]
        if key in ("description", "title") and isinstance(value, str)
        else _words_seen(value)
        for key, value in schema.items()
    }
