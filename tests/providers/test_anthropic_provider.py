"""Anthropic over HTTP: the strict server takes what is sent, failures have their own errors, the key stays secret."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import anthropic
import pytest

from acp_adapter.errors import (
    BrokenStream,
    ContextTooLong,
    ProviderAuthFailed,
    ProviderError,
    ProviderFault,
    ProviderOverloaded,
    ProviderRejected,
    ProviderUnreachable,
)
from acp_adapter.providers.anthropic.provider import PAGES, AnthropicProvider
from acp_adapter.providers.anthropic.request import THOUGHTS
from acp_adapter.providers.card import Effort, Listed, ModelCard
from acp_adapter.providers.port import Completed, ReasoningDelta, TextDelta, ToolSpec
from acp_adapter.transcript import Usage
from tests.providers.anthropic_server import AnthropicServer
from tests.providers.calls import answer, events, request, result
from tests.providers.cases import CASES, PICTURE, READ
from tests.stub_server import DROP, ERR, FILTER, HANG, LEN, RAW, SHELL, STALL, C, R, Step, T

Make = Callable[..., AnthropicProvider]
KEY = "sk-ant-api03-abcdefghijklmnop0123456789"


async def test_an_answer_streams_and_comes_whole_at_the_end(claude: AnthropicServer, claude_at: Make) -> None:
    claude.add(R("let me ", "see") + T("I ", "look.") + C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, "{broken"))
    got = await events(claude_at(claude, api_key=KEY), request("hi", tools=[READ]))
    assert got[:-1] == [ReasoningDelta("let me "), ReasoningDelta("see"), TextDelta("I "), TextDelta("look.")]
    completed = got[-1]
    assert isinstance(completed, Completed)
    assert completed.finish_reason == "tool_calls"
    assert (completed.message.content, completed.message.reasoning) == ("I look.", "let me see")
    assert [(c.id, c.name, c.arguments) for c in completed.message.calls()] == [
        ("c1", SHELL, '{"command": "ls"}'),
        ("c2", SHELL, "{broken"),
    ]
    assert completed.usage == Usage(input_tokens=105, output_tokens=7, cache_read_tokens=40, cache_write_tokens=5)
    asked = claude.requests[0]
    assert asked.headers["x-api-key"] == KEY
    assert "authorization" not in asked.headers


async def test_thinking_goes_back_with_its_signatures_and_in_its_places(
    claude: AnthropicServer, claude_at: Make
) -> None:
    claude.add(
        R("one") + T("I see. ") + R("two") + C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, {}),
        R("three") + C("c3", SHELL, {}),
        T("it is"),
        T("yes"),
    )
    provider = claude_at(claude)
    messages: list[Any] = ["look"]
    for _ in range(2):
        step = (await answer(provider, request(*messages))).message
        messages += [step, *(result(each.id, "ok") for each in step.calls())]
    messages += [(await answer(provider, request(*messages))).message, "sure?"]
    await answer(provider, request(*messages))
    turns = [turn["content"] for turn in claude.requests[-1].body["messages"] if turn["role"] == "assistant"]
    assert [[block["type"] for block in turn] for turn in turns] == [
        ["thinking", "text", "thinking", "tool_use", "tool_use"],
        ["thinking", "tool_use"],
        ["text"],
    ]
    sent = {block["signature"]: block["thinking"] for turn in turns for block in turn if block["type"] == "thinking"}
    assert sent == claude.issued


async def test_redacted_thinking_is_kept_and_sent_back(claude: AnthropicServer, claude_at: Make) -> None:
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    claude.add(streamed([hidden], [{"type": "text", "text": "hello"}], stop_reason="end_turn"), T("ok"))
    provider = claude_at(claude)
    first = (await answer(provider, request("hi"))).message
    assert first.content == "hello"
    await answer(provider, request("hi", first, "and?"))
    assert claude.requests[-1].body["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": "aGlkZGVu"}


@pytest.mark.parametrize("name", CASES)
async def test_the_server_answers_every_case(claude: AnthropicServer, claude_at: Make, name: str) -> None:
    claude.add(T("fine"))
    assert (await answer(claude_at(claude), CASES[name])).message.content == "fine"


def test_the_official_client_reads_our_server_as_it_reads_anthropic_s(claude: AnthropicServer) -> None:
    claude.add(R("hm") + T("I look. ") + C("c1", SHELL, {"command": "ls"}))
    with anthropic.Anthropic(api_key=KEY, base_url=claude.base_url.removesuffix("/v1")) as client:
        asked: Any = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
        with client.messages.stream(model=claude.model, max_tokens=100, messages=asked) as stream:
            message = stream.get_final_message()
    thinking, text, call = message.content
    assert (thinking.type, text.type, call.type) == ("thinking", "text", "tool_use")
    assert thinking.type == "thinking" and thinking.thinking == "hm" and thinking.signature in claude.issued
    assert call.type == "tool_use" and (call.id, call.name, call.input) == ("c1", SHELL, {"command": "ls"})
    assert (message.stop_reason, message.usage.cache_read_input_tokens) == ("tool_use", 40)


LONG = "prompt is too long: 210000 tokens > 200000 maximum"
CREDIT = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."
LEFT_OVER = (
    "input length and `max_tokens` exceed context limit: {} + 32000 > 200000, decrease input length or `max_tokens` "
    "and try again"
)
INVALID = {"type": "error", "error": {"type": "invalid_request_error", "message": "no such thing"}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    ("step", "error", "told"),
    [
        (ERR(401, "invalid x-api-key"), ProviderAuthFailed, "invalid x-api-key"),
        (ERR(403, "not yours"), ProviderAuthFailed, "not yours"),
        (ERR(429, "slow down", retry_after="7"), ProviderOverloaded, "slow down"),
        (ERR(529, "Overloaded"), ProviderOverloaded, "Overloaded"),
        (ERR(500, "oops"), ProviderFault, "oops"),
        (ERR(400, LONG), ContextTooLong, "too long"),
        (ERR(413, "Request exceeds the maximum size"), ContextTooLong, "maximum size"),
        (ERR(400, CREDIT), ProviderRejected, "credit"),
        (ERR(400, LEFT_OVER.format(199_000)), ContextTooLong, "context limit"),
        (ERR(404, "model: claude-9"), ProviderRejected, "ACP_ADAPTER_MODEL"),
        (RAW(f"event: error\ndata: {json.dumps(OVERLOADED)}\n\n"), ProviderOverloaded, "Overloaded"),
        (RAW(f"event: error\ndata: {json.dumps(INVALID)}\n\n"), ProviderRejected, "no such thing"),
        (DROP("one ", "two"), BrokenStream, "broke off|lost"),
        (RAW('event: ping\ndata: {"type": "ping"}\n\n'), BrokenStream, "no answer"),
        (RAW('data: {"type": "content_block_delta", "delta": {}}\n\n'), BrokenStream, "form of its own"),
        (RAW("<html>", "text/html"), ProviderRejected, "no model's stream"),
        (STALL("one"), ProviderUnreachable, "silent"),
    ],
)
async def test_every_failure_has_its_own_error(
    claude: AnthropicServer, claude_at: Make, step: Step, error: type[ProviderError], told: str
) -> None:
    claude.add(step)
    with pytest.raises(error, match=told) as caught:
        await answer(claude_at(claude, api_key=KEY, silence=0.5))
    assert type(caught.value) is error
    assert KEY not in str(caught.value)
    if step.status == 429 and isinstance(caught.value, ProviderOverloaded):
        assert caught.value.retry_after == 7


async def test_a_server_that_echoes_the_key_does_not_get_it_into_errors_or_logs(
    claude: AnthropicServer, claude_at: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    claude.add(ERR(401, f"the key {KEY} is wrong"))
    with pytest.raises(ProviderAuthFailed) as caught:
        await answer(claude_at(claude, api_key=KEY))
    assert KEY not in str(caught.value) + caplog.text + repr(claude_at(claude, api_key=KEY))


@pytest.mark.parametrize(
    ("step", "finish"),
    [(LEN("cut"), "length"), (FILTER("no"), "content_filter"), (T("fine"), "stop"), (C("c1", SHELL, {}), "tool_calls")],
)
async def test_why_it_ended_is_told_in_our_words(
    claude: AnthropicServer, claude_at: Make, step: Step, finish: str
) -> None:
    claude.add(step)
    assert (await answer(claude_at(claude))).finish_reason == finish


async def test_reasoning_alone_is_a_whole_answer_of_no_words(claude: AnthropicServer, claude_at: Make) -> None:
    claude.add(R("hm"))
    completed = await answer(claude_at(claude))
    assert (completed.message.content, completed.message.reasoning, completed.finish_reason) == (None, "hm", "stop")


async def test_a_reader_that_goes_away_hangs_up(claude: AnthropicServer, claude_at: Make) -> None:
    claude.add(STALL("one "), HANG)
    provider = claude_at(claude)
    async with aclosing(provider.stream(request())) as stream:
        assert await anext(stream) == TextDelta("one ")
    waiting = asyncio.create_task(answer(provider))
    await asyncio.to_thread(claude.wait_for_requests, 2)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(claude.wait_for_hangups, 2)


@pytest.mark.parametrize("field", ["cache_control", "output_config", "thinking", "thinking.adaptive.display"])
async def test_a_server_that_does_not_know_a_field_is_asked_without_it_from_then_on(
    claude_at: Make, field: str
) -> None:
    with AnthropicServer(T("one"), T("two"), refuses=[field]) as server:
        provider = claude_at(server)
        assert (await answer(provider, request("hi", effort="low"))).message.content == "one"
        before = len(server.requests)
        assert (await answer(provider, request("hi", effort="low"))).message.content == "two"
        assert len(server.requests) == before + 1
        sent = server.requests[-1].body
        assert f'"{field.rpartition(".")[2]}"' not in json.dumps(sent)
        assert field == "thinking" or sent["thinking"]["type"] == "adaptive"


async def test_complaints_about_tokens_pictures_and_signatures_are_answered(
    claude: AnthropicServer, claude_at: Make
) -> None:
    most = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-old"
    claude.add(ERR(400, most), T("one"), ERR(400, "messages.0.content.1.image.source: not supported"), T("two"))
    provider = claude_at(claude)
    asked = request([{"type": "text", "text": "what?"}, PICTURE])
    assert (await answer(provider, asked)).message.content == "one"
    assert claude.requests[-1].body["max_tokens"] == 8192
    assert (await answer(provider, asked)).message.content == "two"
    assert "image" not in json.dumps(claude.requests[-1].body["messages"]).replace("image_url", "")
    claude.add(R("hm") + T("three"))
    first = (await answer(provider, request("hi"))).message
    claude.add(ERR(400, "messages.1.content.0: Invalid `signature` in `thinking` block"), T("four"))
    assert (await answer(provider, request("hi", first, "go on"))).message.content == "four"
    assert [block["type"] for block in claude.requests[-1].body["messages"][1]["content"]] == ["text"]


async def test_a_server_without_the_field_for_caching_gets_markers(claude: AnthropicServer, claude_at: Make) -> None:
    claude.add(ERR(400, "cache_control: Extra inputs are not permitted"), T("one"))
    provider = claude_at(claude)
    first = (await answer(provider, request("hi"))).message
    claude.add(T("two"))
    await answer(provider, request("hi", first, "and?"))
    sent = claude.requests[-1].body
    assert "cache_control" not in sent
    assert ["cache_control" in turn["content"][-1] for turn in sent["messages"]] == [True, False, True]


async def test_an_answer_is_asked_for_that_fits_into_what_is_left_of_the_window(
    claude: AnthropicServer, claude_at: Make
) -> None:
    claude.add(ERR(400, LEFT_OVER.format(190_000)), T("one"), T("two"))
    provider = claude_at(claude)
    assert (await answer(provider, request("a long one"))).message.content == "one"
    assert claude.requests[-1].body["max_tokens"] == 10_000
    await answer(provider, request("after making room"))
    assert claude.requests[-1].body["max_tokens"] == 32_000


async def test_a_tool_whose_schema_the_server_refuses_does_not_stop_the_others(
    claude: AnthropicServer, claude_at: Make
) -> None:
    """The strict server refuses this name of a property, as the real one does."""
    odd = ToolSpec("odd", "Odd.", {"type": "object", "properties": {"ein Wört": {"type": "string"}}})
    claude.add(T("fine"))
    assert (await answer(claude_at(claude), request("hi", tools=[READ, odd]))).message.content == "fine"
    first, second = claude.requests[-1].body["tools"]
    assert first["input_schema"] == READ.parameters
    assert second["input_schema"] == {"type": "object"}
    assert second["description"].startswith("Odd.\n\n") and "ein Wört" in second["description"]


async def test_an_answer_that_comes_whole_is_as_good_as_a_streamed_one(
    claude: AnthropicServer, claude_at: Make
) -> None:
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": SHELL, "input": {"command": "ls"}},
    ]
    whole = {"type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use", "usage": {}}
    claude.add(RAW(json.dumps(whole), "application/json"))
    message = (await answer(claude_at(claude))).message
    assert (message.content, message.reasoning, message.finish_reason) == ("I look.", "hm", "tool_calls")
    assert message.calls()[0].arguments == '{"command": "ls"}'


def streamed(*blocks: list[dict[str, Any]], **end: Any) -> Step:
    """An answer of events as they are: each block its start, then its deltas."""
    told: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": {"input_tokens": 3}}}]
    for index, (start, *deltas) in enumerate(blocks):
        told.append({"type": "content_block_start", "index": index, "content_block": start})
        told += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    told += [{"type": "message_delta", "delta": end}, {"type": "message_stop"}]
    return RAW("".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in told))


async def test_blocks_of_other_kinds_are_passed_over(claude: AnthropicServer, claude_at: Make) -> None:
    """A server may search the web by itself; what it says of that is none of our calls."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    given = {"type": "input_json_delta", "partial_json": "{}"}
    claude.add(streamed([search, given], [{"type": "text", "text": "found"}], stop_reason="pause_turn"))
    completed = await answer(claude_at(claude))
    assert (completed.message.content, completed.message.tool_calls) == ("found", None)
    assert completed.finish_reason == "stop"


async def test_a_refusal_is_shown_as_it_explains_itself(claude: AnthropicServer, claude_at: Make) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "This is against the policy."}
    claude.add(streamed(stop_reason="refusal", stop_details=details))
    got = await events(claude_at(claude))
    assert got[0] == TextDelta("This is against the policy.")
    assert isinstance(got[1], Completed) and got[1].finish_reason == "content_filter"


async def test_a_window_that_is_full_in_the_middle_of_an_answer_cuts_it(
    claude: AnthropicServer, claude_at: Make
) -> None:
    claude.add(streamed([{"type": "text", "text": "as far as"}], stop_reason="model_context_window_exceeded"))
    completed = await answer(claude_at(claude))
    assert (completed.message.content, completed.finish_reason) == ("as far as", "length")


async def test_thinking_that_is_not_shown_goes_back_all_the_same(claude: AnthropicServer, claude_at: Make) -> None:
    signed = {"type": "signature_delta", "signature": "c2ln"}
    claude.add(streamed([{"type": "thinking", "thinking": ""}, signed], [{"type": "text", "text": "yes"}]))
    with pytest.raises(BrokenStream):
        await answer(claude_at(claude))
    thought, text = [{"type": "thinking", "thinking": ""}, signed], [{"type": "text", "text": "yes"}]
    claude.add(streamed(thought, text, stop_reason="end_turn"), T("ok"))
    first = (await answer(claude_at(claude))).message
    assert first.reasoning is None
    await answer(claude_at(claude), request("hi", first, "and?"))
    back, _ = claude.requests[-1].body["messages"][1]["content"]
    assert back == {"type": "thinking", "thinking": "", "signature": "c2ln"}


async def test_a_model_that_can_t_be_told_not_to_think_is_told_to_think_little_and_given_room_for_it(
    claude: AnthropicServer, claude_at: Make
) -> None:
    claude.add(ERR(400, '"thinking.type.disabled" is not supported for this model.'), T("fine"))
    assert (await answer(claude_at(claude), request("hi", effort="off", max_tokens=60))).message.content == "fine"
    refused, sent = (asked.body for asked in claude.requests)
    assert (refused["thinking"], refused["max_tokens"]) == ({"type": "disabled"}, 60)
    assert "thinking" not in sent
    assert sent["output_config"] == {"effort": "low"}
    assert sent["max_tokens"] == 60 + THOUGHTS


async def test_the_models_are_listed_with_what_the_server_knows_of_them(
    claude: AnthropicServer, claude_at: Make
) -> None:
    claude.listed = ["claude-stub-5", {"id": "old"}, {"no": "id"}]
    efforts: tuple[Effort, ...] = ("off", "low", "medium", "high")
    assert await claude_at(claude).models() == [
        Listed("claude-stub-5", ModelCard(200_000, 64_000, True, False, efforts), "Claude-Stub-5"),
        Listed("old", ModelCard(audio=False, efforts=efforts)),
    ]


async def test_the_models_are_listed_page_by_page_to_a_bound(claude: AnthropicServer, claude_at: Make) -> None:
    claude.listed, claude.page = [f"claude-{n}" for n in range(25)], 3
    assert [listed.id for listed in await claude_at(claude).models()] == claude.listed
    claude.page = 2
    assert len(await claude_at(claude).models()) == 2 * PAGES
