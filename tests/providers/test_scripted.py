"""The scripted provider plays what its file says, in an order that can be relied on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.errors import (
    BrokenStream,
    InvalidParams,
    ProviderAuthFailed,
    ProviderError,
    ProviderFault,
    ProviderOverloaded,
    ProviderRejected,
)
from acp_adapter.providers.port import ReasoningDelta, TextDelta
from acp_adapter.providers.scripted import ScriptedProvider
from acp_adapter.transcript import Message, ToolCall, Usage
from tests.providers.calls import answer, events, request


async def said(provider: ScriptedProvider, *messages: Message | str) -> str | None:
    content = (await answer(provider, request(*messages))).message.content
    assert content is None or isinstance(content, str)
    return content


def written(folder: Path, script: Any) -> Path:
    path = folder / "script.json"
    path.write_text(script if isinstance(script, str) else json.dumps(script), "utf-8")
    return path


async def test_a_step_with_everything() -> None:
    step = {
        "reasoning": "hm",
        "text": ["I ", "look."],
        "tool_calls": [{"name": "read_file", "arguments": {"path": "ü"}}, {"id": "x", "name": "f", "arguments": "{no"}],
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    *deltas, completed = await events(ScriptedProvider([step]))
    assert deltas == [ReasoningDelta("hm"), TextDelta("I "), TextDelta("look.")]
    assert completed.finish_reason == "tool_calls"  # type: ignore[union-attr]
    assert completed.usage == Usage(5, 2)  # type: ignore[union-attr]
    message = completed.message  # type: ignore[union-attr]
    assert (message.role, message.content, message.reasoning) == ("assistant", "I look.", "hm")
    assert message.calls() == [ToolCall("call_1", "read_file", '{"path": "ü"}'), ToolCall("x", "f", "{no")]


async def test_text_can_be_cut_and_repeated() -> None:
    *deltas, completed = await events(ScriptedProvider([{"text": "abc", "chunk_size": 2, "repeat": 2}]))
    assert deltas == [TextDelta("ab"), TextDelta("c"), TextDelta("ab"), TextDelta("c")]
    assert completed.message.content == "abcabc"  # type: ignore[union-attr]


async def test_steps_are_played_in_order_and_their_end_is_told() -> None:
    provider = ScriptedProvider([{"text": "one"}, {"text": "two", "finish_reason": "length"}])
    assert await said(provider) == "one"
    assert (await answer(provider)).finish_reason == "length"
    with pytest.raises(ProviderRejected, match="no step left"):
        await answer(provider)


async def test_by_history_a_restarted_process_goes_on_where_the_conversation_is() -> None:
    steps = [{"text": "one"}, {"text": "two"}]
    history: list[Message | str] = ["first", Message("assistant", "one"), "second"]
    assert await said(ScriptedProvider(steps, by="history"), *history) == "two"
    assert await said(ScriptedProvider(steps, by="history"), *history) == "two"


async def test_by_turn_the_same_words_get_the_same_answers_every_time() -> None:
    steps: list[dict[str, Any]] = [
        {"when": "list", "tool_calls": [{"name": "list_directory"}]},
        {"when": "list", "text": "Two files."},
        {"text": "I don't know that."},
    ]
    provider = ScriptedProvider(steps, by="turn")
    history: list[Message | str] = []
    for _ in range(2):
        asked = await answer(provider, request(*history, "please list"))
        assert asked.message.calls()[0].name == "list_directory"
        history += ["please list", asked.message, Message("tool", "a b", tool_call_id="call_1")]
        assert await said(provider, *history) == "Two files."
        history.append(Message("assistant", "Two files."))
        assert await said(provider, *history, "sing") == "I don't know that."


async def test_steps_for_other_words_are_passed_over() -> None:
    provider = ScriptedProvider([{"when": "b", "text": "for b"}, {"text": "for any"}])
    assert await said(provider, "a") == "for any"
    assert await said(provider, "b") == "for b"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"status": 401}, ProviderAuthFailed),
        ({"status": 400, "message": "no"}, ProviderRejected),
        ({"status": 500}, ProviderFault),
        ({"status": 429, "retry_after": 3}, ProviderOverloaded),
        ({"message": "overloaded_error"}, ProviderOverloaded),
    ],
)
async def test_errors_are_those_of_a_real_server(error: dict[str, Any], kind: type[ProviderError]) -> None:
    with pytest.raises(ProviderError) as caught:
        await answer(ScriptedProvider([{"error": error}]))
    assert type(caught.value) is kind
    assert getattr(caught.value, "retry_after", None) == error.get("retry_after")


async def test_a_stream_can_break_after_so_many_deltas() -> None:
    provider = ScriptedProvider([{"text": ["a", "b", "c"], "drop_after": 2}])
    got = []
    with pytest.raises(BrokenStream):
        async for event in provider.stream(request()):
            got.append(event)
    assert got == [TextDelta("a"), TextDelta("b")]


@pytest.mark.parametrize("step", [{"hang": True}, {"delay": 60, "text": "x"}])
async def test_cancel_ends_any_wait(step: dict[str, Any]) -> None:
    asking = asyncio.create_task(answer(ScriptedProvider([step])))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 1)


async def test_cancel_gets_in_between_two_deltas() -> None:
    got = []

    async def ask() -> None:
        async for event in ScriptedProvider([{"text": "x", "repeat": 100_000}]).stream(request()):
            got.append(event)
            if len(got) == 3:
                asyncio.get_running_loop().call_soon(asking.cancel)

    asking = asyncio.create_task(ask())
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(got) < 10


@pytest.mark.parametrize(
    "script",
    [
        [{"text": "hi"}],
        {"steps": [{"text": "hi"}]},
        {"text": "hi"},
        '{"text": "hi"}\n\n{"text": "ho"}\n',
    ],
)
async def test_a_script_is_json_or_json_lines(tmp_path: Path, script: Any) -> None:
    provider = ScriptedProvider.of_file(written(tmp_path, script))
    assert await said(provider) == "hi"
    assert (provider.name, provider.model) == ("scripted", str(tmp_path / "script.json"))


def test_a_script_tells_its_rule_and_its_window(tmp_path: Path) -> None:
    provider = ScriptedProvider.of_file(written(tmp_path, {"steps": [], "by": "turn", "context_window": 1000}))
    assert (provider.by, provider.card.context_window) == ("turn", 1000)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("nonsense", "neither JSON nor JSON Lines"),
        ({"steps": 7}, "no list of steps"),
        ([7], "Step 1"),
        ([{"text": "x"}, {"txet": "x"}], "Step 2 .* unknown keys: txet"),
        ({"steps": [], "by": "chance"}, "chance"),
    ],
)
def test_a_script_that_is_none_is_refused_with_the_reason(tmp_path: Path, script: Any, told: str) -> None:
    with pytest.raises(InvalidParams, match=told):
        ScriptedProvider.of_file(written(tmp_path, script))


def test_a_script_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidParams, match="nowhere"):
        ScriptedProvider.of_file(tmp_path / "nowhere.json")
