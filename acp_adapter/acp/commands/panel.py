"""All slash commands of a panel, in groups, as they are advertised and as `/help` tells them."""

from __future__ import annotations

import asyncio

from acp_adapter.acp import types
from acp_adapter.acp.commands import repertory
from acp_adapter.acp.commands.about import ABOUT
from acp_adapter.acp.commands.blame import BLAME
from acp_adapter.acp.commands.changes import CHANGES
from acp_adapter.acp.commands.choices import CHOICES
from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.acp.commands.export import EXPORT
from acp_adapter.acp.commands.ledger import LEDGER
from acp_adapter.acp.commands.servers import SERVERS
from acp_adapter.acp.commands.turns import TURNS
from acp_adapter.agent.base import StopReason
from acp_adapter.agent.repertoire import Repertoire


async def show_help(asked: Asked) -> StopReason:
    lines = [line for title, commands in GROUPS for line in ("", f"**{title}**", "", *map(_line, commands))]
    repertoire = await asyncio.to_thread(asked.services.repertoire, asked.session.cwd)
    lines += repertory.told(repertoire)
    return await asked.say("\n".join(["What can be typed here:", *lines]))


def advertised(repertoire: Repertoire | None = None) -> types.AvailableCommandsUpdate:
    """The commands of the panel, and after them what is in the repertoire."""
    pieces = repertoire.pieces.values() if repertoire else ()
    return types.AvailableCommandsUpdate(
        [*(command.advertised() for command in COMMANDS.values()), *map(repertory.advertised, pieces)]
    )


def _line(command: Command) -> str:
    hint = f" {command.hint}" if command.hint else ""
    return f"- `/{command.name}{hint}`: {command.description}"


GROUPS = [
    ("Turns", TURNS),
    ("What it did", [*CHANGES, *BLAME]),
    ("Model and permissions", CHOICES),
    ("Sessions", [*LEDGER, *EXPORT]),
    ("About", [Command("help", "Show what can be typed here", show_help), *ABOUT, *SERVERS]),
]
COMMANDS = {each.name: each for _, commands in GROUPS for each in commands}
"""All of them, by their names."""
