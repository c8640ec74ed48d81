"""A model call that is part of no session: for a title, for a summary. What it costs is counted all the same."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import get_args

from acp_adapter.errors import BrokenStream, LedgerError, ProviderRejected
from acp_adapter.providers.card import Effort
from acp_adapter.providers.port import Completed, ModelRequest, Provider
from acp_adapter.transcript import Message, Usage

log = logging.getLogger(__name__)

Charge = Callable[[Usage, str], Awaitable[None]]
"""Counts the priced usage of a call, and what it was for. May raise LedgerError."""


THOUGHTS = 4_000
"""Tokens on top for a model that can't be told not to think before it answers."""


async def small_call(provider: Provider, system: str, text: str, *, max_tokens: int, task: str, charge: Charge) -> str:
    """The model's answer to `text`, with as little reasoning as it can be told; empty where it has said nothing.

    Raises ProviderError, also for an answer that the model's content filter stopped.
    """
    card = provider.card
    effort = next((each for each in get_args(Effort) if each in card.efforts), None)
    if card.reasons and effort != "off":
        max_tokens += THOUGHTS
    request = ModelRequest(system, [Message(role="user", content=text)], max_tokens=max_tokens, effort=effort)
    completed = await _completed(provider, request)
    if completed.usage:
        try:
            await charge(card.priced(completed.usage), task)
        except LedgerError as fault:
            log.warning("a call for a %s was not counted: %s", task, fault)
    if completed.finish_reason == "content_filter":
        raise ProviderRejected("The model's content filter stopped its answer.")
    return completed.message.text().strip()


async def _completed(provider: Provider, request: ModelRequest) -> Completed:
    async with aclosing(provider.stream(request)) as events:
        async for event in events:
            if isinstance(event, Completed):
                return event
    raise BrokenStream("The model's answer ended before it was complete.")
