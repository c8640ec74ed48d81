"""What a person says while turns run, in any order: nothing is lost or comes twice, and every request is valid."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.agent.base import StopReason
from acp_adapter.agent.events import UserMessage
from acp_adapter.agent.projection import events_of
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, ToolCall
from tests.agent.house import House, house

STEPS = ("prompt", "steer", "text", "call", "length", "breathe")


@given(st.lists(st.sampled_from((*STEPS, "cancel")), max_size=14))
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_nothing_is_lost_in_any_order(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), steps))


@given(st.lists(st.sampled_from(STEPS), max_size=14))
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_without_a_cancel_the_model_sees_all_of_it(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), steps))


async def play(folder: Path, steps: Sequence[str]) -> None:
    async with house(folder) as here:
        said: dict[str, asyncio.Task[StopReason]] = {}
        for step in steps:
            await do(here, step, said)
        await here.settle(*said.values())
        await check(here, said, cancelled="cancel" in steps)


async def do(here: House, step: str, said: dict[str, asyncio.Task[StopReason]]) -> None:
    text = f"{step} {len(said)}"
    if step == "prompt":
        said[text] = asyncio.create_task(here.session.prompt(text))
    elif step == "steer":
        said[text] = asyncio.create_task(here.session.steer(f"/steer {text}", text))
    elif step == "cancel":
        here.session.cancel()
    elif step == "breathe":
        await asyncio.sleep(0.005)
    elif await here.until_kept():
        here.gate.words.put_nowait(step)
    await asyncio.sleep(0)


async def check(here: House, said: dict[str, asyncio.Task[StopReason]], *, cancelled: bool) -> None:
    stored = await here.stored()
    users = [sent(message) for message in stored if message.role == "user"]
    assert sorted(users) == sorted(said), "everything is stored, once"
    assert [text for text in users if text.startswith("prompt")] == [text for text in said if text.startswith("prompt")]
    assert [message.id for message in stored] == [message.id for message in here.session.history]
    stops = {text: task.result() for text, task in said.items()}
    assert set(stops.values()) <= {"end_turn", "max_tokens", "cancelled"}
    if not cancelled:
        seen = {sent(message) for request in here.model.requests for message in request.messages}
        assert seen >= set(said), "everything was seen by the model"
        assert "cancelled" not in stops.values()
    for request in here.model.requests:
        assert_in_order(request.messages)
        ids = [message.id for message in request.messages]
        assert ids == [message.id for message in stored][: len(ids)], "what was sent once is never sent otherwise"


def assert_in_order(messages: Sequence[Message]) -> None:
    """As the strictest provider wants it: a user's word last or a result, and each call with its result behind it."""
    assert messages[-1].role in ("user", "tool")
    expected: list[ToolCall] = []
    for message in messages:
        if expected:
            assert message.tool_call_id == expected.pop(0).id
        else:
            assert message.role != "tool"
            expected = message.calls()
    assert not expected


def sent(message: Message) -> str:
    """What the model reads of it."""
    return str(message.content if message.api_content is None else message.api_content)


async def test_a_word_to_a_turn_that_is_about_to_end_gets_one_more_step(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        asked = asyncio.create_task(here.session.prompt("go"))
        await here.until_kept()
        assert await here.session.steer("/steer wait", "wait") == "end_turn"
        assert not asked.done()
        await here.settle(asked)
        assert [sent(m) for m in here.model.requests[-1].messages] == ["go", "answer 1", "wait"]


async def test_a_word_before_the_first_word_of_an_answer_is_replayed_before_it_though_the_model_read_it_later(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as here:
        here.model.silent = True
        asked = asyncio.create_task(here.session.prompt("go"))
        await here.until_kept()
        await here.session.steer("/steer wait", "wait")
        await here.settle(asked)
        stored = await here.ledger(SessionDB.replay, here.session.id)
        assert [message.text() for message in stored] == ["go", "answer 1", "/steer wait", "answer 2"]
        shown = [e.parts[0]["text"] if isinstance(e, UserMessage) else e.text for e in events_of(stored)]  # type: ignore[union-attr]
        assert shown == ["go", "/steer wait", "answer 1", "answer 2"]


async def test_a_word_during_a_call_comes_after_its_result(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        asked = asyncio.create_task(here.session.prompt("go"))
        await here.until_kept()
        here.gate.words.put_nowait("call")
        await asyncio.sleep(0)
        await here.until_kept()
        await here.session.steer("/steer faster", "faster")
        await here.settle(asked)
        assert [m.role for m in here.model.requests[-1].messages] == ["user", "assistant", "tool", "user"]


async def test_what_was_said_to_a_cancelled_turn_is_kept_as_a_prompt(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        asked = asyncio.create_task(here.session.prompt("go"))
        await here.until_kept()
        await here.session.steer("/steer stop it", "stop it")
        here.session.cancel()
        assert await asked == "cancelled"
        assert [message.text() for message in await here.stored()] == ["go", "answer 1", "/steer stop it"]


async def test_a_command_answers_between_messages(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        asked = asyncio.create_task(here.session.prompt("go"))
        await here.until_kept()
        told = asyncio.create_task(here.session.say("the usage"))
        await asyncio.sleep(0)
        assert not told.done(), "a message is being streamed"
        await here.settle(asked, told)
