"""Slash commands: what a person can do from the prompt of any editor, without a model.

A command is not part of the conversation: it is neither stored nor sent to the model. A prompt that begins with a
slash but names no command goes to the model as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from attrs import frozen

from acp_adapter.acp import types
from acp_adapter.acp.options import MODE_TEXTS, checked_mode, checked_model
from acp_adapter.acp.services import Services
from acp_adapter.acp.session import SessionState
from acp_adapter.acp.session_manager import SessionManager
from acp_adapter.agent.events import TextChunk
from acp_adapter.agent.loop import StopReason
from acp_adapter.transcript import new_id


@frozen
class Asked:
    """One command as it was typed, and what it may use."""

    argument: str
    session: SessionState
    sessions: SessionManager
    services: Services

    def say(self, text: str) -> StopReason:
        """Answer with Markdown, which ends the turn."""
        self.session.emit(TextChunk(new_id(), text))
        return "end_turn"


Run = Callable[[Asked], Awaitable[StopReason]]


@frozen
class Command:
    """`hint` shows what may follow the name. `run` may raise: the request then gets that error."""

    name: str
    description: str
    run: Run
    hint: str | None = None

    def advertised(self) -> types.AvailableCommand:
        hint = types.UnstructuredCommandInput(self.hint) if self.hint else None
        return types.AvailableCommand(self.name, self.description, hint)


def named(prompt: str, commands: list[Command]) -> tuple[Command, str] | None:
    """The command that a prompt names, and what follows the name; None where it names none."""
    name, _, argument = prompt.strip().partition(" ")
    found = next((command for command in commands if name == f"/{command.name}"), None)
    return (found, argument.strip()) if found else None


async def show_mode(asked: Asked) -> StopReason:
    session = asked.session
    if asked.argument:
        await session.set_mode(checked_mode(asked.argument))
        session.options_changed()
        return asked.say(f"Permissions: **{session.mode}**. {MODE_TEXTS[session.mode][1]}")
    rows = [f"- `{mode}`{' (now)' if mode == session.mode else ''}: {text}" for mode, (_, text) in MODE_TEXTS.items()]
    return asked.say("\n".join(["Permission modes, set with `/mode NAME`:", "", *rows]))


async def show_model(asked: Asked) -> StopReason:
    session = asked.session
    offered = await asked.services.models.offered()
    if asked.argument:
        await session.set_model(checked_model(asked.argument, session, offered))
        session.options_changed()
        return asked.say(f"The next prompt is answered by **{session.model or 'the first model that is reachable'}**.")
    rows = [f"- `{choice.provider}:{choice.model}`" for choice in offered]
    now = session.model or "auto"
    return asked.say("\n".join([f"Now: `{now}`. To change it: `/model NAME`, one of", "", "- `auto`", *rows]))


async def compact(asked: Asked) -> StopReason:
    return await asked.session.compact(asked.argument or None)


async def show_usage(asked: Asked) -> StopReason:
    total = await asked.session.usage()
    rows = [
        f"- model calls: {total.api_call_count:,}",
        f"- tokens in: {total.input_tokens:,} (of which from the provider's cache: {total.cache_read_tokens:,})",
        f"- tokens out: {total.output_tokens:,}, of which reasoning: {total.reasoning_tokens:,}",
        f"- messages: {total.message_count:,}, tool calls: {total.tool_call_count:,}",
    ]
    return asked.say("\n".join(["This session so far:", "", *rows]))


BASIC = [
    Command("mode", "Show or set what runs without asking", show_mode, "[MODE]"),
    Command("model", "Show or choose the model", show_model, "[PROVIDER:MODEL]"),
    Command("compact", "Put older messages into a summary to make room", compact, "[what to keep in mind]"),
    Command("usage", "Show what this session has used", show_usage),
]
