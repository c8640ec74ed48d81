"""The examples that people begin with, run as an editor runs them, with the real libraries."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path

import pytest

from tests.clients import editor
from tests.clients.editor import Editor
from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.clients.turn import output
from tests.stub_model import ERR, SHELL, STALL, C, T

EXAMPLES = Path(__file__).parents[2] / "examples"
SLOW = 60.0
"""Seconds that the import of a library may take on a busy machine."""


def needs(package: str) -> None:
    """Skip without the extra `examples`; where every client must be there, that it is missing is a failure."""
    if importlib.util.find_spec(package) is None and not os.environ.get("ACP_ADAPTER_TEST_ALL_CLIENTS"):
        pytest.skip(f"{package} is not installed: pip install -e '.[examples]'")


async def start(lab: Lab, name: str, client_editor: Editor | None = None) -> RawClient:
    return await lab.start(client_editor, ACP_ADAPTER_AGENT=f"{EXAMPLES / name}.py:agent")


async def new(client: RawClient, lab: Lab) -> str:
    params = {"cwd": str(lab.project), "mcpServers": []}
    return str((await client.request("session/new", params, SLOW))["sessionId"])


async def test_a_plain_function(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("roses\n", "utf-8")
    client = await start(lab, "plain", Editor(permission=editor.in_turn(editor.reject, editor.allow)))
    session = await new(client, lab)
    assert (await client.prompt(session, "rose")).text == "Looking for `rose` … I did not write it down."
    assert (await client.prompt(session, "rose")).text.endswith("`found.txt` says where it is.")
    assert "a.txt" in (lab.project / "found.txt").read_text("utf-8")
    await lab.assert_replay_equals_live(client, session)


async def test_pydantic_ai(lab: Lab) -> None:
    needs("pydantic_ai")
    (lab.project / "a.txt").write_text("roses\n", "utf-8")
    lab.model.add(
        T("I look. ") + C("c1", "read_file", {"path": "a.txt"}),
        C("c2", "run_command", {"command": "echo ran"}),
        T("Ros", "es."),
        T("As I said: roses."),
    )
    client = await start(lab, "pydantic_ai_agent")
    session = await new(client, lab)
    turn = await client.prompt(session, "What grows here?", SLOW)
    assert turn.text == "I look. Roses."
    assert [(call.fields["name"], call.fields["status"]) for call in turn.calls] == [
        ("read_file", "completed"),
        (SHELL, "completed"),
    ]
    assert len(await turn.permission_asked()) == 1, "the command was asked for"
    assert "ran" in output(turn.calls[1].fields)
    await lab.assert_replay_equals_live(client, session)
    client = await lab.restart(client, ACP_ADAPTER_AGENT=f"{EXAMPLES / 'pydantic_ai_agent'}.py:agent")
    assert (await client.prompt(session, "Again?", SLOW)).text == "As I said: roses."
    assert lab.model.requests[-1].texts("user") == ["What grows here?", "Again?"]
    assert [text.strip() for text in lab.model.requests[-1].texts("tool")][1:] == ["ran"]
    assert lab.query("SELECT input_tokens > 0 FROM sessions") == [(1,)]


async def test_langgraph(lab: Lab) -> None:
    needs("langgraph")
    needs("langchain_openai")
    lab.model.add(T("Well, ") + C("c1", "look_up", {"word": "ACP"}), T("it is ", "a protocol."), T("I told you."))
    client = await start(lab, "langgraph_agent")
    session = await new(client, lab)
    turn = await client.prompt(session, "What is ACP?", SLOW)
    assert turn.text == "Well, it is a protocol."
    assert [(call.fields["title"], output(call.fields)) for call in turn.calls] == [
        ("Look up ACP", "the Agent Client Protocol")
    ]
    await lab.assert_replay_equals_live(client, session)
    client = await lab.restart(client, ACP_ADAPTER_AGENT=f"{EXAMPLES / 'langgraph_agent'}.py:agent")
    assert (await client.prompt(session, "Again?", SLOW)).text == "I told you."
    assert lab.model.requests[-1].texts("user") == ["What is ACP?", "Again?"]
    assert lab.model.requests[-1].texts("tool") == ["the Agent Client Protocol"]


@pytest.mark.parametrize("name", ["pydantic_ai_agent", "langgraph_agent"])
async def test_a_framework_is_stopped_in_mid_stream_and_its_error_is_told(lab: Lab, name: str) -> None:
    needs("pydantic_ai" if name.startswith("pydantic") else "langchain_openai")
    lab.referee.allow("Traceback")
    lab.model.add(STALL("half an "), ERR(400, "what a prompt"), T("Well."))
    client = await start(lab, name)
    session = await new(client, lab)
    turn = await client.begin_prompt(session, "go")
    await turn.says("half an", SLOW)
    assert await turn.cancel() == "cancelled"
    await asyncio.to_thread(lab.model.wait_for_hangups, 1)
    with pytest.raises(RpcError, match=rf"{name}\.py:agent failed: .*what a prompt"):
        await client.prompt(session, "and now?", SLOW)
    assert (await client.prompt(session, "and now?", SLOW)).text == "Well."
    await lab.assert_replay_equals_live(client, session)
