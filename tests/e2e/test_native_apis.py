"""The whole agent on models that speak an API of their own: calls, cancel, restart; and no request is ever refused."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.clients.lab import KEY, Lab
from tests.clients.raw import RpcError
from tests.providers.anthropic_server import AnthropicServer
from tests.providers.gemini_server import GeminiServer
from tests.providers.ollama_server import OllamaServer
from tests.providers.responses_server import ResponsesServer
from tests.stub_server import DROP, ERR, HANG, LEN, SHELL, C, R, StubServer, T

SERVERS: dict[str, type[StubServer]] = {
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
    "ollama": OllamaServer,
    "responses": ResponsesServer,
}


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
        said = next(before.body[name] for name in ("contents", "input", "messages") if name in before.body)
        conversation = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode().rstrip(b"]}")
        end = before.raw.index(conversation) + len(conversation)
        assert after.raw[:end] == before.raw[:end]


async def test_a_refused_key_is_told_without_the_key(native: Lab) -> None:
    native.model.add(ERR(401, f"bad key {KEY}"), T("works again"))
    client = await native.start(ACP_ADAPTER_MODEL="")
    session = await client.new(native.project)
    with pytest.raises(RpcError) as caught:
        await client.prompt(session, "go")
    assert caught.value.code == -32000 and KEY not in caught.value.message
    assert (await client.prompt(session, "next")).text == "works again"


async def test_what_was_said_before_a_stream_broke_off_is_kept_once(native: Lab) -> None:
    native.model.add(DROP("one ", "two"), T("works again"))
    client = await native.start(ACP_ADAPTER_MODEL="")
    session = await client.new(native.project)
    turn = await client.begin_prompt(session, "go")
    with pytest.raises(RpcError):
        await turn.done()
    assert turn.text == "one two"
    assert (await client.prompt(session, "next")).text == "works again"
    assert native.query("SELECT count(*) FROM messages WHERE content LIKE '%one two%'") == [(1,)]
    await native.assert_replay_equals_live(client, session)


async def test_a_token_limit_and_an_unknown_tool_are_what_they_are(native: Lab) -> None:
    native.model.add(LEN("as far as I ca"), C("c1", "make_coffee", {"cups": 2}), T("sorry"))
    client = await native.start(ACP_ADAPTER_MODEL="")
    session = await client.new(native.project)
    turn = await client.prompt(session, "go")
    assert (turn.stop_reason, turn.text) == ("max_tokens", "as far as I ca")
    turn = await client.prompt(session, "go on")
    assert (turn.text, turn.call("c1")["status"]) == ("sorry", "failed")
    assert "make_coffee" in native.model.requests[-1].texts("tool")[0]


async def test_a_server_that_is_busy_is_asked_again(native: Lab) -> None:
    native.model.add(ERR(503, "busy"), R("hm") + T("at last"))
    client = await native.start(ACP_ADAPTER_MODEL="")
    turn = await client.prompt(await client.new(native.project), "go")
    assert (turn.stop_reason, turn.text.endswith("at last")) == ("end_turn", True)


@pytest.mark.parametrize("native", ["ollama"], indirect=True)
async def test_a_window_that_only_the_server_knows_is_kept_to(native: Lab) -> None:
    """Nothing is set up but the address: the model's window comes from Ollama, and the conversation is compacted."""
    assert isinstance(native.model, OllamaServer)
    native.model.window = 6000
    native.model.add(*[T("zebra-42 was settled").when("USER: question")] * 3, *[T(f"answer {n}") for n in range(13)])
    client = await native.start(ACP_ADAPTER_MODEL="")
    session = await client.new(native.project)
    for number in range(12):
        turn = await client.prompt(session, f"question {number} " + "tell me more of this " * 100)
        assert turn.stop_reason == "end_turn"
    await client.prompt(session, "and now?")
    last = native.model.requests[-1]
    assert "zebra-42 was settled" in last.texts("user")[0]
    assert {asked.body["options"]["num_ctx"] for asked in native.model.requests} == {6000}
    assert [asked.complaint for asked in native.model.requests if asked.complaint] == []


async def test_a_compacted_conversation_is_one_that_the_strict_server_takes(native: Lab) -> None:
    thought = R("I must look") + C("c1", SHELL, {"command": "echo one"}) + C("c2", SHELL, {"command": "echo two"})
    again = R("and once more") + C("c3", SHELL, {"command": "echo three"})
    native.model.add(thought, T("done " * 200), again, T("done too " * 3000))
    client = await native.start(ACP_ADAPTER_MODEL="")
    session = await client.new(native.project)
    await client.prompt(session, "first " * 200)
    await client.prompt(session, "second")
    native.model.add(T("they looked, zebra-42").when("CALL run_command"))
    await client.prompt(session, "/compact")
    native.model.add(C("c4", "recall", {"query": "three"}), T("still here"))
    turn = await client.prompt(session, "go on")
    assert turn.text == "still here"
    said = native.model.requests[-1].texts("user")
    assert "zebra-42" in said[0] and not any("first first" in text for text in said)
    client = await native.restart(client, ACP_ADAPTER_MODEL="")
    await client.load(session, native.project)
    native.model.add(T("and here"))
    assert (await client.prompt(session, "and now?")).text == "and here"
