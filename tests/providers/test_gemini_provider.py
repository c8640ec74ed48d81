"""Gemini over HTTP: the strict server takes what is sent, every failure has its own error, and the key stays secret."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from google import genai
from google.genai import types

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
from acp_adapter.providers.card import Listed, ModelCard
from acp_adapter.providers.gemini.answer import GeminiAnswer
from acp_adapter.providers.gemini.provider import GeminiProvider, resource
from acp_adapter.providers.port import Completed, ReasoningDelta, TextDelta, ToolSpec
from acp_adapter.transcript import Message, Usage
from tests.providers.calls import answer, calling, events, request, result
from tests.providers.cases import CASES, PICTURE, READ, call, said
from tests.providers.gemini_server import GeminiServer, named
from tests.stub_server import DROP, ERR, FILTER, HANG, LEN, RAW, SHELL, STALL, C, R, Step, T

Make = Callable[..., GeminiProvider]
KEY = "AIzaSyD-abcdefghijklmnop0123456789"


async def test_an_answer_streams_and_comes_whole_at_the_end(gemini_server: GeminiServer, gemini_at: Make) -> None:
    gemini_server.add(R("let me ", "see") + T("I ", "look.") + C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, {}))
    got = await events(gemini_at(gemini_server, api_key=KEY), request("hi", tools=[READ]))
    assert got[:-1] == [ReasoningDelta("let me "), ReasoningDelta("see"), TextDelta("I "), TextDelta("look.")]
    completed = got[-1]
    assert isinstance(completed, Completed)
    assert completed.finish_reason == "tool_calls"
    assert (completed.message.content, completed.message.reasoning) == ("I look.", "let me see")
    assert [(c.id, c.name, c.arguments) for c in completed.message.calls()] == [
        ("c1", SHELL, '{"command": "ls"}'),
        ("c2", SHELL, "{}"),
    ]
    assert completed.usage == Usage(input_tokens=101, output_tokens=6, cache_read_tokens=40, reasoning_tokens=2)
    asked = gemini_server.requests[0]
    assert asked.headers["x-goog-api-key"] == KEY
    assert KEY not in asked.path and "authorization" not in asked.headers


async def test_signatures_go_back_exactly_and_in_their_places(gemini_server: GeminiServer, gemini_at: Make) -> None:
    gemini_server.add(
        C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, {}), C("c3", SHELL, {}), T("it ", "is"), T("yes")
    )
    provider = gemini_at(gemini_server)
    messages: list[Any] = ["look"]
    for _ in range(2):
        step = (await answer(provider, request(*messages))).message
        messages += [step, *(result(each.id, "ok") for each in step.calls())]
    messages += [(await answer(provider, request(*messages))).message, "sure?"]
    issued = dict(gemini_server.issued)
    await answer(provider, request(*messages))
    sent = [part for content in gemini_server.requests[-1].body["contents"] for part in content["parts"]]
    signatures = {
        named(part["functionCall"]) if "functionCall" in part else part["text"]: part["thoughtSignature"]
        for part in sent
        if "thoughtSignature" in part
    }
    assert signatures == issued


async def test_a_tool_whose_name_the_api_does_not_take_is_called_by_its_own(
    gemini_server: GeminiServer, gemini_at: Make
) -> None:
    gemini_server.add(C("c1", "_3d_render", {}))
    completed = await answer(gemini_at(gemini_server), request(tools=[ToolSpec("3d.render", "Renders.", {})]))
    assert [each.name for each in completed.message.calls()] == ["3d.render"]


async def test_calls_without_ids_get_ids_of_our_own(gemini_at: Make) -> None:
    with GeminiServer(C("x", SHELL, {}) + C("x", SHELL, {}), ids=False) as server:
        provider = gemini_at(server)
        ids = [each.id for each in (await answer(provider)).message.calls()]
    assert len(set(ids)) == 2 and all(ids)


@pytest.mark.parametrize("name", CASES)
async def test_the_server_answers_every_case(gemini_server: GeminiServer, gemini_at: Make, name: str) -> None:
    gemini_server.add(T("fine"))
    assert (await answer(gemini_at(gemini_server), CASES[name])).message.content == "fine"


def test_the_official_client_reads_our_server_as_it_reads_google_s(gemini_server: GeminiServer) -> None:
    gemini_server.add(R("hm") + T("I look. ") + C("c1", SHELL, {"command": "ls"}))
    options = types.HttpOptions(base_url=gemini_server.base_url.removesuffix("/v1beta"), api_version="v1beta")
    with genai.Client(api_key=KEY, http_options=options) as client:
        chunks = list(client.models.generate_content_stream(model=gemini_server.model, contents="hi"))
    parts = [part for chunk in chunks for part in (chunk.candidates or [])[0].content.parts or []]  # type: ignore[union-attr]
    assert [(part.thought, part.text) for part in parts[:2]] == [(True, "hm"), (None, "I look. ")]
    called = parts[2].function_call
    assert called is not None and (called.id, called.name, called.args) == ("c1", SHELL, {"command": "ls"})
    assert parts[2].thought_signature
    assert (chunks[-1].candidates or [])[0].finish_reason == types.FinishReason.STOP
    assert chunks[-1].usage_metadata is not None and chunks[-1].usage_metadata.cached_content_token_count == 40


def quota(delay: str) -> Step:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
    ]
    told = "You exceeded your current quota, please check your plan and billing details."
    error = {"code": 429, "message": told, "status": "RESOURCE_EXHAUSTED", "details": details}
    return RAW(json.dumps({"error": error}), "application/json", 429)


LONG = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
BAD_KEY = "API key not valid. Please pass a valid API key."


def chunk(**candidate: Any) -> str:
    return f"data: {json.dumps({'candidates': [candidate]})}\r\n\r\n"


@pytest.mark.parametrize(
    ("step", "kind", "told"),
    [
        (ERR(400, "no such parameter"), ProviderRejected, "400: no such parameter"),
        (ERR(400, LONG), ContextTooLong, "1048576"),
        (ERR(400, BAD_KEY), ProviderAuthFailed, "acp-adapter setup"),
        (ERR(401, "bad key"), ProviderAuthFailed, "bad key"),
        (ERR(403, "not you"), ProviderAuthFailed, "not you"),
        (ERR(404, "models/x is not found for API version v1beta"), ProviderRejected, "ACP_ADAPTER_MODEL"),
        (ERR(429, "slow down"), ProviderOverloaded, "slow down"),
        (ERR(500), ProviderFault, "500"),
        (ERR(503, "The model is overloaded."), ProviderOverloaded, "overloaded"),
        (ERR(504), ProviderFault, "504"),
        (DROP("a", "b", "c"), BrokenStream, "connection was lost"),
        (RAW(""), BrokenStream, "sent no answer"),
        (RAW(chunk(content={"parts": [{"text": "x"}]})), BrokenStream, "broke off"),
        (RAW('data: {"candidates":[{"con\n\n'), BrokenStream, "garbled"),
        (RAW('data: {"candidates":[5]}\n\n'), BrokenStream, "a form of its own"),
        (RAW('data: {"error":{"code":503,"message":"gone","status":"UNAVAILABLE"}}\n\n'), ProviderOverloaded, "gone"),
        (RAW('data: {"error":{"message":"died"}}\n\n'), ProviderFault, "died"),
        (RAW(chunk(finishReason="MALFORMED_FUNCTION_CALL", finishMessage="f(x")), BrokenStream, "FUNCTION_CALL: f(x"),
        (C("c1", SHELL, "{broken"), BrokenStream, "MALFORMED_FUNCTION_CALL"),
        (RAW(chunk(finishReason="OTHER")), BrokenStream, "OTHER"),
        (RAW("<html>Log in to the hotel's network", "text/html"), ProviderRejected, "text/html"),
    ],
)
async def test_each_failure_is_told_as_what_it_is(
    gemini_server: GeminiServer, gemini_at: Make, step: Step, kind: type[ProviderError], told: str
) -> None:
    gemini_server.add(step)
    with pytest.raises(ProviderError) as caught:
        await answer(gemini_at(gemini_server))
    assert type(caught.value) is kind
    assert told in caught.value.message
    assert len(gemini_server.requests) == 1, "a provider itself never tries again"


@pytest.mark.parametrize(("delay", "seconds"), [("32s", 32), ("1.5s", 1.5), ("soon", None)])
async def test_the_wait_that_google_asks_for_is_passed_on(
    gemini_server: GeminiServer, gemini_at: Make, delay: str, seconds: float | None
) -> None:
    gemini_server.add(quota(delay))
    with pytest.raises(ProviderError) as caught:
        await answer(gemini_at(gemini_server))
    if seconds is None:
        assert type(caught.value) is ProviderRejected, "a quota that no waiting brings back"
    else:
        assert isinstance(caught.value, ProviderOverloaded) and caught.value.retry_after == seconds


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"])
async def test_an_answer_that_is_stopped_is_a_refusal(
    gemini_server: GeminiServer, gemini_at: Make, reason: str
) -> None:
    gemini_server.add(RAW(chunk(content={"parts": [{"text": "I mu"}]}, finishReason=reason)))
    completed = await answer(gemini_at(gemini_server))
    assert (completed.finish_reason, completed.message.content) == ("content_filter", "I mu")


async def test_a_prompt_that_is_blocked_is_a_refusal(gemini_server: GeminiServer, gemini_at: Make) -> None:
    gemini_server.add(RAW('data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}\n\n'), FILTER("no"))
    completed = await answer(gemini_at(gemini_server))
    assert (completed.finish_reason, completed.message.content) == ("content_filter", None)
    assert (await answer(gemini_at(gemini_server))).finish_reason == "content_filter"


async def test_a_token_limit_finishes_as_what_it_is(gemini_server: GeminiServer, gemini_at: Make) -> None:
    gemini_server.add(LEN("half a sen"))
    assert (await answer(gemini_at(gemini_server))).finish_reason == "length"


async def test_reasoning_alone_is_completed_so_that_the_caller_can_tell(
    gemini_server: GeminiServer, gemini_at: Make
) -> None:
    gemini_server.add(R("hm"))
    completed = await answer(gemini_at(gemini_server))
    assert (completed.message.content, completed.message.reasoning) == (None, "hm")


@pytest.mark.parametrize("step", [HANG, STALL("a")], ids=["before the first byte", "in the middle"])
async def test_cancelling_ends_the_request_at_once(gemini_server: GeminiServer, gemini_at: Make, step: Step) -> None:
    gemini_server.add(step, T("fine"))
    provider = gemini_at(gemini_server)
    asking = asyncio.create_task(answer(provider))
    await asyncio.to_thread(gemini_server.wait_for_requests, 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 5)
    await asyncio.to_thread(gemini_server.wait_for_hangups, 1)
    assert (await answer(provider)).message.content == "fine"


async def test_silence_is_unreachable(gemini_server: GeminiServer, gemini_at: Make) -> None:
    gemini_server.add(HANG, STALL("a"))
    provider = gemini_at(gemini_server, silence=0.2)
    for told in ("silent", "fell silent"):
        with pytest.raises(ProviderUnreachable, match=told):
            await answer(provider)


async def test_text_before_a_lost_connection_was_delivered(gemini_server: GeminiServer, gemini_at: Make) -> None:
    gemini_server.add(DROP("a", "b"))
    got = []
    async with aclosing(gemini_at(gemini_server).stream(request())) as stream:
        with pytest.raises(BrokenStream):
            async for event in stream:
                got.append(event)
    assert got == [TextDelta("a"), TextDelta("b")]


async def test_the_key_appears_nowhere_even_if_the_server_echoes_it(
    gemini_server: GeminiServer, gemini_at: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gemini_server.add(ERR(400, f"thinkingLevel: {KEY}"), ERR(400, BAD_KEY + KEY))
    provider = gemini_at(gemini_server, api_key=KEY)
    with pytest.raises(ProviderAuthFailed) as caught:
        await answer(provider)
    everything = f"{provider!r} {caught.value!r} {caplog.text}"
    assert "***" in everything and KEY not in everything


def config(server: GeminiServer) -> list[Any]:
    return [asked.body.get("generationConfig", {}).get("thinkingConfig") for asked in server.requests]


async def test_a_model_that_can_t_be_set_to_that_level_thinks_at_the_next(
    gemini_server: GeminiServer, gemini_at: Make
) -> None:
    gemini_server.add(ERR(400, "Thinking level MEDIUM is not supported for this model."), T("one"), T("two"))
    provider = gemini_at(gemini_server)
    for _ in range(2):
        await answer(provider, request(effort="medium"))
    assert [each["thinkingLevel"] for each in config(gemini_server)] == ["medium", "high", "high"]


async def test_a_model_that_takes_no_word_about_thinking_is_left_alone(
    gemini_server: GeminiServer, gemini_at: Make
) -> None:
    refusal = ERR(400, "Thinking is not supported for this model.")
    gemini_server.add(refusal, refusal, T("one"))
    await answer(gemini_at(gemini_server), request(effort="high"))
    assert config(gemini_server)[1:] == [{"includeThoughts": True, "thinkingBudget": 24576}, None]


async def test_a_server_that_keeps_refusing_is_not_asked_for_ever(gemini_server: GeminiServer, gemini_at: Make) -> None:
    told = 'thought_signature, thinking, parametersJsonSchema, image; Unknown name "id"'
    gemini_server.add(*[ERR(400, told)] * 20)
    with pytest.raises(ProviderRejected):
        await answer(gemini_at(gemini_server), request([PICTURE], effort="medium", tools=[READ]))
    assert len(gemini_server.requests) <= 8


@pytest.mark.parametrize(
    "told",
    [
        "Unknown name \"parametersJsonSchema\" at 'tools[0]': Cannot find field.",
        "functionDeclaration `parameters.path` schema didn't specify the schema type field.",
    ],
)
async def test_a_server_that_takes_no_json_schema_gets_the_older_form(
    gemini_server: GeminiServer, gemini_at: Make, told: str
) -> None:
    gemini_server.add(ERR(400, told), T("one"))
    await answer(gemini_at(gemini_server), request(tools=[READ]))
    (declaration,) = gemini_server.requests[-1].body["tools"][0]["functionDeclarations"]
    assert declaration["parameters"] == READ.parameters and "parametersJsonSchema" not in declaration


async def test_a_server_without_call_ids_gets_none(gemini_server: GeminiServer, gemini_at: Make) -> None:
    told = "Invalid JSON payload received. Unknown name \"id\" at 'contents[1].parts[0].function_call'"
    gemini_server.add(ERR(400, told), T("one"))
    await answer(gemini_at(gemini_server), request("look", calling(call("c1")), result("c1", "one")))
    assert '"id"' not in json.dumps(gemini_server.requests[-1].body)


async def test_signatures_of_another_model_are_taken_back_when_they_are_refused(
    gemini_server: GeminiServer, gemini_at: Make
) -> None:
    gemini_server.add(ERR(400, "Thought signature is not valid"), T("one"))
    foreign = {**call("c1").raw(), "extra_content": {"google": {"thought_signature": "c2ln"}}}
    step = Message("assistant", None, tool_calls=[foreign])
    await answer(gemini_at(gemini_server), request("look", step, result("c1", "one")))
    signatures = [asked.body["contents"][1]["parts"][0]["thoughtSignature"] for asked in gemini_server.requests]
    assert signatures == ["c2ln", "skip_thought_signature_validator"]


async def test_a_picture_that_the_model_refuses_does_not_end_the_session(
    gemini_server: GeminiServer, gemini_at: Make
) -> None:
    gemini_server.add(ERR(400, "Image input modality is not enabled for models/x"), T("I see none"))
    await answer(gemini_at(gemini_server), request([{"type": "text", "text": "look: "}, PICTURE]))
    assert gemini_server.requests[-1].texts("user") == ["look: [image_url part, not shown]"]


async def test_the_models_that_make_text_are_listed_with_their_limits(
    gemini_server: GeminiServer, gemini_at: Make
) -> None:
    embedding = {"name": "models/embedding-1", "supportedGenerationMethods": ["embedContent"]}
    small = {"name": "models/gemma-3", "supportedGenerationMethods": ["generateContent"], "inputTokenLimit": 8192}
    gemini_server.listed = ["gemini-3-pro", embedding, small]
    assert await gemini_at(gemini_server).models() == [
        Listed("gemini-3-pro", ModelCard(1048576, 65536, efforts=("low", "medium", "high")), "Gemini-3-Pro"),
        Listed("gemma-3", ModelCard(8192)),
    ]


def test_a_model_s_place_in_the_url() -> None:
    assert resource("gemini-3-pro") == resource("models/gemini-3-pro") == "models/gemini-3-pro"
    assert resource("tunedModels/mine") == "tunedModels/mine"
    assert resource("a b?") == "models/a%20b%3F"


def test_an_answer_in_another_place_of_the_list_is_left_out() -> None:
    reading = GeminiAnswer()
    reading.feed({"candidates": [{"index": 1, "content": {"parts": [{"text": "other"}]}}]})
    reading.feed({"candidates": [{"content": {"parts": [{"text": "mine"}]}, "finishReason": "STOP"}]})
    assert reading.completed().message.content == "mine"


async def test_one_connection_serves_many_requests(gemini_server: GeminiServer, gemini_at: Make) -> None:
    gemini_server.add(T("one"), T("two"), ERR(500), T("three"))
    provider = gemini_at(gemini_server)
    await answer(provider)
    await answer(provider, request("hi", said("one"), "again"))
    with pytest.raises(ProviderFault):
        await answer(provider)
    await answer(provider)
    assert gemini_server.connections == 1
