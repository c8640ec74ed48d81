"""Trying again: what, how often, how long, and how it is interrupted. No test waits: the sleep is given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest

from acp_adapter.errors import (
    BrokenStream,
    ProviderAuthFailed,
    ProviderError,
    ProviderFault,
    ProviderOverloaded,
    ProviderRejected,
)
from acp_adapter.providers.card import ModelCard
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.port import TextDelta
from acp_adapter.providers.retry import retrying
from tests.providers.calls import answer, request
from tests.stub_model import DROP, ERR, RAW, Step, StubModel, T

Make = Callable[..., ChatProvider]


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    "failure",
    [
        ERR(429),
        ERR(500),
        ERR(502),
        ERR(503),
        RAW(""),
        RAW("data: [DONE]\n\n"),
        RAW('data: {"error":"died"}\n\n'),
        DROP(),
    ],
)
async def test_what_may_pass_is_tried_again_and_the_user_is_told(
    stub: StubModel, provider_at: Make, clock: Clock, failure: Step
) -> None:
    stub.add(failure, failure, T("hi"))
    told: list[tuple[str, float]] = []

    def tell(error: ProviderError, delay: float) -> None:
        told.append((error.message, delay))

    provider = retrying(provider_at(stub.base_url), on_retry=tell, sleep=clock.sleep, clock=clock)
    assert (await answer(provider)).message.content == "hi"
    assert [delay for _, delay in told] == clock.slept
    assert len(told) == 2
    assert 0 < clock.slept[0] < clock.slept[1]


@pytest.mark.parametrize(
    ("failure", "kind"), [(ERR(400), ProviderRejected), (ERR(404), ProviderRejected), (ERR(401), ProviderAuthFailed)]
)
async def test_a_request_that_is_wrong_is_not_repeated(
    stub: StubModel, provider_at: Make, clock: Clock, failure: Step, kind: type[ProviderError]
) -> None:
    stub.add(failure, T("hi"))
    with pytest.raises(kind):
        await answer(retrying(provider_at(stub.base_url), sleep=clock.sleep, clock=clock))
    assert len(stub.requests) == 1
    assert clock.slept == []


async def test_it_gives_up_after_five_attempts_with_the_servers_own_words(
    stub: StubModel, provider_at: Make, clock: Clock
) -> None:
    stub.add(*[ERR(500, "engine on fire")] * 10)
    with pytest.raises(ProviderFault, match="engine on fire"):
        await answer(retrying(provider_at(stub.base_url), sleep=clock.sleep, clock=clock))
    assert len(stub.requests) == 5
    assert sum(clock.slept) < 60


async def test_after_the_first_delta_nothing_is_tried_again(stub: StubModel, provider_at: Make, clock: Clock) -> None:
    stub.add(DROP("half"), T("another answer"))
    got = []
    provider = retrying(provider_at(stub.base_url), sleep=clock.sleep, clock=clock)
    async with aclosing(provider.stream(request())) as stream:
        with pytest.raises(BrokenStream):
            async for event in stream:
                got.append(event)
    assert got == [TextDelta("half")]
    assert len(stub.requests) == 1


async def test_the_wait_that_the_server_asks_for_is_kept(stub: StubModel, provider_at: Make, clock: Clock) -> None:
    stub.add(ERR(429, retry_after="17"), T("hi"))
    await answer(retrying(provider_at(stub.base_url), sleep=clock.sleep, clock=clock))
    assert clock.slept == [17]


async def test_a_wait_of_an_hour_is_an_error_at_once_that_names_it(
    stub: StubModel, provider_at: Make, clock: Clock
) -> None:
    stub.add(ERR(429, "quota used up", retry_after="3600"))
    with pytest.raises(ProviderOverloaded, match=r"quota used up.*60 minutes") as caught:
        await answer(retrying(provider_at(stub.base_url), sleep=clock.sleep, clock=clock))
    assert caught.value.retry_after == 3600
    assert clock.slept == []


async def test_waits_do_not_add_up_to_more_than_a_minute(stub: StubModel, provider_at: Make, clock: Clock) -> None:
    stub.add(*[ERR(503, retry_after="25")] * 5)
    with pytest.raises(ProviderOverloaded, match="25 seconds"):
        await answer(retrying(provider_at(stub.base_url), sleep=clock.sleep, clock=clock))
    assert clock.slept == [25, 25]


async def test_a_server_that_took_minutes_to_fail_is_not_asked_again(
    stub: StubModel, provider_at: Make, clock: Clock
) -> None:
    stub.add(ERR(500, "gave up"), T("hi"))
    times = iter((0.0, 300.0))
    with pytest.raises(ProviderFault, match="gave up"):
        await answer(retrying(provider_at(stub.base_url), sleep=clock.sleep, clock=lambda: next(times)))
    assert clock.slept == []


async def test_cancel_interrupts_the_wait_at_once(stub: StubModel, provider_at: Make) -> None:
    stub.add(ERR(429, retry_after="50"), T("fine"))
    waiting = asyncio.Event()
    provider = retrying(provider_at(stub.base_url), on_retry=lambda error, delay: waiting.set())
    asking = asyncio.create_task(answer(provider))
    await asyncio.wait_for(waiting.wait(), 10)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 1)
    assert (await answer(provider)).message.content == "fine"


async def test_it_is_the_same_provider_in_all_else(stub: StubModel, provider_at: Make) -> None:
    inner = provider_at(stub.base_url, card=ModelCard(context_window=8192))
    outer = retrying(inner)
    assert (outer.name, outer.model, outer.base_url, outer.card) == ("stub", "stub-1", inner.base_url, inner.card)
    await outer.aclose()
