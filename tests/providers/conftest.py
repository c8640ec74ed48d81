from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from acp_adapter.providers.anthropic.provider import AnthropicProvider
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.gemini.provider import GeminiProvider
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.ollama.provider import OllamaProvider
from acp_adapter.providers.responses.provider import ResponsesProvider
from tests.providers.anthropic_server import AnthropicServer
from tests.providers.gemini_server import GeminiServer
from tests.providers.ollama_server import OllamaServer
from tests.providers.responses_server import ResponsesServer
from tests.stub_model import StubModel


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel() as running:
        yield running


@pytest.fixture
def gemini_server() -> Iterator[GeminiServer]:
    with GeminiServer() as running:
        yield running


@pytest.fixture
def ollama_server() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        yield running


@pytest.fixture
def claude() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        yield running


@pytest.fixture
def responses() -> Iterator[ResponsesServer]:
    with ResponsesServer() as running:
        yield running


@pytest.fixture
async def let_go() -> AsyncIterator[Callable[[Any], Any]]:
    """Takes providers, gives them back, and lets go of their connections after the test."""
    made: list[HostedProvider] = []

    def keep(provider: Any) -> Any:
        made.append(provider)
        return provider

    yield keep
    for provider in made:
        await provider.aclose()


@pytest.fixture
def provider_at(let_go: Callable[[Any], Any]) -> Callable[..., ChatProvider]:
    return lambda base_url, **options: let_go(ChatProvider("stub", "stub-1", base_url, **options))


@pytest.fixture
def gemini_at(let_go: Callable[[Any], Any]) -> Callable[..., GeminiProvider]:
    def make(server: GeminiServer, **options: Any) -> Any:
        model = options.pop("model", server.model)
        return let_go(GeminiProvider("gemini", model, server.base_url, **options))

    return make


@pytest.fixture
def ollama_at(let_go: Callable[[Any], Any]) -> Callable[..., OllamaProvider]:
    def make(server: OllamaServer, **options: Any) -> Any:
        return let_go(OllamaProvider("ollama", options.pop("model", server.model), server.base_url, **options))

    return make


@pytest.fixture
def claude_at(let_go: Callable[[Any], Any]) -> Callable[..., AnthropicProvider]:
    def make(server: AnthropicServer, **options: Any) -> Any:
        model = options.pop("model", server.model)
        return let_go(AnthropicProvider("anthropic", model, server.base_url, **options))

    return make


@pytest.fixture
def responses_at(let_go: Callable[[Any], Any]) -> Callable[..., ResponsesProvider]:
    def make(server: ResponsesServer, **options: Any) -> Any:
        model = options.pop("model", server.model)
        return let_go(ResponsesProvider("openai", model, server.base_url, **options))

    return make
