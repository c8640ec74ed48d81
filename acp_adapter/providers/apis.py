"""The APIs that model servers speak, by the names that config.toml and the table of services call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from acp_adapter.providers.anthropic import thinking as claude
from acp_adapter.providers.anthropic.provider import AnthropicProvider
from acp_adapter.providers.card import Effort, ModelCard
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.gemini import thinking as gemini
from acp_adapter.providers.gemini.provider import GeminiProvider
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.ollama.provider import OllamaProvider
from acp_adapter.providers.responses import reasoning
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


def efforts_of(api: str, model: str, reasons: bool | None) -> tuple[Effort, ...]:
    """How much a model can be told to reason in that API. `reasons` is what is known of it otherwise."""
    known = _EFFORTS.get(api)
    if known:
        return known(model)
    return ALL if reasons or reasoning.reasons(model) else ()


ALL: tuple[Effort, ...] = ("off", "low", "medium", "high")
_EFFORTS: dict[str, Callable[[str], tuple[Effort, ...]]] = {
    "anthropic": claude.efforts_of,
    "gemini": gemini.efforts_of,
    "responses": reasoning.efforts_of,
    "ollama": lambda model: (),  # the server tells
}

APIS: dict[str, _Make] = {
    "chat": _chat,
    "responses": ResponsesProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
    "ollama": OllamaProvider,
}
