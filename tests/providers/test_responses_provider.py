"""The Responses API over HTTP: the strict server takes what is sent, every failure has its own error."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from acp_adapter.providers.port import Completed, ReasoningDelta, TextDelta
from acp_adapter.providers.responses.answer import ResponsesAnswer
from acp_adapter.providers.responses.provider import ResponsesProvider
from acp_adapter.transcript import Usage
from tests.providers.calls import answer, events, request, result
from tests.providers.cases import CASES, PICTURE, READ
from tests.providers.responses_server import ResponsesServer
from tests.stub_server import DROP, ERR, FILTER, HANG, LEN, RAW, SHELL, STALL, C, R, Step, T

Make = Callable[..., ResponsesProvider]
KEY = "sk-proj-abcdefghijklmnop0123456789"


async def test_an_answer_streams_and_comes_whole_at_the_end(responses: ResponsesServer, responses_at: Make) -> None:
    responses.add(
        R("let me ", "see") + T("I ", "look.") + C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, "{broken")
    )
    got = await events(responses_at(responses, api_key=KEY), request("hi", tools=[READ]))
    assert got[:-1] == [ReasoningDelta("let me "), ReasoningDelta("see"), TextDelta("I "), TextDelta("look.")]
    completed = got[-1]
    assert isinstance(completed, Completed)
    assert completed.finish_reason == "tool_calls"
    assert (completed.message.content, completed.message.reasoning) == ("I look.", "let me see")
    assert [(c.id, c.name, c.arguments) for c in completed.message.calls()] == [
        ("c1", SHELL, '{"command": "ls"}'),
        ("c2", SHELL, "{broken"),
    ]
    assert completed.usage == Usage(input_tokens=101, output_tokens=6, cache_read_tokens=40, reasoning_tokens=2)
    asked = responses.requests[0]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.path == "/v1/responses"


async def test_reasoning_goes_back_whole_and_in_its_place(responses: ResponsesServer, responses_at: Make) -> None:
    responses.add(
        R("one") + T("I see. ") + R("two") + C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, {}),
        R("three") + C("c3", SHELL, {}),
        T("it is"),
        T("yes"),
    )
    provider = responses_at(responses)
    messages: list[Any] = ["look"]
    for _ in range(2):
        step = (await answer(provider, request(*messages))).message
        messages += [step, *(result(each.id, "ok") for each in step.calls())]
    messages += [(await answer(provider, request(*messages))).message, "sure?"]
    await answer(provider, request(*messages))
    sent = responses.requests[-1].body["input"]
    assert [item["type"] for item in sent] == [
        *("message", "reasoning", "message", "reasoning", "function_call", "function_call"),
        *("function_call_output", "function_call_output", "reasoning", "function_call", "function_call_output"),
        *("message", "message"),
    ]
    kept = {item["id"]: item["encrypted_content"] for item in sent if item["type"] == "reasoning"}
    assert kept == {item_id: content for item_id, (content, _) in responses.issued.items()}


@pytest.mark.parametrize("name", CASES)
async def test_the_server_answers_every_case(responses: ResponsesServer, responses_at: Make, name: str) -> None:
    responses.add(T("fine"))
    assert (await answer(responses_at(responses), CASES[name])).message.content == "fine"


def test_the_official_client_reads_our_server_as_it_reads_openai_s(responses: ResponsesServer) -> None:
    responses.add(R("hm") + T("I look. ") + C("c1", SHELL, {"command": "ls"}))
    with openai.OpenAI(api_key=KEY, base_url=responses.base_url) as client:
        asked: Any = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
        with client.responses.stream(model=responses.model, input=asked, store=False) as stream:
            whole = stream.get_final_response()
    thought, message, call = whole.output
    assert (thought.type, message.type, call.type) == ("reasoning", "message", "function_call")
    assert thought.type == "reasoning" and thought.summary[0].text == "hm"
    assert whole.output_text == "I look. "
    assert call.type == "function_call" and (call.call_id, call.name) == ("c1", SHELL)
    assert whole.usage is not None and whole.usage.input_tokens_details.cached_tokens == 40


LONG = "Your input exceeds the context window of this model. Please adjust your input and try again."
FAILED = {"code": "rate_limit_exceeded", "message": "Rate limit reached"}


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


@pytest.mark.parametrize(
    ("step", "error", "told"),
    [
        (ERR(401, "Incorrect API key provided"), ProviderAuthFailed, "Incorrect API key"),
        (ERR(429, "slow down", retry_after="7"), ProviderOverloaded, "slow down"),
        (ERR(503, "Overloaded"), ProviderOverloaded, "Overloaded"),
        (ERR(500, "oops"), ProviderFault, "oops"),
        (ERR(400, LONG), ContextTooLong, "context window"),
        (ERR(404, "The model 'gpt-9' does not exist"), ProviderRejected, "ACP_ADAPTER_MODEL"),
        (ERR(404, "File Not Found"), ProviderRejected, 'api = "chat" in .providers.openai'),
        (RAW(event("response.failed", response={"error": FAILED})), ProviderOverloaded, "Rate limit"),
        (RAW(event("error", code="server_error", message="broken", param=None)), ProviderFault, "broken"),
        (DROP("one ", "two"), BrokenStream, "broke off|lost"),
        (RAW(event("response.created", response={})), BrokenStream, "no answer"),
        (RAW(event("response.output_item.done")), BrokenStream, "form of its own"),
        (RAW(event("response.completed", response={"output": ["odd"]})), BrokenStream, "form of its own"),
        (RAW("<html>", "text/html"), ProviderRejected, "no model's stream"),
        (STALL("one"), ProviderUnreachable, "silent"),
    ],
)
async def test_every_failure_has_its_own_error(
    responses: ResponsesServer, responses_at: Make, step: Step, error: type[ProviderError], told: str
) -> None:
    responses.add(step)
    with pytest.raises(error, match=told) as caught:
        await answer(responses_at(responses, api_key=KEY, silence=0.5))
    assert type(caught.value) is error
    assert KEY not in str(caught.value)
    if step.status == 429 and isinstance(caught.value, ProviderOverloaded):
        assert caught.value.retry_after == 7


async def test_a_server_that_echoes_the_key_does_not_get_it_into_errors_or_logs(
    responses: ResponsesServer, responses_at: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    responses.add(ERR(401, f"the key {KEY} is wrong"))
    with pytest.raises(ProviderAuthFailed) as caught:
        await answer(responses_at(responses, api_key=KEY))
    assert KEY not in str(caught.value) + caplog.text + repr(responses_at(responses, api_key=KEY))


@pytest.mark.parametrize(
    ("step", "finish"),
    [(LEN("cut"), "length"), (FILTER("no"), "content_filter"), (T("fine"), "stop"), (C("c1", SHELL, {}), "tool_calls")],
)
async def test_why_it_ended_is_told_in_our_words(
    responses: ResponsesServer, responses_at: Make, step: Step, finish: str
) -> None:
    responses.add(step)
    assert (await answer(responses_at(responses))).finish_reason == finish


async def test_reasoning_alone_is_a_whole_answer_of_no_words(responses: ResponsesServer, responses_at: Make) -> None:
    responses.add(R("hm"))
    completed = await answer(responses_at(responses))
    assert (completed.message.content, completed.message.reasoning, completed.finish_reason) == (None, "hm", "stop")


async def test_a_reader_that_goes_away_hangs_up(responses: ResponsesServer, responses_at: Make) -> None:
    responses.add(STALL("one "), HANG)
    provider = responses_at(responses)
    async with aclosing(provider.stream(request())) as stream:
        assert await anext(stream) == TextDelta("one ")
    waiting = asyncio.create_task(answer(provider))
    await asyncio.to_thread(responses.wait_for_requests, 2)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(responses.wait_for_hangups, 2)


ITEM = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "I see."}]}
CALL = {"type": "function_call", "id": "f", "call_id": "c1", "name": SHELL, "arguments": "{}"}
DELTA = event("response.output_text.delta", delta="I ")
ITEMS = event("response.output_item.done", item=ITEM) + event("response.output_item.done", item=CALL)
WHOLE = {"object": "response", "status": "completed", "output": [ITEM, CALL]}


@pytest.mark.parametrize(
    "step",
    [
        RAW(DELTA + ITEMS + event("response.completed", response={})),
        RAW(ITEMS + event("response.completed", response=WHOLE)),
        RAW(DELTA + event("response.completed", response=WHOLE)),
        RAW(json.dumps(WHOLE), "application/json"),
    ],
    ids=["no index", "no deltas", "no items", "no stream"],
)
async def test_what_other_servers_leave_out_is_not_missed(
    responses: ResponsesServer, responses_at: Make, step: Step
) -> None:
    responses.add(step)
    got = await events(responses_at(responses))
    assert "".join(each.text for each in got if isinstance(each, TextDelta)) == "I see."
    completed = got[-1]
    assert isinstance(completed, Completed) and completed.finish_reason == "tool_calls"
    assert (completed.message.content, [c.id for c in completed.message.calls()]) == ("I see.", ["c1"])


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ({"status": "completed"}, "length"),
        ({"status": "completed", "incomplete_details": None}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "something new"}}, "length"),
    ],
)
async def test_an_answer_that_was_cut_is_told_as_that_even_if_the_server_calls_it_complete(
    responses: ResponsesServer, responses_at: Make, said: Any, finish: str
) -> None:
    whole = {"output": [ITEM], "usage": {"input_tokens": 9, "output_tokens": 6}, **said}
    responses.add(RAW(event("response.completed", response=whole)), RAW(event("response.completed", response=whole)))
    provider = responses_at(responses)
    assert (await answer(provider, request("hi", max_tokens=6))).finish_reason == finish
    if finish == "length" and said["status"] == "completed":
        assert (await answer(provider, request("hi", max_tokens=7))).finish_reason == "stop"


@pytest.mark.parametrize("field", ["reasoning", "include", "prompt_cache_key"])
async def test_a_server_that_does_not_know_a_field_is_asked_without_it_from_then_on(
    responses_at: Make, field: str
) -> None:
    with ResponsesServer(T("one"), T("two"), refuses=[field]) as server:
        provider = responses_at(server)
        asked = request("hi", effort="low", session="s")
        assert (await answer(provider, asked)).message.content == "one"
        before = len(server.requests)
        assert (await answer(provider, asked)).message.content == "two"
        assert len(server.requests) == before + 1
        assert field not in server.requests[-1].body


async def test_a_word_that_a_model_does_not_know_is_said_in_another(
    responses: ResponsesServer, responses_at: Make
) -> None:
    for word in ("none", "minimal"):
        responses.add(ERR(400, f"Unsupported value: '{word}' is not supported with the 'gpt-5-pro' model."))
    responses.add(T("one"), ERR(400, "Your organization must be verified to generate reasoning summaries."), T("two"))
    provider = responses_at(responses)
    assert (await answer(provider, request("hi", effort="off"))).message.content == "one"
    assert responses.requests[-1].body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert (await answer(provider, request("hi", effort="off"))).message.content == "two"
    assert responses.requests[-1].body["reasoning"] == {"effort": "low"}


@pytest.mark.parametrize(
    "complaint",
    [
        "The encrypted content gAAA... could not be verified.",
        "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'.",
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        "item['content'] is not an array",
    ],
)
async def test_reasoning_that_another_account_or_server_made_is_left_out(
    responses: ResponsesServer, responses_at: Make, complaint: str
) -> None:
    responses.add(R("hm") + T("one"))
    provider = responses_at(responses)
    first = (await answer(provider, request("hi"))).message
    responses.add(ERR(400, complaint), T("two"))
    assert (await answer(provider, request("hi", first, "go on"))).message.content == "two"
    assert [item["type"] for item in responses.requests[-1].body["input"]] == ["message"] * 3


async def test_a_model_without_eyes_is_told_of_pictures(responses: ResponsesServer, responses_at: Make) -> None:
    responses.add(ERR(400, "Invalid content type. image_url is only supported by certain models."), T("fine"))
    asked = request([{"type": "text", "text": "what?"}, PICTURE])
    assert (await answer(responses_at(responses), asked)).message.content == "fine"
    assert "input_image" not in json.dumps(responses.requests[-1].body)


async def test_the_models_are_listed_with_what_can_be_chosen(responses: ResponsesServer, responses_at: Make) -> None:
    responses.listed = ["gpt-5-stub", "gpt-4.1", {"no": "id"}]
    assert await responses_at(responses).models() == [
        Listed("gpt-5-stub", ModelCard(efforts=("off", "low", "medium", "high"))),
        Listed("gpt-4.1"),
    ]


@given(st.lists(st.text(min_size=1), min_size=1), st.text())
def test_what_is_stored_is_what_was_shown(texts: list[str], whole: str) -> None:
    """Even where the items at the end say something else than the deltas did."""
    item = {**ITEM, "content": [{"type": "output_text", "text": whole}]}
    assembled = ResponsesAnswer()
    got = [d for t in texts for d in assembled.feed({"type": "response.output_text.delta", "delta": t})]
    got += assembled.feed({"type": "response.completed", "response": {"output": [item]}})
    said = "".join(texts)
    assert assembled.completed().message.content == "".join(each.text for each in got)
    assert assembled.completed().message.content == (whole if whole.startswith(said) else said)


@given(st.lists(st.text(min_size=1), min_size=1), st.lists(st.text(min_size=1)))
def test_deltas_and_whole_items_agree(texts: list[str], thoughts: list[str]) -> None:
    """However the text is cut, and whether or not the last event repeats the items: the answer is the same."""
    content = [{"type": "output_text", "text": "".join(texts), "annotations": []}]
    item = {"type": "message", "id": "m", "role": "assistant", "content": content}
    for output in ([], [item]):
        assembled = ResponsesAnswer()
        got = [d for t in thoughts for d in assembled.feed({"type": "response.reasoning_text.delta", "delta": t})]
        got += [d for t in texts for d in assembled.feed({"type": "response.output_text.delta", "delta": t})]
        assembled.feed({"type": "response.output_item.done", "output_index": 0, "item": item})
        assembled.feed({"type": "response.completed", "response": {"output": output}})
        message = assembled.completed().message
        assert (message.content, message.reasoning) == ("".join(texts), "".join(thoughts) or None)
        assert "".join(each.text for each in got) == "".join(thoughts + texts)
