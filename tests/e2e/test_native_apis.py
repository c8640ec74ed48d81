"""The whole agent on models that speak an API of their own: calls, cancel, restart; and no request is ever refused."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clients.lab import Lab
from tests.providers.gemini_server import GeminiServer
from tests.providers.ollama_server import OllamaServer
from tests.stub_server import HANG, SHELL, C, R, StubServer, T

SERVERS: dict[str, type[StubServer]] = {"gemini": GeminiServer, "ollama": OllamaServer}


@pytest.fixture(params=SERVERS)
async def native(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lab]:
    """A lab whose model server speaks that API; it is strict, and the lab finds what it refused."""
    api = request.param
    with SERVERS[api]() as server:
        lab = Lab(tmp_path, server)
        lab.configure(
            f'model = "own:{server.model}"\nmode = "bypass"\n'
            f'[providers.own]\nbase_url = "{server.base_url}"\napi = "{api}"\napi_key_env = "OPENAI_API_KEY"\n'
        )
        yield lab
        faults = await asyncio.shield(lab.close())
        assert not faults, "broken rules:\n" + "\n".join(faults[:20])


async def test_calls_cancel_and_restart_leave_a_conversation_that_the_strict_server_takes(native: Lab) -> None:
    both = T("I look. ") + C("c1", SHELL, {"command": "echo one"}) + C("c2", SHELL, {"command": "echo two"})
    native.model.add(R("I must look") + both, C("c3", SHELL, {"command": "echo three"}), T("done ", "zebra"))
    client = await native.start(ACP_ADAPTER_MODEL="")
    session = await client.new(native.project)
    turn = await client.prompt(session, "first")
    assert (turn.stop_reason, turn.text) == ("end_turn", "I look. done zebra")
    assert [call.fields["status"] for call in turn.calls] == ["completed"] * 3

    native.model.add(C("c4", SHELL, {"command": "echo four"}), HANG)
    turn = await client.begin_prompt(session, "second")
    await asyncio.to_thread(native.model.wait_for_requests, 5)
    assert await turn.cancel() == "cancelled"

    native.model.add(T("still here"))
    client = await native.restart(client, ACP_ADAPTER_MODEL="")
    await client.load(session, native.project)
    turn = await client.prompt(session, "third")
    assert (turn.stop_reason, turn.text) == ("end_turn", "still here")
    last = native.model.requests[-1]
    assert [text.strip() for text in last.texts("tool")] == ["one", "two", "three", "four"]
    assert last.texts("user")[-1].endswith("third")
    assert [asked.complaint for asked in native.model.requests] == [None] * 6


async def test_the_beginning_of_a_request_is_the_same_bytes_over_turns_and_restart(native: Lab) -> None:
    native.model.add(C("c1", SHELL, {"command": "echo one"}), T("two"), T("three"), T("four"))
    client = await native.start(ACP_ADAPTER_MODEL="")
    session = await client.new(native.project)
    await client.prompt(session, "first")
    await client.prompt(session, "second")
    client = await native.restart(client, ACP_ADAPTER_MODEL="")
    await client.load(session, native.project)
    await client.prompt(session, "third")
    for before, after in itertools.pairwise(native.model.requests):
        said = before.body.get("contents") or before.body["messages"]
        conversation = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode().rstrip(b"]}")
        end = before.raw.index(conversation) + len(conversation)
        assert after.raw[:end] == before.raw[:end]
