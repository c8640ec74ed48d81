"""Slash commands: what a person can do from the prompt of any editor, without a model.

A command is not part of the conversation: it is neither stored nor sent to the model. A prompt that begins with a
slash but names no command goes to the model as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from acp_adapter.acp import types
from acp_adapter.acp.options import MODE_TEXTS, checked_mode, checked_model
from acp_adapter.acp.services import Services
from acp_adapter.acp.session import SessionState
from acp_adapter.agent.events import TextChunk
from acp_adapter.agent.loop import StopReason
from acp_adapter.errors import AcpAdapterError
from acp_adapter.transcript import new_id

Command = Callable[[str, SessionState, Services], Awaitable[str]]


async def run_command(prompt: str, session: SessionState, services: Services) -> StopReason | None:
    """Run the command that `prompt` names and show its answer; None where it names none."""
    name, _, argument = prompt.strip().partition(" ")
    command = _RUNNERS.get(name[1:]) if name.startswith("/") else None
    if command is None:
        return None
    try:
        text = await command(argument.strip(), session, services)
    except AcpAdapterError as fault:
        text = fault.message
    session.emit(TextChunk(new_id(), text))
    return "end_turn"


async def _help(_: str, __: SessionState, ___: Services) -> str:
    rows = [f"- `/{c.name}{' ' + c.input.hint if c.input else ''}`: {c.description}" for c in COMMANDS]
    return "\n".join(["Commands in this panel:", "", *rows])


async def _mode(argument: str, session: SessionState, _: Services) -> str:
    if argument:
        await session.set_mode(checked_mode(argument))
        return f"Permissions: **{session.mode}**. {MODE_TEXTS[session.mode][1]}"
    rows = [f"- `{mode}`{' (now)' if mode == session.mode else ''}: {text}" for mode, (_, text) in MODE_TEXTS.items()]
    return "\n".join(["Permission modes, set with `/mode NAME`:", "", *rows])


async def _model(argument: str, session: SessionState, services: Services) -> str:
    offered = await services.models.offered()
    if argument:
        await session.set_model(checked_model(argument, session, offered))
        session.model_chosen()
        return f"The next prompt is answered by **{session.model or 'the first model that is reachable'}**."
    rows = [f"- `{choice.provider}:{choice.model}`" for choice in offered]
    return "\n".join([f"Now: `{session.model or 'auto'}`. To change it: `/model NAME`, one of", "", "- `auto`", *rows])


COMMANDS = [
    types.AvailableCommand("help", "What can be done from this prompt"),
    types.AvailableCommand("mode", "Show or set what runs without asking", types.UnstructuredCommandInput("[MODE]")),
    types.AvailableCommand("model", "Show or choose the model", types.UnstructuredCommandInput("[PROVIDER:MODEL]")),
]

_RUNNERS: dict[str, Command] = {"help": _help, "mode": _mode, "model": _model}
