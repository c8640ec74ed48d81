"""Chat completions: a model behind `POST {base_url}/chat/completions`, on any server of the OpenAI form.

OpenAI, OpenRouter, LM Studio, vLLM, the llama.cpp server and their like.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from attrs import define, field

from acp_adapter.providers.card import MILLION, Listed, ModelCard, Price
from acp_adapter.providers.chat.answer import ChatAnswer
from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.port import ModelRequest, StreamEvent
from acp_adapter.providers.streamed import DONE, chunks


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
    images, audio = _takes(entry, "image"), _takes(entry, "audio")
    name = entry.get("name")
    card = ModelCard(context_window=window, images=images, audio=audio, price=_price(entry))
    return Listed(entry["id"], card, name if isinstance(name, str) else None)


def _takes(entry: dict[str, Any], kind: str) -> bool | None:
    """OpenRouter's `architecture.input_modalities`; None where a server says nothing of it."""
    architecture = entry.get("architecture")
    takes = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    return kind in takes if isinstance(takes, list) else None


def _price(entry: dict[str, Any]) -> Price | None:
    """OpenRouter's `pricing`: US dollars for one token, as text; -1 where it depends."""
    pricing = entry.get("pricing")
    if not isinstance(pricing, dict):
        return None
    try:
        names = ("prompt", "completion", "input_cache_read", "input_cache_write")
        known = [float(pricing[name]) * MILLION if name in pricing else None for name in names]
    except (TypeError, ValueError):
        return None
    given, made, read, write = known
    if given is None or made is None or min(each for each in known if each is not None) < 0:
        return None
    return Price(given, made, read, write)
