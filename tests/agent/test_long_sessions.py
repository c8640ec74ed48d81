"""Whatever happens in a long session: what is sent fits, continues what was sent before, and is what the ledger has."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.agent import compaction
from acp_adapter.agent.compaction import Shares
from acp_adapter.agent.context import Context
from acp_adapter.agent.events import CompactionChanged, TurnEvent
from acp_adapter.agent.room import Room
from acp_adapter.errors import ContextTooLong, InvalidParams, PromptTooLong, ProviderError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.pairing import paired
from acp_adapter.providers.card import ModelCard
from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.providers.port import Completed, ModelRequest, StreamEvent
from acp_adapter.transcript import Message, ToolCall, Transcript, Usage


@define(eq=False)
class Summariser:
    """Gives a summary of so many words; `most` is the largest request that it was sent, in characters."""

    card: ModelCard
    words: int = 20
    most: int = 0
    name: str = "house"
    model: str = "house-1"
    base_url: str = ""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.most = max(self.most, len(request.messages[-1].text()))
        yield Completed(Message("assistant", "word " * self.words), "stop", Usage(100, 10))

    async def aclose(self) -> None:
        pass


@define(eq=False)
class LongSession:
    room: Room
    model: Summariser
    told: list[TurnEvent]
    ledger: Ledger
    encoder: ChatEncoder = field(factory=lambda: ChatEncoder("house-1", Dialect()))
    sent: bytes = b""
    seen: int = 0
    calls: int = 0
    was_bad: bool = False

    @property
    def transcript(self) -> Transcript:
        return self.room.transcript

    async def prompt(self, size: int) -> None:
        await self.transcript.append(Message("user", "u" * size))
        await self.ask()

    async def step(self, sizes: Sequence[int]) -> None:
        """The model calls tools, all at once, and is asked again with their results."""
        made = [ToolCall(f"c{self.calls + n}", "look", "{}") for n in range(len(sizes))]
        self.calls += len(made)
        await self.transcript.append(Message("assistant", None, tool_calls=[call.raw() for call in made]))
        for call, size in zip(made, sizes, strict=True):
            await self.transcript.append(Message("tool", "r" * size, tool_call_id=call.id, tool_name=call.name))
        await self.ask()

    async def ask(self) -> None:
        before = list(self.transcript.messages)
        try:
            await self.room.make(self.model)
        except PromptTooLong:
            assert self.transcript.messages == before
            await self.transcript.rewind(before[-1].id)
            return
        except ProviderError:
            assert self.model.words == 5000 or self.was_bad, "with good summaries there is always a way on"
            assert [m.id for m in self.transcript.messages] == [m.id for m in before]
            return
        assert self.model.card.context_window
        shares = Shares.of(self.model.card.context_window, self.room.context.beside(self.model))
        assert self.room.context.size(self.model) <= shares.limit
        request = self.room.context.request(self.model)
        assert [m.id for m in request.messages] == [m.id for m in paired(self.transcript.messages)]
        body = self.encoder.body(request).partition(b'],"stream"')[0]
        assert len(self.told) > self.seen or body.startswith(self.sent), (
            "the beginning changed though nothing was made shorter"
        )
        self.sent, self.seen = body, len(self.told)
        await self.transcript.append(Message("assistant", "done"))

    async def compact(self) -> None:
        try:
            await self.room.compact(self.model)
        except ContextTooLong:
            return
        self.sent = b""

    async def undo(self, back: int) -> None:
        asked = [m for m in self.transcript.messages if m.role == "user" and not compaction.is_summary(m)]
        if asked:
            try:
                await self.transcript.rewind(asked[-1 - back % len(asked)].id)
            except InvalidParams:
                return
            self.sent = b""

    async def check(self) -> None:
        assert self.transcript.messages == await self.ledger(SessionDB.conversation, "s")
        window = self.model.card.context_window or 0
        assert self.model.most < window * 4, "a summariser was shown more than its window"
        ended = [event.status for event in self.told if isinstance(event, CompactionChanged)]
        assert ended.count("in_progress") == len(ended) / 2


async def live(window: int, steps: Sequence[tuple[str, list[int]]]) -> None:
    told: list[TurnEvent] = []
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "state.db")
        await ledger(SessionDB.create_session, "s", source="acp", model=None, model_config={}, cwd=folder)
        room = Room(Context(Transcript("s", ledger), "be brief", dict, told.append), told.append)
        session = LongSession(room, Summariser(ModelCard(context_window=window)), told, ledger)
        try:
            for name, sizes in steps:
                match name:
                    case "prompt":
                        await session.prompt(sizes[0])
                    case "step":
                        await session.step(sizes)
                    case "compact":
                        await session.compact()
                    case "undo":
                        await session.undo(sizes[0])
                    case "bad summaries":
                        session.model.words, session.was_bad = 5000 if sizes[0] % 2 else 20, True
                await session.check()
        finally:
            await ledger.aclose()


_names = st.sampled_from(["prompt", "step", "prompt", "step", "step", "compact", "undo", "bad summaries"])
_sizes = st.lists(st.one_of(st.integers(1, 3_000), st.integers(1, 30_000)), min_size=1, max_size=4)


@settings(max_examples=15)
@given(st.sampled_from([4_000, 10_000]), st.lists(st.tuples(_names, _sizes), min_size=4, max_size=25))
def test_a_long_session_stays_within_its_window_and_true_to_its_ledger(
    window: int, steps: list[tuple[str, list[int]]]
) -> None:
    asyncio.run(live(window, steps))
