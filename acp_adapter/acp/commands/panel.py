"""All slash commands of a panel, in groups, as they are advertised and as `/help` tells them."""

from __future__ import annotations

from acp_adapter.acp.commands.about import ABOUT
from acp_adapter.acp.commands.choices import CHOICES
from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.acp.commands.export import EXPORT
from acp_adapter.acp.commands.ledger import LEDGER
from acp_adapter.acp.commands.turns import TURNS
from acp_adapter.agent.loop import StopReason


async def show_help(asked: Asked) -> StopReason:
    lines = [line for title, commands in GROUPS for line in ("", f"**{title}**", "", *map(_line, commands))]
    return await asked.say("\n".join(["What can be typed here:", *lines]))


def command(name: str) -> Command | None:
    """The command of that name."""
    return next((each for each in COMMANDS if each.name == name), None)


def _line(command: Command) -> str:
    hint = f" {command.hint}" if command.hint else ""
    return f"- `/{command.name}{hint}`: {command.description}"


GROUPS = [
    ("Turns", TURNS),
    ("Model and permissions", CHOICES),
    ("Sessions", [*LEDGER, *EXPORT]),
    ("About", [Command("help", "Show what can be typed here", show_help), *ABOUT]),
]
COMMANDS = [each for _, commands in GROUPS for each in commands]
