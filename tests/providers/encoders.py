"""Every API, in every form in which its requests differ: how they are encoded, and what a strict server says of them.

for name, api in APIS.items():
    body = api.encoder()(request)
    assert api.complaint(body) is None
"""

from __future__ import annotations

import json
from collections.abc import Callable

from attrs import field, frozen

from acp_adapter.providers.anthropic.request import MessagesEncoder
from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.providers.gemini.request import GeminiEncoder
from acp_adapter.providers.ollama.request import OllamaEncoder
from acp_adapter.providers.port import ModelRequest
from acp_adapter.providers.responses.request import ResponsesEncoder
from acp_adapter.providers.services import PLAIN, SERVICES
from tests.providers.anthropic_server import AnthropicServer
from tests.providers.gemini_server import GeminiServer
from tests.providers.ollama_server import OllamaServer
from tests.providers.responses_server import ResponsesServer
from tests.stub_model import StubModel
from tests.stub_server import Received, StubServer

Encode = Callable[[ModelRequest], bytes]
WINDOW = 262_144


@frozen
class Api:
    """`encoder` makes a new encoder, as a program that starts does; `path` is where its server is asked."""

    encoder: Callable[[], Encode]
    server: Callable[[], StubServer]
    path: str
    headers: dict[str, str] = field(factory=dict)

    def complaint(self, body: bytes) -> str | None:
        return self.server().complaint(Received(self.path, self.headers, json.loads(body)))


def _chat(dialect: Dialect) -> Api:
    return Api(
        lambda: ChatEncoder("stub-1", dialect).body,
        lambda: StubModel(allowed=dialect.echoes),
        "/v1/chat/completions",
    )


def _anthropic(model: str) -> Api:
    version = {"anthropic-version": "2023-06-01"}
    return Api(lambda: MessagesEncoder(model).body, AnthropicServer, "/v1/messages", version)


def _gemini(model: str) -> Api:
    path = f"/v1beta/models/{model}:streamGenerateContent?alt=sse"
    return Api(lambda: GeminiEncoder(model).body, lambda: GeminiServer(model=model), path)


def _ollama(model: str) -> Api:
    def encoder() -> Encode:
        body = OllamaEncoder(model).body
        return lambda request: body(request, WINDOW)

    return Api(encoder, OllamaServer, "/api/chat")


def _responses(model: str) -> Api:
    return Api(lambda: ResponsesEncoder(model).body, ResponsesServer, "/v1/responses")


_first = {service.dialect: name for name, service in reversed(SERVICES.items())}
APIS: dict[str, Api] = {
    "chat": _chat(PLAIN),
    **{f"chat-{name}": _chat(dialect) for dialect, name in reversed(_first.items()) if dialect != PLAIN},
    "anthropic": _anthropic("claude-opus-4-7"),
    "anthropic-budget": _anthropic("claude-sonnet-4-5"),
    "gemini": _gemini("gemini-3-pro"),
    "gemini-budget": _gemini("gemini-2.5-flash"),
    "ollama": _ollama("qwen3"),
    "responses": _responses("gpt-5-mini"),
    "responses-plain": _responses("gpt-4.1"),
}
"""A dialect of chat completions is called after the first service that speaks it."""
