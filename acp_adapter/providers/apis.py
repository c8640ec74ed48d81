"""The APIs that model servers speak, by the names that config.toml and the table of services call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from acp_adapter.providers.anthropic.provider import AnthropicProvider
from acp_adapter.providers.card import ModelCard
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.gemini.provider import GeminiProvider
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.ollama.provider import OllamaProvider
from acp_adapter.providers.responses.provider import ResponsesProvider
from acp_adapter.providers.services import dialect_at


class _Make(Protocol):
    def __call__(
        self,
        name: str,
        model: str,
        base_url: str,
        api_key: str | None,
        card: ModelCard,
        headers: Mapping[str, str],
        silence: float,
        /,
    ) -> HostedProvider: ...


def _chat(
    name: str,
    model: str,
    base_url: str,
    api_key: str | None,
    card: ModelCard,
    headers: Mapping[str, str],
    silence: float,
    /,
) -> ChatProvider:
    return ChatProvider(name, model, base_url, api_key, card, headers, silence, dialect_at(base_url))


APIS: dict[str, _Make] = {
    "chat": _chat,
    "responses": ResponsesProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
    "ollama": OllamaProvider,
}
