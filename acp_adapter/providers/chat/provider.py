"""Chat completions: a model behind `POST {base_url}/chat/completions`, on any server of the OpenAI form.

OpenAI, OpenRouter, LM Studio, vLLM, the llama.cpp server and their like.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from attrs import define, field

from acp_adapter.providers.card import Listed, ModelCard
from acp_adapter.providers.chat.answer import ChatAnswer
from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.providers.http import DONE, HostedProvider, chunks
from acp_adapter.providers.port import ModelRequest, StreamEvent


@define(eq=False)
class ChatProvider(HostedProvider):
    """`dialect` is how this server differs from OpenAI's own."""

    dialect: Dialect = field(factory=Dialect, repr=False)
    _encoder: ChatEncoder = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._encoder = ChatEncoder(self.model, self.dialect)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = ChatAnswer(self.dialect.echoes)
        done = False
        async with (
            self.posted("/chat/completions", lambda: self._encoder.body(request), self._adapting(request)) as response,
            contextlib.aclosing(chunks(response)) as incoming,
        ):
            async for chunk in incoming:
                if chunk is DONE:
                    done = True
                elif chunk.get("error") or chunk.get("object") == "error":
                    raise self.told(chunk)
                else:
                    for delta in answer.feed(chunk):
                        yield delta
        yield answer.completed(done)

    async def models(self) -> list[Listed]:
        return listed((await self.get("/models")).get("data"))

    def _adapting(self, request: ModelRequest) -> Callable[[str], bool]:
        return lambda complaint: self._encoder.adapt(complaint, request)


def listed(entries: Any) -> list[Listed]:
    """The models of a `/models` answer's `data`; what has no id is left out."""
    return [_listed(entry) for entry in entries or () if isinstance(entry, dict) and isinstance(entry.get("id"), str)]


def _listed(entry: dict[str, Any]) -> Listed:
    """vLLM says `max_model_len`, OpenRouter `context_length`, LM Studio `loaded_context_length`."""
    sizes = (entry.get(key) for key in ("loaded_context_length", "max_model_len", "context_length"))
    window = next((size for size in sizes if isinstance(size, int) and size > 0), None)
    return Listed(entry["id"], ModelCard(context_window=window))
