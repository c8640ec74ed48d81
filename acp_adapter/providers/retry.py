"""Trying a model call again, as long as the user has seen nothing of the answer.

Tried again are ProviderUnreachable, ProviderOverloaded, ProviderFault and BrokenStream; a request that is wrong stays
wrong. After the first delta an error goes to the caller: a second answer must not be mixed into the first.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from attrs import define, field

from acp_adapter.errors import BrokenStream, ProviderError, ProviderFault, ProviderOverloaded, ProviderUnreachable
from acp_adapter.providers.card import ModelCard
from acp_adapter.providers.port import Completed, ModelRequest, Provider, StreamEvent

RETRIED = (ProviderUnreachable, ProviderOverloaded, ProviderFault, BrokenStream)
ATTEMPTS = 5
BUDGET = 60.0
"""Seconds from the first attempt within which the last one begins."""
FIRST_DELAY, LONGEST_DELAY = 0.5, 20.0

OnRetry = Callable[[ProviderError, float], None]


def retrying(
    provider: Provider,
    *,
    attempts: int = ATTEMPTS,
    on_retry: OnRetry = lambda error, delay: None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Provider:
    """The same provider, whose streams begin again after a failure that may pass: at most `attempts` in all.

    The delays double, with jitter; where the server says how long to wait, that is obeyed, and an error at once if it
    asks for more than the rest of a minute. `on_retry` gets each error and the seconds until the next attempt.
    Cancelling the reader ends a delay at once.
    """
    return _Retrying(provider, attempts, on_retry, sleep, clock)


@define(eq=False)
class _Retrying:
    _provider: Provider
    _attempts: int
    _on_retry: OnRetry
    _sleep: Callable[[float], Awaitable[None]]
    _clock: Callable[[], float]
    name: str = field(init=False)
    model: str = field(init=False)
    base_url: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.name, self.model = self._provider.name, self._provider.model
        self.base_url = self._provider.base_url

    @property
    def card(self) -> ModelCard:
        return self._provider.card

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        began = self._clock()
        for attempt in range(1, self._attempts + 1):
            said = False
            try:
                async with aclosing(self._provider.stream(request)) as events:
                    async for event in events:
                        said = said or not isinstance(event, Completed)
                        yield event
                return
            except RETRIED as error:
                if said or attempt == self._attempts:
                    raise
                delay = _delay(error, attempt, BUDGET - (self._clock() - began))
                self._on_retry(error, delay)
            await self._sleep(delay)

    async def aclose(self) -> None:
        await self._provider.aclose()


def _delay(error: ProviderError, attempt: int, left: float) -> float:
    """Seconds to wait; raises `error` where waiting would take longer than what is left."""
    asked = error.retry_after if isinstance(error, ProviderOverloaded) else None
    if asked is not None and asked > left:
        raise ProviderOverloaded(f"{error.message} It asks to wait {_duration(asked)}.", asked) from error
    delay = min(FIRST_DELAY * 2.0 ** (attempt - 1), LONGEST_DELAY) * random.uniform(0.75, 1.25)
    delay = max(delay, asked or 0.0)
    if delay > left:
        raise error
    return delay


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{minutes} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"
