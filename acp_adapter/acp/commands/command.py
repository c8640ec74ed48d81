"""The shape of a slash command: what was typed, and what answers it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

from attrs import frozen

from acp_adapter.acp import types
from acp_adapter.acp.services import Services
from acp_adapter.acp.session import SessionState
from acp_adapter.acp.session_manager import SessionManager
from acp_adapter.agent.base import StopReason
from acp_adapter.transcript import Content, Part

_NAMED = re.compile(r"\s*/(\S+)(.*)", re.DOTALL)


@frozen
class Asked:
    """One command as it was typed, and what it may use.

    `argument` is what follows the name, `content` the whole prompt, `attached` its blocks beyond the first, `commands`
    all that there are, by their names.
    """

    argument: str
    content: Content
    attached: Sequence[Part]
    session: SessionState
    sessions: SessionManager
    services: Services
    commands: Mapping[str, Command]

    @property
    def said(self) -> Content:
        """What follows the name, with what is attached."""
        return _said(self.argument, self.attached)

    async def say(self, text: str) -> StopReason:
        """Answer with Markdown, which ends the command."""
        await self.session.say(text)
        return "end_turn"


Run = Callable[[Asked], Awaitable[StopReason]]


@frozen
class Command:
    """`hint` shows what may follow the name. `run` may raise: the request then gets that error.

    `waits` says that it takes its turn behind those that run and wait; other commands are carried out at once.
    """

    name: str
    description: str
    run: Run
    hint: str | None = None
    waits: bool = False

    def advertised(self) -> types.AvailableCommand:
        hint = types.UnstructuredCommandInput(self.hint) if self.hint else None
        return types.AvailableCommand(self.name, self.description, hint)


@frozen
class Named:
    """What a prompt that begins with a slash and a word says."""

    name: str
    argument: str
    attached: Sequence[Part]

    @classmethod
    def of(cls, content: Content) -> Named | None:
        """None for any other prompt. Editors may attach files to a command as they do to any prompt."""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found = _NAMED.match(parts[0]["text"]) if parts[0].get("type") == "text" else None
        return cls(found[1], found[2].strip(), parts[1:]) if found else None

    @property
    def said(self) -> Content:
        """What follows the name, with what is attached."""
        return _said(self.argument, self.attached)


def _said(argument: str, attached: Sequence[Part]) -> Content:
    return [{"type": "text", "text": argument}, *attached] if attached else argument
