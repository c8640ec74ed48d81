"""The terminal's ACP client against agents that do what agents should not: each is a real process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.cli.client import AgentError, AgentGone, Client

SECONDS = 20.0

AGENT = """
import json, sys
def send(frame): sys.stdout.write(json.dumps(frame) + "\\n"); sys.stdout.flush()
def receive(): return json.loads(sys.stdin.readline())
hello = receive()
send({"jsonrpc": "2.0", "id": hello["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
"""


async def no_permission(params: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("nobody was to be asked")


async def started(tmp_path: Path, then: str, on_update: Any = lambda params: None, ask: Any = no_permission) -> Client:
    script = tmp_path / "agent.py"
    script.write_text(AGENT + then)
    client = Client(on_update, ask)
    await client.start((sys.executable, str(script)))
    return client


async def test_an_agent_that_dies_tells_its_last_words(tmp_path: Path) -> None:
    client = await started(tmp_path, 'receive(); sys.exit("disk on fire")')
    with pytest.raises(AgentGone, match="disk on fire"):
        await asyncio.wait_for(client.request("session/new", {}), SECONDS)
    await client.aclose()


async def test_an_agent_that_cannot_be_started_is_a_clear_error(tmp_path: Path) -> None:
    client = Client(lambda params: None, no_permission)
    with pytest.raises(AgentGone, match="can't be started"):
        await client.start((str(tmp_path / "missing"),))
    await client.aclose()


async def test_an_error_answer_keeps_the_agents_sentence_and_code(tmp_path: Path) -> None:
    answer = 'asked = receive(); send({"id": asked["id"], "error": {"code": -32002, "message": "No such session."}})'
    client = await started(tmp_path, answer)
    with pytest.raises(AgentError, match="No such session") as caught:
        await asyncio.wait_for(client.request("session/load", {}), SECONDS)
    assert caught.value.number == -32002
    await client.aclose()


async def test_noise_between_frames_and_a_frame_of_megabytes_do_no_harm(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []
    then = """
print("hello from a careless library")
asked = receive()
send({"method": "session/update", "params": {"sessionId": "s", "update": {"text": "x" * 3_000_000}}})
send({"id": asked["id"], "result": {"sessionId": "s"}})
sys.stdin.read()
"""
    client = await started(tmp_path, then, seen.append)
    result = await asyncio.wait_for(client.request("session/new", {}), SECONDS)
    assert result == {"sessionId": "s"}
    assert len(seen[0]["update"]["text"]) == 3_000_000
    await client.aclose()


async def test_a_request_this_client_does_not_offer_is_answered_with_method_not_found(tmp_path: Path) -> None:
    then = """
asked = receive()
send({"id": "r", "method": "fs/read_text_file", "params": {}})
send({"id": asked["id"], "result": {"answer": receive()}})
"""
    client = await started(tmp_path, then)
    result = await asyncio.wait_for(client.request("session/new", {}), SECONDS)
    assert result["answer"]["id"] == "r"
    assert result["answer"]["error"]["code"] == -32601
    await client.aclose()


async def test_a_cancelled_turn_answers_its_open_question_and_awaits_the_last_word(tmp_path: Path) -> None:
    then = """
prompt = receive()
send({"id": "q", "method": "session/request_permission", "params": {"options": []}})
heard = [receive(), receive()]
print(json.dumps(heard), file=sys.stderr, flush=True)
send({"id": prompt["id"], "result": {"stopReason": "cancelled", "heard": heard}})
"""
    asked = asyncio.Event()

    async def never_answered(params: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        await asyncio.Event().wait()
        return {}

    client = await started(tmp_path, then, ask=never_answered)
    turn = asyncio.create_task(client.prompt("s", "hi"))
    await asyncio.wait_for(asked.wait(), SECONDS)
    turn.cancel()
    result = await asyncio.wait_for(turn, SECONDS)
    assert result["stopReason"] == "cancelled"
    cancel = next(frame for frame in result["heard"] if frame.get("method"))
    answer = next(frame for frame in result["heard"] if frame.get("id") == "q")
    assert cancel == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s"}}
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    await client.aclose()


async def test_closing_ends_an_agent_that_does_not_leave_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("acp_adapter.cli.client.LEAVE_SECONDS", 0.2)
    client = await started(tmp_path, "import signal\nsignal.pause()")
    process = client._process
    assert process is not None
    await asyncio.wait_for(client.aclose(), SECONDS)
    assert process.returncode == -9
