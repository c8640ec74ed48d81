"""The slash command about the session's MCP servers."""

from __future__ import annotations

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.agent.base import StopReason
from acp_adapter.errors import InvalidParams


async def show_servers(asked: Asked) -> StopReason:
    servers = asked.session.servers
    verb, _, name = asked.argument.partition(" ")
    if verb == "restart":
        await servers.restart(name.strip())
        await servers.settled()
    elif verb:
        raise InvalidParams("Type `/mcp` to see the MCP servers, or `/mcp restart NAME`.")
    none = "This session has no MCP servers. An editor passes them, or `[mcp_servers.NAME]` of config.toml has them."
    return await asked.say("\n".join(servers.lines()) or none)


SERVERS = [Command("mcp", "Show the MCP servers and their tools, or start one again", show_servers, "[restart NAME]")]
