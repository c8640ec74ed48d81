"""The connection, against a real server on loopback: every failure has its own error, and keys stay secret."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing

import pytest

from acp_adapter.errors import (
    BrokenStream,
    ContextTooLong,
    InvalidParams,
    ProviderAuthFailed,
    ProviderError,
    ProviderFault,
    ProviderOverloaded,
    ProviderRejected,
    ProviderUnreachable,
)
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.port import Completed, ReasoningDelta, TextDelta, ToolSpec
from acp_adapter.providers.urls import shown_url, split_credentials
from acp_adapter.transcript import Message, Usage
from tests.providers.calls import answer, events, request
from tests.providers.cases import PAPER
from tests.stub_model import CLOSE, DROP, ERR, FILTER, HANG, LEN, RAW, SHELL, STALL, C, R, Step, StubModel, T

Make = Callable[..., ChatProvider]
KEY = "sk-proj-abcdefghijklmnop0123456789"


async def test_an_answer_streams_and_comes_whole_at_the_end(stub: StubModel, provider_at: Make) -> None:
    stub.add(R("let me ", "see") + T("I ", "look.") + C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, "{broken"))
    got = await events(provider_at(stub.base_url, api_key=KEY), request("hi", tools=[ToolSpec("x", "", {})]))
    assert got[:-1] == [ReasoningDelta("let me "), ReasoningDelta("see"), TextDelta("I "), TextDelta("look.")]
    completed = got[-1]
    assert isinstance(completed, Completed)
    assert completed.finish_reason == "tool_calls"
    assert completed.message.content == "I look."
    assert completed.message.reasoning == "let me see"
    assert [(c.id, c.arguments) for c in completed.message.calls()] == [("c1", '{"command": "ls"}'), ("c2", "{broken")]
    assert completed.usage == Usage(input_tokens=102, output_tokens=6)
    assert stub.requests[0].path == "/v1/chat/completions"
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_one_connection_serves_many_requests(stub: StubModel, provider_at: Make) -> None:
    stub.add(T("one"), T("two"), ERR(500), T("three"))
    provider = provider_at(stub.base_url)
    await answer(provider)
    await answer(provider)
    with pytest.raises(ProviderFault):
        await answer(provider)
    await answer(provider)
    assert stub.connections == 1


async def test_a_kept_connection_that_the_server_closes_is_replaced_at_once(stub: StubModel, provider_at: Make) -> None:
    stub.add(T("one"), CLOSE, T("two"), CLOSE, CLOSE)
    provider = provider_at(stub.base_url)
    assert (await answer(provider)).message.content == "one"
    assert (await answer(provider)).message.content == "two"
    assert stub.connections == 2
    with pytest.raises(ProviderUnreachable, match="disconnected"):
        await answer(provider)
    assert (len(stub.requests), stub.connections) == (5, 3), "closed on a new connection too: that is told"


async def test_a_token_limit_and_a_content_filter_finish_as_what_they_are(stub: StubModel, provider_at: Make) -> None:
    stub.add(LEN("half a sen"), FILTER("no"))
    provider = provider_at(stub.base_url)
    assert (await answer(provider)).finish_reason == "length"
    assert (await answer(provider)).finish_reason == "content_filter"


async def test_reasoning_alone_is_completed_so_that_the_caller_can_tell(stub: StubModel, provider_at: Make) -> None:
    stub.add(R("hm"))
    completed = await answer(provider_at(stub.base_url))
    assert (completed.message.content, completed.message.reasoning) == (None, "hm")


CONTEXT = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."


@pytest.mark.parametrize(
    ("step", "kind", "told"),
    [
        (ERR(400, "no such parameter"), ProviderRejected, "400: no such parameter"),
        (ERR(400, CONTEXT), ContextTooLong, "8192 tokens"),
        (ERR(401, "bad key"), ProviderAuthFailed, "acp-adapter setup"),
        (ERR(402, "pay first"), ProviderRejected, "no credit left"),
        (ERR(403, "not you"), ProviderAuthFailed, "not you"),
        (ERR(404, "model 'x' not found"), ProviderRejected, "ACP_ADAPTER_MODEL"),
        (ERR(413, "too big"), ContextTooLong, "too big"),
        (ERR(422, "field required"), ProviderRejected, "field required"),
        (ERR(429, "slow down"), ProviderOverloaded, "slow down"),
        (ERR(429, "You exceeded your current quota (insufficient_quota)"), ProviderRejected, "no credit left"),
        (ERR(500), ProviderFault, "500: Internal Server Error"),
        (ERR(502), ProviderFault, "502"),
        (ERR(503), ProviderOverloaded, "503"),
        (RAW("slow", "text/plain", 529), ProviderOverloaded, "slow"),
        (RAW("<html><style>x{}</style>Bad <b>Gateway</b>", "text/html", 502), ProviderFault, "502: Bad Gateway"),
        (RAW(b"", "text/plain", 500), ProviderFault, "no reason given"),
        (DROP("a", "b", "c"), BrokenStream, "connection was lost"),
        (RAW(""), BrokenStream, "sent no answer"),
        (RAW("data: [DONE]\n\n"), BrokenStream, "sent no answer"),
        (RAW(": ping\n\n: ping\n\n"), BrokenStream, "sent no answer"),
        (RAW('data: {"choices":[{"delta":{"content":"x"}}]}\n\n'), BrokenStream, "broke off"),
        (RAW('data: {"choices":[{"del\n\n'), BrokenStream, "garbled"),
        (RAW('data: {"error":{"message":"engine died"}}\n\n'), ProviderFault, "engine died"),
        (RAW('data: {"error":"runner died"}\n\n'), ProviderFault, "runner died"),
        (RAW('data: {"object":"error","message":"x","code":400}\n\n'), ProviderRejected, "400: x"),
        (RAW('event: error\ndata: {"message":"oops","code":429}\n\n'), ProviderOverloaded, "oops"),
        (RAW('data: {"error":{"message":"busy","code":"rate_limit_exceeded"}}\n\n'), ProviderOverloaded, "busy"),
        (RAW('data: {"error":{"message":"long","code":"context_length_exceeded"}}\n\n'), ContextTooLong, "long"),
        (RAW("<html>Log in to the hotel's network", "text/html"), ProviderRejected, "text/html"),
        (RAW('{"message":{"content":"x"}}\n', "application/x-ndjson"), ProviderRejected, "Check the base URL"),
        (RAW("[]", "application/json"), BrokenStream, "something else than an object"),
    ],
)
async def test_each_failure_is_told_as_what_it_is(
    stub: StubModel, provider_at: Make, step: Step, kind: type[ProviderError], told: str
) -> None:
    stub.strict = False
    stub.add(step)
    with pytest.raises(ProviderError) as caught:
        await answer(provider_at(stub.base_url))
    assert type(caught.value) is kind
    assert told in caught.value.message
    assert len(stub.requests) == 1, "a provider itself never tries again"


async def test_text_before_a_lost_connection_was_delivered(stub: StubModel, provider_at: Make) -> None:
    stub.add(DROP("a", "b", "c"))
    got = []
    async with aclosing(provider_at(stub.base_url).stream(request())) as stream:
        with pytest.raises(BrokenStream):
            async for event in stream:
                got.append(event)
    assert got == [TextDelta("a"), TextDelta("b"), TextDelta("c")]


@pytest.mark.parametrize(
    ("step", "seconds"),
    [
        (ERR(429, retry_after="7"), 7),
        (ERR(429, retry_after="1.5"), 1.5),
        (ERR(503, retry_after_ms="250"), 0.25),
        (ERR(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"), 0),
        (ERR(429, retry_after="soon"), None),
        (ERR(429), None),
    ],
)
async def test_the_wait_that_a_server_asks_for_is_passed_on(
    stub: StubModel, provider_at: Make, step: Step, seconds: float | None
) -> None:
    stub.add(step)
    with pytest.raises(ProviderOverloaded) as caught:
        await answer(provider_at(stub.base_url))
    assert caught.value.retry_after == seconds


DONE = 'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'


@pytest.mark.parametrize(
    "body",
    [
        DONE,
        DONE + "data: [DONE]\n\n",
        ": keep-alive\n\n" + DONE + ": bye\n\n",
        "data: ping\n\ndata:\n\nevent: ping\ndata: x\n\n" + DONE,
        DONE.replace("\n", "\r\n"),
        'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n',
    ],
)
async def test_streams_of_servers_that_are_not_quite_openai(stub: StubModel, provider_at: Make, body: str) -> None:
    stub.add(RAW(body))
    assert (await answer(provider_at(stub.base_url))).message.content == "hi"


async def test_a_server_that_does_not_stream_is_understood(stub: StubModel, provider_at: Make) -> None:
    whole = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}
    stub.add(RAW(json.dumps(whole), "application/json"))
    got = await events(provider_at(stub.base_url))
    assert got[0] == TextDelta("hi")
    assert isinstance(got[1], Completed)
    assert got[1].usage == Usage(3)


async def test_a_parameter_that_the_server_does_not_know_is_left_out_from_then_on(
    stub: StubModel, provider_at: Make
) -> None:
    stub.add(ERR(400, "Unknown parameter: stream_options"), T("one"), T("two"))
    provider = provider_at(stub.base_url)
    await answer(provider)
    completed = await answer(provider)
    assert completed.usage is None
    assert ["stream_options" in each.body for each in stub.requests] == [True, False, False]


async def test_a_limit_is_sent_under_the_name_that_the_server_asks_for(stub: StubModel, provider_at: Make) -> None:
    stub.add(ERR(400, "Use 'max_completion_tokens' instead of 'max_tokens'."), T("one"))
    await answer(provider_at(stub.base_url), request(max_tokens=9))
    assert stub.requests[1].body["max_completion_tokens"] == 9
    assert "max_tokens" not in stub.requests[1].body


async def test_a_model_that_calls_functions_only_without_reasoning_gets_its_way(
    stub: StubModel, provider_at: Make
) -> None:
    told = (
        "Function tools with reasoning_effort are not supported. Use /v1/responses or set reasoning_effort to 'none'."
    )
    stub.add(ERR(400, told), T("one"))
    await answer(provider_at(stub.base_url))
    assert "reasoning_effort" not in stub.requests[0].body
    assert stub.requests[1].body["reasoning_effort"] == "none"


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    "refusal",
    [
        ERR(400, "Invalid content type. image_url is only supported by certain models."),
        ERR(404, "No endpoints found that support image input"),
        ERR(500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        ERR(400, "stub-1 is not a multimodal model"),
    ],
)
async def test_a_picture_that_the_model_refuses_does_not_end_the_session(
    stub: StubModel, provider_at: Make, refusal: Step
) -> None:
    stub.add(refusal, T("I see none"), T("go on"), T("a new one"))
    provider = provider_at(stub.base_url)
    seen = Message("user", [{"type": "text", "text": "look: "}, PICTURE])
    first = await answer(provider, request(seen))
    await answer(provider, request(seen, first.message, "and now?"))
    assert [each.texts("user") for each in stub.requests[1:]] == [
        ["look: [image_url part, not shown]"],
        ["look: [image_url part, not shown]", "and now?"],
    ]
    await answer(provider, request(Message("user", [PICTURE])))
    assert stub.requests[-1].body["messages"][-1]["content"] == [PICTURE]


@pytest.mark.parametrize("complaint", ["unsupported content[].type", "Unknown part type: file", "Invalid file data"])
async def test_a_file_that_the_model_refuses_does_not_end_the_session(
    stub: StubModel, provider_at: Make, complaint: str
) -> None:
    stub.add(ERR(400, complaint), T("I see none"))
    await answer(provider_at(stub.base_url), request([{"type": "text", "text": "read: "}, PAPER]))
    assert stub.requests[-1].texts("user") == ["read: [file part, not shown]"]


async def test_pictures_that_stay_refused_are_an_error(stub: StubModel, provider_at: Make) -> None:
    stub.add(*[ERR(400, "bad image")] * 9)
    with pytest.raises(ProviderRejected, match="bad image"):
        await answer(provider_at(stub.base_url), request(Message("user", [PICTURE])))
    assert len(stub.requests) == 2


async def test_a_server_that_keeps_refusing_is_not_asked_for_ever(stub: StubModel, provider_at: Make) -> None:
    stub.add(*[ERR(400, "stream_options, max_completion_tokens, reasoning_effort: none of them")] * 9)
    with pytest.raises(ProviderRejected):
        await answer(provider_at(stub.base_url), request(max_tokens=9))
    assert len(stub.requests) == 4


async def test_a_server_that_is_not_there_is_named_without_its_password(provider_at: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        provider = provider_at(f"http://me:hunter2@127.0.0.1:{port}/v1")
        with pytest.raises(ProviderUnreachable) as caught:
            await answer(provider)
    assert f"http://127.0.0.1:{port}/v1" in caught.value.message
    assert "Is the server running?" in caught.value.message
    assert "hunter2" not in f"{caught.value!r} {provider!r} {provider.base_url}"


async def test_silence_before_the_first_byte_and_between_two_is_unreachable(stub: StubModel, provider_at: Make) -> None:
    stub.add(HANG, STALL("a"))
    provider = provider_at(stub.base_url, silence=0.2)
    with pytest.raises(ProviderUnreachable, match=r"silent for 0\.2 seconds"):
        await answer(provider)
    with pytest.raises(ProviderUnreachable, match="fell silent"):
        await answer(provider)


@pytest.mark.parametrize("step", [HANG, STALL("a")], ids=["before the first byte", "in the middle"])
async def test_cancelling_ends_the_request_at_once(stub: StubModel, provider_at: Make, step: Step) -> None:
    stub.add(step, T("fine"))
    provider = provider_at(stub.base_url)
    asking = asyncio.create_task(answer(provider))
    await asyncio.to_thread(stub.wait_for_requests, 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 1)
    await asyncio.to_thread(stub.wait_for_hangups, 1)
    assert (await answer(provider)).message.content == "fine"


async def test_closing_the_stream_early_closes_the_connection(stub: StubModel, provider_at: Make) -> None:
    stub.add(STALL("a", "b"))
    stream = provider_at(stub.base_url).stream(request())
    assert await anext(stream) == TextDelta("a")
    await stream.aclose()
    await asyncio.to_thread(stub.wait_for_hangups, 1)


async def test_a_server_that_holds_the_connection_after_its_end_mark_delays_nothing_long(
    stub: StubModel, provider_at: Make
) -> None:
    stub.add(STALL("a", raw=DONE + "data: [DONE]\n\n"))
    completed = await asyncio.wait_for(answer(provider_at(stub.base_url)), 5)
    assert completed.message.content == "ahi"


async def test_a_key_appears_nowhere_even_if_the_server_echoes_it(
    stub: StubModel, provider_at: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f"stream_options: the key {KEY} and the header hunter2secret are wrong"
    stub.add(ERR(400, echo), ERR(400, echo), ERR(401, echo), RAW(f'data: {{"error":{{"message":"{echo}"}}}}\n\n'))
    provider = provider_at(stub.base_url, api_key=KEY, headers={"X-Gate": "hunter2secret"})
    errors = []
    for _ in range(3):
        with pytest.raises(ProviderError) as caught:
            await answer(provider)
        errors.append(repr(caught.value))
    assert stub.requests[0].headers["x-gate"] == "hunter2secret"
    everything = f"{provider!r} {errors} {caplog.text}"
    assert "***" in everything
    assert KEY not in everything
    assert "hunter2secret" not in everything


async def test_a_long_message_is_cut_and_no_half_of_a_key_is_left_at_the_cut(
    stub: StubModel, provider_at: Make
) -> None:
    stub.add(ERR(400, "x" * 495 + "hunter2secret" + "y" * 1000))
    with pytest.raises(ProviderRejected) as caught:
        await answer(provider_at(stub.base_url, api_key="hunter2secret"))
    assert "x***" in caught.value.message
    assert "hun" not in caught.value.message
    assert len(caught.value.message) < 600


async def test_a_redirect_is_told_and_not_followed_with_the_key(stub: StubModel, provider_at: Make) -> None:
    stub.add(RAW(b"", status=307, location="https://u:p@elsewhere.example/v1?key=1"))
    with pytest.raises(ProviderRejected, match=r"moved to https://elsewhere\.example/v1\."):
        await answer(provider_at(stub.base_url, api_key=KEY))


async def test_the_models_of_a_server_are_listed(stub: StubModel, provider_at: Make) -> None:
    assert [listed.id for listed in await provider_at(stub.base_url).models()] == ["stub-1"]


async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    stub: StubModel, provider_at: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    stub.add(T("hi"))
    assert (await answer(provider_at(stub.base_url))).message.content == "hi"


@pytest.mark.parametrize(
    "url", ["", "localhost:11434", "ftp://x/v1", "http://", "http://h:p/v1", "http://h/v1?key=s3cret", "http://[::1/v1"]
)
def test_what_is_no_base_url_is_refused_when_the_provider_is_made(url: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        ChatProvider("x", "m", url)
    assert "s3cret" not in caught.value.message


def test_user_name_and_password_become_a_header() -> None:
    assert split_credentials("https://me:p%40ss@h.example:8443/v1/") == (
        "https://h.example:8443/v1",
        "Basic bWU6cEBzcw==",
    )
    assert split_credentials(" http://127.0.0.1:1/v1 ") == ("http://127.0.0.1:1/v1", None)
    assert shown_url("http://u:p@h/a@b?x=y#z") == "http://h/a@b"


def test_importing_the_provider_imports_no_http_client() -> None:
    code = "import sys, acp_adapter.providers.choose; print({'httpx', 'httpx_sse'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "set()"
