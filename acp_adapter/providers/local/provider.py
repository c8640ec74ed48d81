"""LocalProvider: the embedded model behind the provider port."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from acp_adapter.errors import AuthRequired
from acp_adapter.providers import weights
from acp_adapter.providers.card import FREE, ModelCard
from acp_adapter.providers.chat.answer import ChatAnswer
from acp_adapter.providers.local import engine, prompt, rules
from acp_adapter.providers.local.attempt import Attempt
from acp_adapter.providers.local.engine import Body, Engine
from acp_adapter.providers.local.offering import offered
from acp_adapter.providers.local.prompt import Said
from acp_adapter.providers.local.record import Turn
from acp_adapter.providers.local.steps import Offer, Step, schema
from acp_adapter.providers.port import Completed, ModelRequest, StreamEvent, TextDelta, ToolSpec
from acp_adapter.transcript import Message

CONTEXT = 8192
"""Tokens that the model can see at once."""
ANSWER = 512
"""Tokens that one answer may take."""
AROUND = 5
"""Tokens that the chat template puts around a message."""

NO_RUNTIME = (
    "The embedded model needs the extra `local`: install it with `pip install 'acp-adapter[local]'`, "
    "or choose another model with `acp-adapter setup`."
)


@define(eq=False)
class LocalProvider:
    """A GGUF model in a child process, which all providers of this process that use the same file share.

    Nothing is started before the first request or `warm`. With tools, an answer is one step of
    `acp_adapter.providers.local.steps`; without, it is free text under the request's own system prompt.
    """

    model: str
    path: Path
    home: Path
    card: ModelCard = field(factory=lambda: ModelCard(CONTEXT, images=False, audio=False, price=FREE))
    name: str = field(default="local", init=False)
    base_url: str = field(default="", init=False)
    _engine: Engine | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, model: str, home: Path) -> LocalProvider:
        """`model` is a name of the catalogue, the path of a `.gguf` file, or empty for the first that is installed.

        Raises AuthRequired where the runtime or the weights are missing, InvalidParams for an unknown name.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise AuthRequired(NO_RUNTIME)
        name, path = weights.find(model, home)
        return cls(name, path, home)

    async def warm(self, system: str = "", tools: Sequence[ToolSpec] = ()) -> None:
        """Load the model and have it read what every prompt begins with, so that the first answer comes sooner.

        That beginning is the same for all sessions, so the arguments do not matter. Raises a ProviderError.
        """
        await self._running().ready()

    @property
    def pid(self) -> int | None:
        """The process id of the child that runs the model; None while there is none."""
        return self._engine.pid if self._engine else None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        turn = Turn.of(request.messages)
        if not request.tools:
            events = self._talk(request)
        elif not turn.calls and rules.asks_who(turn.asked):
            events = _saying(rules.who(self.model))
        else:
            events = self._act(request, turn)
        async with contextlib.aclosing(events):
            async for event in events:
                yield event

    async def aclose(self) -> None:
        mine, self._engine = self._engine, None
        if mine:
            await engine.give_back(mine)

    async def _act(self, request: ModelRequest, turn: Turn) -> AsyncGenerator[StreamEvent, None]:
        """One step. The model is asked again, with less to choose from, where it breaks a rule."""
        outcome: Step | Offer | str = offered([tool.name for tool in request.tools], turn)
        body = await self._body(prompt.beginning(), prompt.conversation(request.messages), request)
        while isinstance(outcome, Offer):
            attempt = Attempt(turn, outcome)
            async with contextlib.aclosing(self._running().chat(body | _constrained(outcome))) as chunks:
                async for chunk in chunks:
                    for text in attempt.feed(chunk):
                        yield TextDelta(text)
                    if attempt.settled:
                        break
            outcome = attempt.outcome()
        if isinstance(outcome, str) and outcome:
            yield TextDelta(outcome)
        yield attempt.completed(outcome)

    async def _talk(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Free text, for requests without tools: titles, summaries."""
        beginning = [prompt.told("system", request.system)] if request.system else []
        body = await self._body(beginning, prompt.talk(request.messages), request)
        answer = ChatAnswer()
        async with contextlib.aclosing(self._running().chat(body)) as chunks:
            async for chunk in chunks:
                for delta in answer.feed(chunk):
                    yield delta
        yield answer.completed(True)

    async def _body(self, beginning: list[Said], pieces: Sequence[Sequence[Said]], request: ModelRequest) -> Body:
        """The request for the engine, with as much of the conversation as the window has room for."""
        tokens = min(request.max_tokens or ANSWER, CONTEXT // 4)
        said = [one["content"] for piece in [beginning, *pieces] for one in piece]
        counts = iter(await self._running().count(said))
        first, *sizes = [sum(next(counts) + AROUND for _ in piece) for piece in [beginning, *pieces]]
        kept = prompt.fitting(sizes, prompt.last_asked(pieces), CONTEXT - tokens - first - AROUND)
        return _completion([*beginning, *(one for at in kept for one in pieces[at])], tokens)

    def _running(self) -> Engine:
        if self._engine is None:
            self._engine = engine.borrow(self.path, CONTEXT, self.home, _completion(prompt.beginning(), ANSWER))
        return self._engine


def _completion(messages: list[Said], tokens: int) -> Body:
    usage = {"include_usage": True}
    return {"messages": messages, "max_tokens": tokens, "temperature": 0, "stream_options": usage}


def _constrained(offer: Offer) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "step", "schema": schema(offer)}}}


async def _saying(text: str) -> AsyncGenerator[StreamEvent, None]:
    yield TextDelta(text)
    yield Completed(Message(role="assistant", content=text, finish_reason="stop"), "stop")
