"""Asking a provider, for tests."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from acp_adapter.providers.port import Completed, ModelRequest, Provider, StreamEvent
from acp_adapter.transcript import Message, Part, ToolCall


def request(*messages: Message | str | list[Part], **options: Any) -> ModelRequest:
    """Strings and lists of parts are user messages."""
    whole = [m if isinstance(m, Message) else Message("user", m) for m in messages or ("hi",)]
    return ModelRequest(options.pop("system", "be brief"), whole, **options)


async def events(provider: Provider, asked: ModelRequest | None = None) -> list[StreamEvent]:
    async with aclosing(provider.stream(asked or request())) as stream:
        return [event async for event in stream]


async def answer(provider: Provider, asked: ModelRequest | None = None) -> Completed:
    """The Completed at the end; there is exactly one."""
    got = await events(provider, asked)
    (completed,) = [event for event in got if isinstance(event, Completed)]
    assert got[-1] is completed
    return completed


def calling(*calls: ToolCall, text: str | None = None, **fields: Any) -> Message:
    return Message("assistant", text, tool_calls=[call.raw() for call in calls], **fields)


def result(call_id: str, content: str | list[Part]) -> Message:
    return Message("tool", content, tool_call_id=call_id)
