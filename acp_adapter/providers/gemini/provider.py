"""Gemini: a model behind `POST {base_url}/models/{model}:streamGenerateContent`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import quote

from attrs import define, field

from acp_adapter.providers.card import Listed, ModelCard
from acp_adapter.providers.gemini import thinking
from acp_adapter.providers.gemini.answer import GeminiAnswer
from acp_adapter.providers.gemini.request import GeminiEncoder, name_here
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.port import ModelRequest, StreamEvent
from acp_adapter.providers.streamed import DONE, chunks

METHOD = "generateContent"


@define(eq=False)
class GeminiProvider(HostedProvider):
    """The key goes in a header, never into a URL, which proxies and logs keep."""

    usual_path = "/v1beta"
    _encoder: GeminiEncoder = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._encoder = GeminiEncoder(self.model)

    def authorization(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = GeminiAnswer({name_here(tool.name): tool.name for tool in request.tools})
        path = f"/{resource(self.model)}:streamGenerateContent?alt=sse"
        async with (
            self.posted(
                path, lambda: self._encoder.body(request), lambda said: self._encoder.adapt(said, request)
            ) as response,
            contextlib.aclosing(chunks(response)) as incoming,
        ):
            async for chunk in incoming:
                if chunk.get("error"):
                    raise self.told(chunk)
                if chunk is not DONE:
                    for delta in answer.feed(chunk):
                        yield delta
        yield answer.completed()

    async def models(self) -> list[Listed]:
        listed: list[Listed] = []
        page = ""
        while True:
            found = await self.get("/models?pageSize=1000" + page)
            listed += filter(None, map(_listed, found.get("models") or ()))
            if not found.get("nextPageToken"):
                return listed
            page = f"&pageToken={quote(str(found['nextPageToken']), safe='')}"


def resource(model: str) -> str:
    """The model's path: `models/gemini-…`, or one of another collection, such as `tunedModels/…`."""
    return quote(model if "/" in model else f"models/{model}")


def _listed(entry: Any) -> Listed | None:
    """None for what makes no text: embeddings, pictures, speech."""
    if not isinstance(entry, dict) or METHOD not in (entry.get("supportedGenerationMethods") or ()):
        return None
    model = str(entry.get("name", "")).removeprefix("models/")
    efforts = thinking.efforts_of(model) if entry.get("thinking") else ()
    card = ModelCard(_tokens(entry.get("inputTokenLimit")), _tokens(entry.get("outputTokenLimit")), efforts=efforts)
    return Listed(model, card, entry.get("displayName")) if model else None


def _tokens(limit: Any) -> int | None:
    return limit if isinstance(limit, int) and limit > 0 else None
