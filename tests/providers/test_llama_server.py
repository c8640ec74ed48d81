"""Three APIs against a real server that speaks them all: llama.cpp's own, with the embedded model's weights. Heavy:

pytest -m heavy tests/providers/test_llama_server.py
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest
from attrs import evolve

from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, ContextTooLong, ProviderAuthFailed
from acp_adapter.providers.anthropic.provider import AnthropicProvider
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.local.provider import LocalProvider
from acp_adapter.providers.port import Completed, TextDelta
from acp_adapter.providers.responses.provider import ResponsesProvider
from acp_adapter.transcript import Message
from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.providers.calls import answer, events, request, result
from tests.providers.cases import CASES, READ

KEY = "k-1234567890"
TRIES = 6
LOOK = "Read the file word.txt"

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        weights = LocalProvider.of("", Config.load().home)
    except AcpAdapterError as missing:
        pytest.skip(missing.message)
    command = [sys.executable, "-m", "tests.providers.llama_server", str(weights.path), KEY]
    # The server ends with its stdin, at the latest when this process does.
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().strip()
        assert address, "the server has not started"
        yield address


APIS: dict[str, type[HostedProvider]] = {
    "chat": ChatProvider,
    "responses": ResponsesProvider,
    "anthropic": AnthropicProvider,
}


@pytest.fixture(params=APIS)
async def provider(
    request: pytest.FixtureRequest, url: str, let_go: Callable[[Any], Any]
) -> AsyncIterator[HostedProvider]:
    yield let_go(APIS[request.param]("llama", "embedded", url, KEY))


@pytest.mark.parametrize("case", sorted(CASES))
async def test_every_conversation_is_taken(provider: HostedProvider, case: str) -> None:
    """Pictures and sounds are refused by this model, and then sent in words; so are items of OpenAI's own."""
    assert (await answer(provider, evolve(CASES[case], max_tokens=8))).usage


async def test_an_answer_streams_in_pieces_that_make_the_whole(provider: HostedProvider) -> None:
    *deltas, completed = await events(provider, request("Count from one to five.", max_tokens=60))
    assert isinstance(completed, Completed)
    texts = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    assert len(texts) > 3
    assert "".join(texts) == completed.message.content
    assert completed.usage and completed.usage.input_tokens > 5 and completed.usage.output_tokens > 3


async def test_an_answer_that_is_cut_is_told_as_cut(provider: HostedProvider) -> None:
    completed = await answer(provider, request("Count from one to a hundred.", max_tokens=5))
    assert completed.finish_reason == "length"
    assert (await answer(provider, request("Say only: yes", max_tokens=200))).finish_reason == "stop"


async def test_a_call_is_a_call_and_its_result_is_read(provider: HostedProvider) -> None:
    """The model is small: it gets some tries, and what it makes of the result is its own business."""
    for _ in range(TRIES):
        first = await answer(provider, request(LOOK, tools=[READ], max_tokens=60))
        if first.finish_reason == "tool_calls":
            break
    called = first.message.calls()
    assert called and {call.name for call in called} == {READ.name}
    assert "path" in json.loads(called[0].arguments)
    results = [result(call.id, "The word is zebra.") for call in called]
    told = await answer(provider, request(LOOK, first.message, *results, tools=[READ], max_tokens=60))
    assert told.message.content or told.message.tool_calls


async def test_one_provider_serves_request_after_request(provider: HostedProvider) -> None:
    """This server closes its connections after each streamed answer without a word."""
    for _ in range(12):
        assert await answer(provider, request("hello", max_tokens=2))


async def test_the_beginning_of_a_long_conversation_is_read_once(provider: HostedProvider) -> None:
    history: list[str | Message] = ["Remember the word zebra. " * 40, Message("assistant", "I do."), "and now?"]
    first = await answer(provider, request(*history, max_tokens=4))
    more = [*history, first.message, "and then?"]
    second = await answer(provider, request(*more, max_tokens=4))
    assert first.usage and second.usage
    assert second.usage.cache_read_tokens > 200


async def test_what_does_not_fit_is_told_as_too_long(provider: HostedProvider) -> None:
    with pytest.raises(ContextTooLong):
        await answer(provider, request("one two three four five " * 2_000, max_tokens=4))
    assert await answer(provider, request("hello", max_tokens=4))


@pytest.mark.parametrize("api", APIS)
async def test_a_wrong_key_is_told_as_one(url: str, api: str, let_go: Callable[[Any], Any]) -> None:
    with pytest.raises(ProviderAuthFailed):
        await answer(let_go(APIS[api]("llama", "embedded", url, "another")), request("hello"))


async def test_a_session_on_it_goes_on_after_kill_9(lab: Lab, url: str) -> None:
    lab.configure(
        f'model = "llama:embedded"\nmax_steps = 1\n[providers.llama]\nbase_url = "{url}"\napi_key = "{KEY}"\n'
        '[models."llama:embedded"]\ncontext_window = 4096\nmax_output = 40\n'
    )
    client = await lab.start(ACP_ADAPTER_MODEL="")
    session = await client.new(lab.project)
    try:
        turn = await client.prompt(session, "Say hello.", timeout=240)
        assert turn.text or turn.calls
    except RpcError as error:
        assert "tokens" in error.message, "a cut answer is the only end in error"
    client = await lab.restart(client, ACP_ADAPTER_MODEL="")
    await client.load(session, lab.project)
    assert lab.count("messages") >= 2
