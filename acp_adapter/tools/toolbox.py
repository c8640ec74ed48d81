"""The toolbox: every built-in tool by its name, in the order in which a model is told of them."""

from __future__ import annotations

from acp_adapter.tools.command import RunCommand
from acp_adapter.tools.files import EditFile, ReadFile, WriteFile
from acp_adapter.tools.plan import UpdatePlan
from acp_adapter.tools.port import Tool
from acp_adapter.tools.search import Glob, Grep, ListDirectory


def builtin_tools() -> dict[str, Tool]:
    tools: list[Tool] = [
        ReadFile(),
        WriteFile(),
        EditFile(),
        ListDirectory(),
        Glob(),
        Grep(),
        RunCommand(),
        UpdatePlan(),
    ]
    return {tool.name: tool for tool in tools}
