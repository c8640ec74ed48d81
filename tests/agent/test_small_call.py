"""A model call beside the session: as small as the model lets it be, and counted."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from attrs import define, field

from acp_adapter.agent.small_call import THOUGHTS, small_call
from acp_adapter.errors import BrokenStream, LedgerUnavailable, ProviderRejected
from acp_adapter.providers.card import ModelCard, Price
from acp_adapter.providers.port import Completed, ModelRequest, StreamEvent, TextDelta
from acp_adapter.transcript import Message, Usage


@define(eq=False)
class Model:
    card: ModelCard = field(factory=ModelCard)
    finish: Any = "stop"
    asked: list[ModelRequest] = field(factory=list)
    name: str = "house"
    model: str = "house-1"
    base_url: str = ""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.asked.append(request)
        yield TextDelta("fine")
        if self.finish:
            yield Completed(Message("assistant", " fine \n"), self.finish, Usage(1000, 100))

    async def aclose(self) -> None:
        pass


async def called(model: Model, fault: Exception | None = None) -> tuple[str, list[tuple[Usage, str]]]:
    charged: list[tuple[Usage, str]] = []

    async def charge(usage: Usage, task: str) -> None:
        charged.append((usage, task))
        if fault:
            raise fault

    return await small_call(model, "be brief", "hi", max_tokens=60, task="title", charge=charge), charged


@pytest.mark.parametrize(
    ("card", "effort", "tokens"),
    [
        (ModelCard(), None, 60),
        (ModelCard(efforts=("off", "low", "high"), reasons=True), "off", 60),
        (ModelCard(efforts=("high", "low"), reasons=True), "low", 60 + THOUGHTS),
        (ModelCard(reasons=True), None, 60 + THOUGHTS),
    ],
)
async def test_it_thinks_as_little_as_the_model_can_be_told(card: ModelCard, effort: str | None, tokens: int) -> None:
    model = Model(card)
    assert (await called(model))[0] == "fine"
    (request,) = model.asked
    assert (request.effort, request.max_tokens, request.session, request.tools) == (effort, tokens, "", ())


async def test_it_is_charged_with_its_price() -> None:
    _, charged = await called(Model(ModelCard(price=Price(1.0, 10.0))))
    assert charged == [(Usage(1000, 100, cost=0.002), "title")]


async def test_a_ledger_that_can_not_count_it_does_not_lose_the_answer() -> None:
    assert (await called(Model(), LedgerUnavailable("busy")))[0] == "fine"


async def test_what_the_content_filter_stopped_is_no_answer() -> None:
    with pytest.raises(ProviderRejected, match="content filter"):
        await called(Model(finish="content_filter"))


async def test_a_stream_without_an_end_is_no_answer() -> None:
    with pytest.raises(BrokenStream):
        await called(Model(finish=None))
