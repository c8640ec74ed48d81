"""The toolbox: every built-in tool by its name, in the order in which a model is told of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acp_adapter.tools.apply_patch import ApplyPatch
from acp_adapter.tools.ask_user import AskUser
from acp_adapter.tools.background import CommandOutput, StopCommand
from acp_adapter.tools.command import RunCommand
from acp_adapter.tools.fetch import FetchUrl
from acp_adapter.tools.files import EditFile, ReadFile, WriteFile
from acp_adapter.tools.plan import UpdatePlan
from acp_adapter.tools.port import Action, Tool
from acp_adapter.tools.search import Glob, Grep, ListDirectory

PATCHING = re.compile(r"gpt-(4\.1|[5-9])|gpt-oss|codex|(^|/)o[3-9](-|$)")
"""Models that were trained on the format of apply_patch."""


ACTIONS: dict[str, Action] = {
    "write_file": "edit",
    "edit_file": "edit",
    "apply_patch": "edit",
    "run_command": "execute",
    "command_output": "none",
    "stop_command": "none",
    "fetch_url": "fetch",
    "update_plan": "none",
    "ask_user": "none",
    "session_search": "none",
    "recall": "none",
    "delegate_task": "none",
    "read_file": "read",
    "list_directory": "read",
    "glob": "read",
    "grep": "read",
}
"""What the calls of a tool are, as their intents say. A tool that is not here is another program's: a command."""


def suited_to(model: str, tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
    """The tools that such a model is told of: apply_patch only where it is known, since it is long to explain."""
    if PATCHING.search(model.lower()):
        return tools
    return {name: tool for name, tool in tools.items() if name != ApplyPatch.name}


def builtin_tools() -> dict[str, Tool]:
    tools: list[Tool] = [
        ReadFile(),
        WriteFile(),
        EditFile(),
        ApplyPatch(),
        ListDirectory(),
        Glob(),
        Grep(),
        RunCommand(),
        CommandOutput(),
        StopCommand(),
        FetchUrl(),
        UpdatePlan(),
        AskUser(),
    ]
    return {tool.name: tool for tool in tools}
