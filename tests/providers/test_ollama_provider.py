"""Ollama over HTTP: the window is asked for and known, and every failure has its own error."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import ollama
import pytest

from acp_adapter.config import Config
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
from acp_adapter.providers import choose as choosing
from acp_adapter.providers.card import Listed, ModelCard
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.choose import choose, provider_from, restored
from acp_adapter.providers.ollama.provider import OllamaProvider
from acp_adapter.providers.ollama.show import LARGEST
from acp_adapter.providers.port import Completed, ReasoningDelta, TextDelta
from acp_adapter.providers.retry import retrying
from acp_adapter.providers.services import LOOPBACK_SERVERS
from acp_adapter.transcript import Message, Usage
from tests.providers.calls import answer, events, request
from tests.providers.cases import CASES, PICTURE, READ, said
from tests.providers.ollama_server import OllamaServer
from tests.stub_server import DROP, ERR, HANG, LEN, RAW, SHELL, STALL, C, R, Step, T

Make = Callable[..., OllamaProvider]


async def test_an_answer_streams_and_comes_whole_at_the_end(ollama_server: OllamaServer, ollama_at: Make) -> None:
    ollama_server.add(R("let me ", "see") + T("I ", "look.") + C("c1", SHELL, {"command": "ls"}) + C("c2", SHELL, {}))
    got = await events(ollama_at(ollama_server), request("hi", tools=[READ]))
    assert got[:-1] == [ReasoningDelta("let me "), ReasoningDelta("see"), TextDelta("I "), TextDelta("look.")]
    completed = got[-1]
    assert isinstance(completed, Completed)
    assert completed.finish_reason == "tool_calls"
    assert (completed.message.content, completed.message.reasoning) == ("I look.", "let me see")
    assert [(c.id, c.name, c.arguments) for c in completed.message.calls()] == [
        ("c1", SHELL, '{"command": "ls"}'),
        ("c2", SHELL, "{}"),
    ]
    assert completed.usage == Usage(input_tokens=102, output_tokens=6)


@pytest.mark.parametrize("name", CASES)
async def test_the_server_answers_every_case(ollama_server: OllamaServer, ollama_at: Make, name: str) -> None:
    ollama_server.add(T("fine"))
    assert (await answer(ollama_at(ollama_server), CASES[name])).message.content == "fine"


def test_the_official_client_reads_our_server_as_it_reads_ollama(ollama_server: OllamaServer) -> None:
    ollama_server.strict = False
    ollama_server.add(R("hm") + T("I look.") + C("c1", SHELL, {"command": "ls"}))
    with ollama.Client(host=ollama_server.base_url) as client:
        got = list(client.chat(model="stub-1", messages=[{"role": "user", "content": "hi"}], stream=True))
        listed, shown = client.list(), client.show("stub-1")
    assert [each.message.thinking for each in got] == ["hm", None, None, None]
    assert got[1].message.content == "I look."
    (called,) = got[2].message.tool_calls or []
    assert (called.function.name, called.function.arguments) == (SHELL, {"command": "ls"})
    assert (got[3].done_reason, got[3].prompt_eval_count, got[3].eval_count) == ("stop", 101, 3)
    assert [each.model for each in listed.models] == ["stub-1"]
    assert shown.capabilities == ollama_server.capabilities
    assert (shown.modelinfo or {})["stub.context_length"] == ollama_server.window


def windows(server: OllamaServer) -> list[int | None]:
    return [asked.body.get("options", {}).get("num_ctx") for asked in server.requests]


async def test_the_window_is_asked_for_once_sent_and_known(ollama_server: OllamaServer, ollama_at: Make) -> None:
    ollama_server.add(T("one"), T("two"))
    provider = retrying(ollama_at(ollama_server))
    assert provider.card.context_window is None
    await answer(provider)
    await answer(provider)
    assert provider.card == ModelCard(LARGEST, images=False, efforts=("off", "low", "medium", "high"))
    assert windows(ollama_server) == [LARGEST] * 2
    assert ollama_server.shown == 1


async def test_a_window_of_the_user_s_is_sent_as_it_is(ollama_server: OllamaServer, ollama_at: Make) -> None:
    ollama_server.add(T("one"))
    await answer(ollama_at(ollama_server, card=ModelCard(context_window=100_000)))
    assert windows(ollama_server) == [100_000]
    assert ollama_server.shown == 0


async def test_a_server_that_can_not_tell_the_window_is_asked_again_the_next_time(
    ollama_server: OllamaServer, ollama_at: Make
) -> None:
    ollama_server.strict = False
    provider = ollama_at(ollama_server)
    whole = ollama_server.told
    ollama_server.told = lambda method, path, body: [] if path == "/api/show" else whole(method, path, body)  # type: ignore[method-assign]
    ollama_server.add(T("one"), T("two"))
    assert (await answer(provider)).message.content == "one"
    ollama_server.told = whole  # type: ignore[method-assign]
    await answer(provider)
    assert windows(ollama_server) == [None, LARGEST]


def L(lines: str) -> Step:
    """Lines as they are."""
    return RAW(lines, "application/x-ndjson")


@pytest.mark.parametrize(
    ("step", "kind", "told"),
    [
        (ERR(400, "invalid options"), ProviderRejected, "400: invalid options"),
        (ERR(400, "the input length exceeds the context length"), ContextTooLong, "context length"),
        (
            L('{"error":"the prompt exceeds the available context size"}\n'),
            ContextTooLong,
            "",
        ),
        (ERR(401, "unauthorized"), ProviderAuthFailed, "unauthorized"),
        (ERR(403, "remote inference is unavailable"), ProviderAuthFailed, "remote inference"),
        (ERR(404, "model 'stub-1' not found"), ProviderRejected, "not found. Another model"),
        (ERR(429, "slow down"), ProviderOverloaded, "slow down"),
        (ERR(500, "llama runner process has terminated"), ProviderFault, "terminated"),
        (ERR(503, "server busy, please try again."), ProviderOverloaded, "busy"),
        (DROP("a", "b", "c"), BrokenStream, "connection was lost"),
        (L(""), BrokenStream, "sent no answer"),
        (L('{"message":{"content":"x"}}\n'), BrokenStream, "broke off"),
        (L('{"message":{"con\n'), BrokenStream, "garbled"),
        (L('{"message":5}\n'), BrokenStream, "a form of its own"),
        (
            L('{"message":{"content":"x"}}\n{"error":"it crashed"}\n'),
            ProviderFault,
            "crashed",
        ),
        (C("c1", SHELL, "{broken"), ProviderFault, "error parsing tool call"),
        (RAW("<html>Log in to the hotel's network", "text/html"), ProviderRejected, "text/html"),
    ],
)
async def test_each_failure_is_told_as_what_it_is(
    ollama_server: OllamaServer, ollama_at: Make, step: Step, kind: type[ProviderError], told: str
) -> None:
    ollama_server.add(step)
    with pytest.raises(ProviderError) as caught:
        await answer(ollama_at(ollama_server))
    assert type(caught.value) is kind
    assert told in caught.value.message and "/v1" not in caught.value.message
    assert len(ollama_server.requests) == 1, "a provider itself never tries again"


async def test_a_server_that_is_not_there_is_told(ollama_server: OllamaServer, let_go: Callable[[Any], Any]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        provider = let_go(OllamaProvider("ollama", "m", f"http://127.0.0.1:{taken.getsockname()[1]}"))
        with pytest.raises(ProviderUnreachable, match="Is the server running"):
            await answer(provider)


async def test_a_token_limit_and_reasoning_alone_finish_as_what_they_are(
    ollama_server: OllamaServer, ollama_at: Make
) -> None:
    ollama_server.add(LEN("half a sen"), R("hm"))
    provider = ollama_at(ollama_server)
    assert (await answer(provider)).finish_reason == "length"
    completed = await answer(provider)
    assert (completed.message.content, completed.message.reasoning) == (None, "hm")


@pytest.mark.parametrize("step", [HANG, STALL("a")], ids=["before the first byte", "in the middle"])
async def test_cancelling_ends_the_request_at_once(ollama_server: OllamaServer, ollama_at: Make, step: Step) -> None:
    ollama_server.add(step, T("fine"))
    provider = ollama_at(ollama_server)
    asking = asyncio.create_task(answer(provider))
    await asyncio.to_thread(ollama_server.wait_for_requests, 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, 5)
    await asyncio.to_thread(ollama_server.wait_for_hangups, 1)
    assert (await answer(provider)).message.content == "fine"


async def test_silence_is_unreachable_and_text_before_it_was_delivered(
    ollama_server: OllamaServer, ollama_at: Make
) -> None:
    ollama_server.add(STALL("a"))
    got = []
    async with aclosing(ollama_at(ollama_server, silence=0.2).stream(request())) as stream:
        with pytest.raises(ProviderUnreachable, match="fell silent"):
            async for event in stream:
                got.append(event)
    assert got == [TextDelta("a")]


async def test_a_model_that_can_not_think_answers_without(ollama_server: OllamaServer, ollama_at: Make) -> None:
    ollama_server.capabilities = ["completion", "tools"]
    ollama_server.add(T("one"), T("two"))
    provider = ollama_at(ollama_server)
    await answer(provider, request(effort="high"))
    await answer(provider, request(effort="high"))
    assert [asked.body.get("think") for asked in ollama_server.requests] == ["high", None, None]


async def test_a_model_that_can_only_think_or_not_is_told_to_think(
    ollama_server: OllamaServer, ollama_at: Make
) -> None:
    ollama_server.add(ERR(400, 'think value "low" is not supported for this model'), T("one"))
    await answer(ollama_at(ollama_server), request(effort="low"))
    assert [asked.body.get("think") for asked in ollama_server.requests] == ["low", True]


async def test_a_model_without_tools_is_a_clear_error_and_not_an_agent_without_hands(
    ollama_server: OllamaServer, ollama_at: Make
) -> None:
    ollama_server.capabilities = ["completion"]
    ollama_server.add(T("one"))
    provider = ollama_at(ollama_server)
    with pytest.raises(ProviderRejected, match=r"does not support tools\. An agent can't work without them"):
        await answer(provider, request(tools=[READ]))
    assert (await answer(provider)).message.content == "one", "a title needs no tools"


async def test_a_picture_that_the_model_refuses_does_not_end_the_session(
    ollama_server: OllamaServer, ollama_at: Make
) -> None:
    ollama_server.add(ERR(500, "this model is missing data required for image input"), T("none"), T("go on"))
    provider = ollama_at(ollama_server)
    seen = Message("user", [{"type": "text", "text": "look: "}, PICTURE])
    await answer(provider, request(seen))
    await answer(provider, request(seen, said("none"), "and now?"))
    assert [asked.texts("user")[0] for asked in ollama_server.requests[1:]] == ["look: [image_url part, not shown]"] * 2


async def test_a_server_that_keeps_refusing_is_not_asked_for_ever(ollama_server: OllamaServer, ollama_at: Make) -> None:
    ollama_server.add(*[ERR(400, "image, think value: it does not support thinking")] * 9)
    with pytest.raises(ProviderRejected):
        await answer(ollama_at(ollama_server), request([PICTURE], effort="low"))
    assert len(ollama_server.requests) <= 4


async def test_its_models_are_listed_with_what_they_can_do(ollama_server: OllamaServer, ollama_at: Make) -> None:
    ollama_server.capabilities = ["completion", "tools", "vision"]
    ollama_server.listed = ["qwen3-vl:8b", {"name": "embed", "capabilities": ["embedding"]}]
    assert await ollama_at(ollama_server).models() == [Listed("qwen3-vl:8b", ModelCard(images=True))]
    assert ollama_server.shown == 0


@pytest.fixture
def config_with(tmp_path: Path) -> Callable[..., Config]:
    def make(toml: str = "") -> Config:
        (tmp_path / "config.toml").write_text(toml, "utf-8")
        return Config.load({"ACP_ADAPTER_HOME": str(tmp_path)})

    return make


async def test_the_one_that_runs_here_is_found_and_asked_in_its_own_api(
    ollama_server: OllamaServer, config_with: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in LOOPBACK_SERVERS:
        monkeypatch.setitem(LOOPBACK_SERVERS, name, "http://127.0.0.1:9/v1")
    monkeypatch.setitem(LOOPBACK_SERVERS, "ollama", ollama_server.base_url)
    ollama_server.add(T("hi"))
    provider = await choose(config_with())
    assert type(provider) is OllamaProvider
    assert provider.card.context_window == LARGEST, "before anything is sent that might not fit"
    assert (await answer(provider)).message.content == "hi"
    await provider.aclose()


async def test_a_restored_session_knows_the_window_before_its_first_request(
    ollama_server: OllamaServer, config_with: Callable[..., Config]
) -> None:
    provider, notice = await restored(config_with(), "ollama", "stub-1", ollama_server.base_url)
    assert (provider.card.context_window, notice) == (LARGEST, None)
    await provider.aclose()


async def test_a_server_that_hangs_delays_the_choice_only_shortly(
    config_with: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "LOOK", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        base_url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        provider, _ = await asyncio.wait_for(restored(config_with(), "ollama", "m", base_url), 5)
        assert provider.card.context_window is None
        await provider.aclose()


def test_sessions_and_settings_of_the_old_address_go_on(config_with: Callable[..., Config]) -> None:
    config = config_with()
    for base_url in (None, "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434"):
        provider = provider_from("ollama", "m", base_url, config)
        assert type(provider) is OllamaProvider
        assert provider.base_url == "http://127.0.0.1:11434"
    assert type(provider_from("ollama", "m", "http://127.0.0.1:5/v1", config)) is ChatProvider
    assert type(provider_from("ollama", "m", "http://127.0.0.1:5", config)) is OllamaProvider
    old = config_with('[providers.ollama]\nbase_url = "http://127.0.0.1:11434/v1"\n')
    assert type(provider_from("ollama", "m", None, old)) is ChatProvider


def test_a_window_of_the_settings_is_the_one_of_the_model(config_with: Callable[..., Config]) -> None:
    far = '[providers.gpu]\nbase_url = "http://gpu.example:11434"\napi = "ollama"\n'
    assert provider_from("gpu", "mistral-nemo", None, config_with(far)).card.context_window is None
    told = config_with(far + "context_window = 65536\n")
    assert provider_from("gpu", "mistral-nemo", None, told).card.context_window == 65536


def test_a_request_is_one_line_of_json(ollama_at: Make, ollama_server: OllamaServer) -> None:
    body = ollama_at(ollama_server)._encoder.body(request("a\nb"), 8192)
    assert b"\n" not in body and json.loads(body)["messages"][1]["content"] == "a\nb"
