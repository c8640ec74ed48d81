"""An MCP server for tests, on the official SDK: one tool for each kind of content, one that dies, one that hangs.

python kinds_server.py [sse PORT | streamable-http PORT]
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any, Literal, cast

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

PNG = "iVBORw0KGgo="
server = MCPServer("kinds")


@server.tool(structured_output=False)
def every_kind() -> list[Any]:
    """Gives every kind of content."""
    return [
        TextContent(type="text", text="plain words"),
        ImageContent(type="image", data=PNG, mime_type="image/png"),
        AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
        ResourceLink(type="resource_link", uri="file:///p/a.py", name="a.py"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///x.py", text="X=1")),
        EmbeddedResource(type="resource", resource=BlobResourceContents(uri="file:///x.bin", blob="AAEC")),
    ]


@server.tool(structured_output=False)
def variable(name: str) -> str:
    """The value of an environment variable."""
    return os.environ.get(name, "(not set)")


@server.tool()
def adds(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool(structured_output=False)
def fails() -> str:
    """Raises."""
    raise ValueError("it never works")


@server.tool(structured_output=False)
def dies() -> str:
    """Ends its process."""
    print("out of luck", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool(structured_output=False)
async def hangs() -> str:
    """Never answers."""
    await asyncio.Event().wait()
    return "unreachable"


@server.tool(structured_output=False)
async def grows(ctx: Context) -> str:
    """Adds a tool to this server."""
    server.add_tool(lambda: "here", name="grown", description="New.")
    await ctx.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run(cast(Literal["sse"], sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run()
