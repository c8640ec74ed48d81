"""A conversation that outgrows its model's window: what is left out first, what never is, and what is an error."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest
from attrs import define, field

from acp_adapter.agent import compaction
from acp_adapter.agent.context import Context
from acp_adapter.agent.events import CompactionChanged, TurnEvent
from acp_adapter.agent.room import Room
from acp_adapter.errors import BrokenStream, ContextTooLong, PromptTooLong
from acp_adapter.providers.card import ModelCard, Price
from acp_adapter.providers.port import Completed, ModelRequest, StreamEvent
from acp_adapter.transcript import Message, ToolCall, Transcript, Usage


@define(eq=False)
class Summariser:
    """Answers small calls with what it is told, the last answer again and again; `asked` is what it was shown."""

    answers: list[str]
    card: ModelCard = field(factory=lambda: ModelCard(context_window=4000))
    asked: list[ModelRequest] = field(factory=list)
    name: str = "house"
    model: str = "house-1"
    base_url: str = ""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.asked.append(request)
        text = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if text == "fail":
            raise BrokenStream("The connection was lost.")
        yield Completed(Message("assistant", text), "stop", Usage(100, 10))

    async def aclose(self) -> None:
        pass


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
    talk = [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "word " * 200) for n in range(15)]
    made = room(talk, told)
    await made.make(model)
    shown = sent(made, model)
    assert shown[0] == compaction.HEADING + "they talked"
    assert shown[-1] == talk[-1].content
    assert [event.status for event in told if isinstance(event, CompactionChanged)] == ["in_progress", "completed"]


async def test_a_summary_that_failed_is_not_tried_again_until_the_conversation_has_grown() -> None:
    model = Summariser(["word " * 5000])
    talk = [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "word " * 200) for n in range(15)]
    made = room(talk)
    for _ in range(3):
        with pytest.raises(ContextTooLong):
            await made.make(model)
    assert len(model.asked) == 1
    assert [m.content for m in made.transcript.messages] == [m.content for m in talk]
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
    talk = [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "word " * 200) for n in range(15)]
    made = room(talk, told)
    with pytest.raises(BrokenStream):
        await made.make(model)
    assert made.transcript.messages == talk
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
    talk = [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "word " * 200) for n in range(15)]
    made = room(talk)
    await made.compact(model)
    assert made.context.cost == pytest.approx(1.0)
