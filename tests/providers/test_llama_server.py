"""The forms of OpenAI and Anthropic against a real server of both: llama.cpp's own, with the embedded model's weights.

Heavy:

pytest -m heavy tests/providers/test_llama_server.py
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncIterator, Iterator

import pytest
from attrs import evolve, frozen

from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, ContextTooLong, ProviderAuthFailed
from acp_adapter.providers.anthropic.provider import AnthropicProvider
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.local.child import Child
from acp_adapter.providers.local.provider import LocalProvider
from acp_adapter.transcript import Message
from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.providers.calls import answer, request
from tests.providers.cases import CASES

KEY = "k-1234567890"
APIS: dict[str, type[HostedProvider]] = {"chat": ChatProvider, "anthropic": AnthropicProvider}

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]


@frozen
class Server:
    url: str
    child: Child


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    try:
        weights = LocalProvider.of("", Config.load().home)
    except AcpAdapterError as missing:
        pytest.skip(missing.message)
    folder = tmp_path_factory.mktemp("llama")
    child = Child(
        {
            "model": str(weights.path),
            "context": 4096,
            "idle": 600,
            "threads": max(1, (os.cpu_count() or 2) - 1),
            "api_key": KEY,
            "cache": str(folder),
            "log": "",
        },
        folder,
    )
    try:
        yield Server(f"http://127.0.0.1:{child.port()}/v1", child)
    finally:
        child.end()


@pytest.fixture(params=APIS)
async def provider(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[HostedProvider]:
    provider = APIS[request.param]("llama", "embedded", server.url, KEY)
    yield provider
    await provider.aclose()


@pytest.mark.parametrize("case", sorted(CASES))
async def test_every_conversation_is_taken(provider: HostedProvider, case: str) -> None:
    """Pictures and sounds are refused by this model, and then sent in words."""
    assert (await answer(provider, evolve(CASES[case], max_tokens=8))).usage


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
async def test_a_wrong_key_is_told_as_one(server: Server, api: str) -> None:
    provider = APIS[api]("llama", "embedded", server.url, "another")
    with pytest.raises(ProviderAuthFailed):
        await answer(provider, request("hello"))
    await provider.aclose()


async def test_a_session_on_it_goes_on_after_kill_9(lab: Lab, server: Server) -> None:
    lab.configure(
        f'model = "llama:embedded"\n[providers.llama]\nbase_url = "{server.url}"\napi_key = "{KEY}"\n'
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
