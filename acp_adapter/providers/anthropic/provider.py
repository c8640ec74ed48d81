"""Anthropic: a model behind `POST {base_url}/messages`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

from attrs import define, field

from acp_adapter.providers.anthropic import thinking
from acp_adapter.providers.anthropic.answer import MessagesAnswer
from acp_adapter.providers.anthropic.request import MessagesEncoder
from acp_adapter.providers.card import Listed, ModelCard
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.port import ModelRequest, StreamEvent
from acp_adapter.providers.streamed import DONE, chunks

VERSION = "2023-06-01"
PAGES = 10


@define(eq=False)
class AnthropicProvider(HostedProvider):
    """Anthropic's own service, and every server that speaks its form."""

    _encoder: MessagesEncoder = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._headers.setdefault("anthropic-version", VERSION)
        self._encoder = MessagesEncoder(self.model, self.card.max_output)

    def authorization(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = MessagesAnswer()
        async with (
            self.posted(
                "/messages", lambda: self._encoder.body(request), lambda said: self._encoder.adapt(said, request)
            ) as response,
            contextlib.aclosing(chunks(response)) as incoming,
        ):
            async for event in incoming:
                if event.get("type") == "error" or event.get("error"):
                    raise self.told(event)
                if event is not DONE:
                    for delta in answer.feed(event):
                        yield delta
        yield answer.completed()

    async def models(self) -> list[Listed]:
        listed: list[Listed] = []
        page = ""
        for _ in range(PAGES):
            found = await self.get("/models?limit=1000" + page)
            listed += filter(None, map(_listed, found.get("data") or ()))
            if not found.get("has_more") or not found.get("last_id"):
                break
            page = f"&after_id={quote(str(found['last_id']), safe='')}"
        return listed


def _listed(entry: Any) -> Listed | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        return None
    can = entry.get("capabilities")
    card = ModelCard(
        context_window=_tokens(entry.get("max_input_tokens")),
        max_output=_tokens(entry.get("max_tokens")),
        images=_supports(can, "image_input"),
        audio=False,
        efforts=() if _supports(can, "thinking") is False else thinking.efforts_of(entry["id"]),
    )
    return Listed(entry["id"], card, entry.get("display_name"))


def _supports(capabilities: Any, name: str) -> bool | None:
    known = capabilities.get(name) if isinstance(capabilities, dict) else None
    return bool(known.get("supported")) if isinstance(known, dict) else None


def _tokens(limit: Any) -> int | None:
    return limit if isinstance(limit, int) and limit > 0 else None
