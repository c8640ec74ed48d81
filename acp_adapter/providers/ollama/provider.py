"""Ollama: a model behind `POST {base_url}/api/chat`."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator

from attrs import define, evolve, field

from acp_adapter.errors import ProviderError, ProviderRejected
from acp_adapter.providers.card import Listed
from acp_adapter.providers.content import encoded
from acp_adapter.providers.faults import Refusal
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.ollama.answer import OllamaAnswer
from acp_adapter.providers.ollama.request import OllamaEncoder
from acp_adapter.providers.ollama.show import card_of, listed
from acp_adapter.providers.port import ModelRequest, StreamEvent
from acp_adapter.providers.streamed import lines

log = logging.getLogger(__name__)


@define(eq=False)
class OllamaProvider(HostedProvider):
    """`card.context_window`, where it is given, is the window that the server is asked for.

    Else the server is asked what the model has, once, before the first request; what it says is in `card` from then
    on. Without any word about it Ollama takes a few thousand tokens and cuts what does not fit.
    """

    usual_path = ""
    _encoder: OllamaEncoder = field(init=False, repr=False)
    _known: bool = field(default=False, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._encoder = OllamaEncoder(self.model)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        await self.look()
        answer = OllamaAnswer()
        window = self.card.context_window
        async with (
            self.posted(
                "/api/chat",
                lambda: self._encoder.body(request, window),
                lambda complaint: self._encoder.adapt(complaint, request),
            ) as response,
            contextlib.aclosing(lines(response)) as incoming,
        ):
            async for line in incoming:
                if line.get("error"):
                    raise self.told(line)
                for delta in answer.feed(line):
                    yield delta
        yield answer.completed()

    async def models(self) -> list[Listed]:
        return list(filter(None, map(listed, (await self.get("/api/tags")).get("models") or ())))

    async def look(self) -> None:
        if self._known or self.card.context_window:
            return
        try:
            told = card_of(self.model, await self.post("/api/show", encoded({"model": self.model})))
        except ProviderError as error:
            log.info("Ollama told nothing of its model: %s", error.message)
            return
        self._known = True
        # What was known before goes before what the server says.
        images = told.images if self.card.images is None else self.card.images
        efforts = self.card.efforts or told.efforts
        self.card = evolve(self.card, context_window=told.context_window, images=images, efforts=efforts)

    def _fault(self, said: Refusal, seconds: float | None = None) -> ProviderError:
        error = super()._fault(said, seconds)
        if "does not support tools" not in error.message:
            return error
        advice = "An agent can't work without them: take a model that has them (https://ollama.com/search?c=tools)."
        return ProviderRejected(f"{error.message} {advice}")
