"""The provider port: what the agent asks of any model API, and the only shapes that cross it.

A provider turns a ModelRequest into a stream: deltas as they come, then exactly one Completed. It raises a
ProviderError for everything that goes wrong and never ends a stream without Completed. It keeps no conversation:
the same provider object may serve several requests, one after the other or at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal, Protocol

from attrs import frozen

from acp_adapter.providers.card import Effort, ModelCard
from acp_adapter.transcript import Message, Usage

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]


@frozen
class ToolSpec:
    """A tool as a model sees it. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]


@frozen
class ModelRequest:
    """One model call. `messages` end with a user or tool message; every tool call in them has its result.

    The encoding of a message depends on that message alone, so that a request's prefix is byte-stable. `effort` None
    is the model's own default. `session` is the same for all requests of one conversation, for servers that keep the
    prefixes of conversations apart by a key; empty for a call that is part of none.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_tokens: int | None = None
    effort: Effort | None = None
    session: str = ""


@frozen
class TextDelta:
    text: str


@frozen
class ReasoningDelta:
    text: str


@frozen
class Completed:
    """The whole answer. `message` has role assistant, content, tool_calls, reasoning, provider items and the
    finish reason; `usage` is None where the provider did not count."""

    message: Message
    finish_reason: FinishReason
    usage: Usage | None = None


StreamEvent = TextDelta | ReasoningDelta | Completed


class Provider(Protocol):
    """A model behind an API. `name` is the provider's id as in `provider:model`; `base_url` may be empty."""

    name: str
    model: str
    base_url: str

    @property
    def card(self) -> ModelCard:
        """What is known of the model; with the first request it may become more."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Deltas, then one Completed. Closing the generator, or cancelling its reader, ends the request at once.

        Raises a ProviderError: see `acp_adapter.errors` for which of them a caller may try again.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections and child processes. May be called twice."""
        ...
