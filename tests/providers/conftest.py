from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from acp_adapter.providers.chat.provider import ChatProvider
from tests.stub_model import StubModel


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel() as running:
        yield running


@pytest.fixture
async def provider_at() -> AsyncIterator[Callable[..., ChatProvider]]:
    """Makes providers and lets go of their connections after the test."""
    made: list[ChatProvider] = []

    def make(base_url: str, **options: Any) -> ChatProvider:
        made.append(ChatProvider("stub", "stub-1", base_url, **options))
        return made[-1]

    yield make
    for provider in made:
        await provider.aclose()
