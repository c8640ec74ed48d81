"""A conversation that outgrows its model's window: what is left out first, what never is, and what is an error."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from attrs import define, field

from acp_adapter.agent import compaction
from acp_adapter.agent.context import Context
from acp_adapter.agent.events import CompactionChanged, TurnEvent, UsageChanged
from acp_adapter.agent.room import Room
from acp_adapter.errors import BrokenStream, ContextTooLong, PromptTooLong
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.providers.card import ModelCard, Price
from acp_adapter.providers.port import Completed, ModelRequest, StreamEvent
from acp_adapter.transcript import Message, ToolCall, Transcript, Usage


@define(eq=False)
class Summariser:
    """Answers small calls with what it is told, the last answer again and again; `asked` is what it was shown.

    It refuses what has more characters than it `takes`.
    """

    answers: list[str]
    card: ModelCard = field(factory=lambda: ModelCard(context_window=4000))
    takes: int = 1_000_000
    usage: Usage | None = field(factory=lambda: Usage(100, 10))
    asked: list[ModelRequest] = field(factory=list)
    name: str = "house"
    model: str = "house-1"
    base_url: str = ""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.asked.append(request)
        text = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if len(request.messages[-1].text()) > self.takes:
            raise ContextTooLong("Too long.")
        if text == "fail":
            raise BrokenStream("The connection was lost.")
        yield Completed(Message("assistant", text), "stop", self.usage)

    async def aclose(self) -> None:
        pass


def talk(count: int = 15, words: int = 200) -> list[Message]:
    return [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "word " * words) for n in range(count)]


def turn(number: int, result: str = "r" * 4000) -> list[Message]:
    call = ToolCall(f"c{number}", "read_file", "{}")
    return [
        Message("user", f"question {number}"),
        Message("assistant", None, tool_calls=[call.raw()]),
        Message("tool", result, tool_call_id=call.id, tool_name=call.name),
        Message("assistant", f"answer {number}"),
    ]


def room(messages: Sequence[Message], told: list[TurnEvent] | None = None) -> Room:
    emit = (told if told is not None else []).append
    return Room(Context(Transcript("s", None, messages), "be brief", dict, emit), emit)


def sent(made: Room, model: Summariser) -> list[str]:
    request = made.context.request(model)
    return [
        str(message.content if message.api_content is None else message.api_content) for message in request.messages
    ]


async def test_old_results_are_left_out_before_anything_is_summarised() -> None:
    model = Summariser(["never asked"])
    made = room([m for n in range(4) for m in turn(n)] + [Message("user", "and now?")])
    await made.make(model)
    assert model.asked == []
    shown = sent(made, model)
    assert "The result of read_file (4,000 characters) was left out to save room" in shown[2]
    assert shown[0] == "question 0" and shown[3] == "answer 0" and shown[-1] == "and now?"
    assert made.context.size(model) < 4000 * compaction.FULL
    message = made.transcript.messages[2]
    assert message.content == "r" * 4000, "the message itself stays whole"
    assert f'`recall` with message "{message.id[:8]}"' in shown[2]


async def test_what_was_left_out_once_stays_so_and_the_beginning_the_same() -> None:
    model = Summariser(["never asked"])
    made = room([m for n in range(4) for m in turn(n)] + [Message("user", "and now?")])
    await made.make(model)
    first = sent(made, model)
    await made.transcript.append(Message("assistant", "it is"), Message("user", "sure?"))
    await made.make(model)
    assert sent(made, model)[: len(first)] == first


async def test_a_conversation_of_talk_is_summarised_and_its_tail_kept() -> None:
    told: list[TurnEvent] = []
    model = Summariser(["they talked"])
    said = talk()
    made = room(said, told)
    await made.make(model)
    shown = sent(made, model)
    assert shown[0] == compaction.HEADING + "they talked"
    assert shown[-1] == said[-1].content
    assert [event.status for event in told if isinstance(event, CompactionChanged)] == ["in_progress", "completed"]


async def test_a_summary_that_failed_is_not_tried_again_until_the_conversation_has_grown() -> None:
    model = Summariser(["word " * 5000])
    said = talk()
    made = room(said)
    for _ in range(3):
        with pytest.raises(ContextTooLong):
            await made.make(model)
    assert len(model.asked) == 1
    assert [m.content for m in made.transcript.messages] == [m.content for m in said]
    await made.transcript.append(Message("assistant", "word " * 500), Message("user", "on"))
    with pytest.raises(ContextTooLong):
        await made.make(model)
    assert len(model.asked) == 2
    model.answers = ["short"]
    await made.compact(model)
    assert sent(made, model)[0].endswith("short")


async def test_a_provider_that_fails_at_a_summary_changes_nothing_and_says_so() -> None:
    told: list[TurnEvent] = []
    model = Summariser(["fail"])
    said = talk()
    made = room(said, told)
    with pytest.raises(BrokenStream):
        await made.make(model)
    assert made.transcript.messages == said
    assert told[-1] == CompactionChanged(told[-1].compaction_id, "failed", "The connection was lost.")  # type: ignore[union-attr]


async def test_a_message_that_is_too_large_alone_is_told_so_without_a_model_call() -> None:
    model = Summariser(["never asked"])
    made = room([*turn(0, "small"), Message("user", "x" * 20_000)])
    with pytest.raises(PromptTooLong, match=r"Your message is about 5,\d+ tokens, and the model's window holds 4,000"):
        await made.make(model)
    assert model.asked == []


async def test_one_result_larger_than_the_window_is_cut_and_the_turn_goes_on() -> None:
    model = Summariser(["never asked"])
    call = ToolCall("c1", "read_file", "{}")
    made = room(
        [
            Message("user", "read it"),
            Message("assistant", None, tool_calls=[call.raw()]),
            Message("tool", "x" * 40_000, tool_call_id="c1", tool_name="read_file"),
        ]
    )
    await made.make(model)
    assert made.context.size(model) < 4000 * compaction.FULL
    assert "more characters of read_file do not fit the window" in sent(made, model)[2]
    assert sent(made, model)[2].startswith("x" * 4000), "as much as there is room for"


async def test_a_model_with_a_smaller_window_gets_less_of_the_same_conversation() -> None:
    made = room([m for n in range(4) for m in turn(n)] + [Message("user", "and now?")])
    roomy = Summariser(["never asked"], ModelCard(context_window=100_000))
    await made.make(roomy)
    assert "r" * 4000 in sent(made, roomy)
    await made.make(Summariser(["never asked"]))
    assert "r" * 4000 not in sent(made, roomy)[:8]


async def test_a_small_call_is_charged_with_its_price() -> None:
    model = Summariser(["they talked"], ModelCard(context_window=4000, price=Price(10_000.0, 0.0)))
    said = talk()
    made = room(said)
    await made.compact(model)
    assert made.context.cost == pytest.approx(1.0)


async def test_a_model_that_says_no_is_shown_less_of_what_it_is_to_summarise() -> None:
    model = Summariser(["they talked"], ModelCard(context_window=40_000), takes=20_000)
    made = room(talk(100))
    await made.compact(model)
    sizes = [len(request.messages[-1].text()) for request in model.asked]
    assert sizes[0] > sizes[1] > sizes[-1] and sizes[-1] <= 20_000
    assert sent(made, model)[0].endswith("they talked")


async def test_a_model_that_takes_nothing_is_not_asked_without_end() -> None:
    model = Summariser(["never"], ModelCard(context_window=40_000), takes=0)
    said = talk(100)
    made = room(said)
    with pytest.raises(ContextTooLong, match="Too long"):
        await made.compact(model)
    assert len(model.asked) <= 5
    assert made.transcript.messages == said


async def test_a_request_that_was_refused_is_made_shorter_though_the_window_is_not_known() -> None:
    model = Summariser(["they talked"], ModelCard())
    made = room(talk(20))
    await made.make(model)
    assert model.asked == [], "nothing is done before the model says no"
    await made.make(model, ContextTooLong("full", 3000))
    assert made.context.size(model) < 3000 * compaction.FULL
    assert sent(made, model)[-1] == talk(20)[-1].content or sent(made, model)[0].startswith(compaction.HEADING)


async def test_pictures_that_were_refused_are_left_out_before_anything_is_summarised() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    said = [message for n in range(5) for message in (Message("user", [picture]), Message("assistant", f"a{n}"))]
    made = room([*said, Message("user", "which was red?")])
    await made.make(Summariser(["never asked"], ModelCard()), ContextTooLong("request too large"))
    shown = sent(made, Summariser([]))
    assert "was left out to save room" in shown[0]
    assert shown[-1] == "which was red?"


async def test_a_summary_that_would_not_fit_beside_the_tail_changes_nothing() -> None:
    told: list[TurnEvent] = []
    said = [*talk(10), Message("user", "x" * 12_300)]
    made = room(said, told)
    model = Summariser(["word " * 200])
    for _ in range(2):
        with pytest.raises(ContextTooLong, match="does not fit"):
            await made.make(model)
    assert made.transcript.messages == said
    assert len(model.asked) == 1
    assert [event.status for event in told if isinstance(event, CompactionChanged)] == ["in_progress", "failed"]


async def test_a_summary_that_broke_off_is_not_tried_again_at_once_but_with_another_model() -> None:
    made = room(talk())
    failing = Summariser(["fail"])
    with pytest.raises(BrokenStream):
        await made.make(failing)
    with pytest.raises(ContextTooLong, match="a summary of it failed"):
        await made.make(failing)
    assert len(failing.asked) == 1
    await made.make(Summariser(["they talked"], model="house-2"))
    assert sent(made, failing)[0].endswith("they talked")


async def test_a_summary_is_tried_again_after_an_undo() -> None:
    said = talk(30)
    made, model = room(said), Summariser(["fail"])
    with pytest.raises(BrokenStream):
        await made.make(model)
    await made.transcript.rewind(said[24].id)
    model.answers = ["they talked"]
    await made.make(model)
    assert sent(made, model)[0].endswith("they talked")


async def test_the_summary_of_a_summary_is_shown_the_first_whole() -> None:
    model = Summariser(["first zebra-42 " + "and " * 100 + "END", "second"])
    made = room(talk())
    await made.make(model)
    await made.transcript.append(*talk(12))
    await made.make(model)
    assert "EARLIER SUMMARY: first zebra-42" in model.asked[-1].messages[0].text()
    assert "and END" in model.asked[-1].messages[0].text()
    shown = sent(made, model)
    assert shown[0] == compaction.HEADING + "second"
    assert not any("first zebra-42" in text for text in shown)


async def test_instructions_and_tools_larger_than_the_window_are_told_so() -> None:
    made = room([*talk(3), Message("user", "hi")])
    made.context.system_prompt = "x" * 20_000
    with pytest.raises(ContextTooLong, match=r"instructions and tools alone take about 5,0\d\d tokens"):
        await made.make(Summariser(["never asked"]))


async def test_the_user_is_told_how_full_the_window_is_after_it_was_emptied() -> None:
    told: list[TurnEvent] = []
    made = room(talk(), told)
    before = made.context.size(model := Summariser(["they talked"]))
    await made.make(model)
    (shown,) = [event for event in told if isinstance(event, UsageChanged)]
    assert shown.used == made.context.size(model) < before


async def test_cancelled_while_the_ledger_takes_it_a_compaction_has_happened_and_is_told_so(tmp_path: Path) -> None:
    told: list[TurnEvent] = []
    ledger, model = Ledger(tmp_path / "state.db"), Summariser(["they talked"], usage=None)
    await ledger(SessionDB.create_session, "s", source="acp", model=None, model_config={}, cwd=str(tmp_path))
    transcript = Transcript("s", ledger)
    await transcript.append(*talk())
    made = Room(Context(transcript, "be brief", dict, told.append), told.append)
    with closing(sqlite3.connect(tmp_path / "state.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        compacting = asyncio.create_task(made.compact(model))
        async with asyncio.timeout(10):
            while not transcript._lock.locked():
                await asyncio.sleep(0.001)
        compacting.cancel()
        await asyncio.sleep(0)
        other.rollback()
    with pytest.raises(asyncio.CancelledError):
        await compacting
    statuses = [event.status for event in told if isinstance(event, CompactionChanged)]
    assert statuses == ["in_progress", "completed"]
    assert transcript.messages == await ledger(SessionDB.conversation, "s")
    assert transcript.messages[0].text().endswith("they talked")
    await ledger.aclose()
