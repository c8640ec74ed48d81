"""Responses: a model behind `POST {base_url}/responses`, OpenAI's own and servers like it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

from attrs import define, evolve, field

from acp_adapter.errors import ProviderError
from acp_adapter.providers.card import Listed
from acp_adapter.providers.chat.provider import listed
from acp_adapter.providers.faults import Refusal
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.port import ModelRequest, StreamEvent
from acp_adapter.providers.responses.answer import ResponsesAnswer
from acp_adapter.providers.responses.reasoning import efforts_of
from acp_adapter.providers.responses.request import ResponsesEncoder
from acp_adapter.providers.streamed import DONE, chunks


@define(eq=False)
class ResponsesProvider(HostedProvider):
    """Models that reason keep their reasoning here between the calls of a turn, which chat completions lose."""

    _encoder: ResponsesEncoder = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._encoder = ResponsesEncoder(self.model)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = ResponsesAnswer(request.max_tokens)
        async with (
            self.posted(
                "/responses", lambda: self._encoder.body(request), lambda said: self._encoder.adapt(said, request)
            ) as response,
            contextlib.aclosing(chunks(response)) as incoming,
        ):
            async for event in incoming:
                kind = event.get("type")
                if kind == "response.failed":
                    raise self.told((event.get("response") or {}).get("error") or event)
                if kind == "error" or (event.get("error") and not kind):
                    raise self.told(event)
                if event is not DONE:
                    for delta in answer.feed(event):
                        yield delta
        yield answer.completed()

    async def models(self) -> list[Listed]:
        found = listed((await self.get("/models")).get("data"))
        return [evolve(each, card=evolve(each.card, efforts=efforts_of(each.id))) for each in found]

    def _fault(self, said: Refusal, seconds: float | None = None) -> ProviderError:
        if said.status in (404, 405) and "model" not in said.message.lower():
            table = f"[providers.{self.name}]"
            said = evolve(said, message=f'{said.message} (no Responses API there? Then write api = "chat" in {table})')
        return super()._fault(said, seconds)
