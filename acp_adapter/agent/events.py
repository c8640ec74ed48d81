"""TurnEvents: what a turn tells its front end, and what replay tells it again.

Both live turns and replay speak in these; `acp_adapter.acp.updates` is the only translator to the wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from attrs import frozen

from acp_adapter.tools.port import Kind, Location, Shown
from acp_adapter.transcript import Part

ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


@frozen
class UserMessage:
    """What the user sent, as parts. Live, the editor shows it itself; replay sends it."""

    message_id: str
    parts: Sequence[Part]


@frozen
class TextChunk:
    message_id: str
    text: str


@frozen
class ThoughtChunk:
    message_id: str
    text: str


@frozen
class ToolCallStarted:
    """The first word of a call: ACP's `tool_call`. `ruling` is the record of what was decided about it, in replay."""

    call_id: str
    name: str
    title: str
    kind: Kind
    status: ToolStatus
    raw_input: Any = None
    locations: Sequence[Location] = ()
    content: Sequence[Shown] = ()
    raw_output: Any = None
    ruling: Mapping[str, str] | None = None


@frozen
class ToolCallChanged:
    """ACP's `tool_call_update`: None leaves a field as it was, a value replaces it."""

    call_id: str
    title: str | None = None
    kind: Kind | None = None
    status: ToolStatus | None = None
    locations: Sequence[Location] | None = None
    content: Sequence[Shown] | None = None
    raw_output: Any = None
    ruling: Mapping[str, str] | None = None

    @property
    def is_progress(self) -> bool:
        """Whether nothing but content changes: a later such event makes this one needless."""
        return self.content is not None and self.status is None and self.title is None


@frozen
class PlanChanged:
    """The whole plan, as ACP PlanEntry JSON (`content`, `priority`, `status`)."""

    entries: Sequence[dict[str, Any]]


@frozen
class UsageChanged:
    """Tokens in the context now, the window's size, and the session's cost so far in US dollars."""

    used: int
    size: int
    cost: float | None = None


@frozen
class Noticed:
    """Something the user must know that is not part of the conversation."""

    severity: Literal["info", "warning", "error"]
    title: str
    description: str | None = None


@frozen
class TitleChanged:
    """The session's name, and when it was last active (seconds since the epoch)."""

    title: str | None
    last_active: float


@frozen
class ModeChanged:
    mode: str


@frozen
class CompactionChanged:
    """Older messages were, or are being, put into a summary. `text` is the summary, or what went wrong."""

    compaction_id: str
    status: Literal["in_progress", "completed", "failed"]
    text: str | None = None


TurnEvent = (
    UserMessage
    | TextChunk
    | ThoughtChunk
    | ToolCallStarted
    | ToolCallChanged
    | PlanChanged
    | UsageChanged
    | Noticed
    | TitleChanged
    | ModeChanged
    | CompactionChanged
)
