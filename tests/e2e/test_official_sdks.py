"""The official SDKs' clients drive the agent too; what they saw and sent is refereed like everything else."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp import schema

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.stub_model import HANG, SHELL, C, T

TYPESCRIPT = Path(__file__).parents[1] / "clients" / "ts"


class SdkClient:
    """Allows everything and keeps what it is told, as JSON."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.permissions: list[str] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        self.permissions.append(tool_call.title)
        option = next(option for option in options if option.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)


@asynccontextmanager
async def sdk(lab: Lab) -> AsyncIterator[tuple[Any, SdkClient]]:
    """A connection of the Python SDK's client to a new agent, initialized."""
    client = SdkClient()
    with (lab.folder / "sdk.stderr").open("ab") as stderr:
        spawned = acp.spawn_agent_process(
            cast(acp.Client, client),
            *lab.recorded(),
            env=lab.environment,
            cwd=lab.folder,
            transport_kwargs={"stderr": stderr, "limit": 10_000_000},
            use_unstable_protocol=True,
        )
        async with asyncio.timeout(60), spawned as (connection, process):
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
            yield connection, client
            assert process.returncode is None


def text(words: str) -> list[Any]:
    return [schema.TextContentBlock(type="text", text=words)]


async def test_the_python_sdk_s_client_runs_a_whole_session(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi"}), T("done"), HANG)
    async with sdk(lab) as (connection, client):
        session = (await connection.new_session(cwd=str(lab.project))).session_id
        answer = await connection.prompt(session_id=session, prompt=text("go"))
        assert answer.stop_reason == "end_turn"
        assert [item.text for item in panel(client.updates) if item.role == "answer"] == ["done"]
        assert len(client.permissions) == 1 and "echo hi" in client.permissions[0]
        await connection.set_session_mode(session_id=session, mode_id="bypass")
        await connection.set_config_option(config_id="mode", session_id=session, value="ask")
        hanging = asyncio.create_task(connection.prompt(session_id=session, prompt=text("hang")))
        await asyncio.to_thread(lab.model.wait_for_requests, 3)
        await connection.cancel(session_id=session)
        assert (await hanging).stop_reason == "cancelled"
        listed = await connection.list_sessions(cwd=str(lab.project))
        assert [row.session_id for row in listed.sessions] == [session]
        fork = await connection.fork_session(session_id=session, cwd=str(lab.project), mcp_servers=[])
        client.updates.clear()
        await connection.load_session(cwd=str(lab.project), session_id=fork.session_id)
        assert [item.role for item in panel(client.updates)] == ["user", "call", "answer", "user"]
        await connection.close_session(session_id=fork.session_id)
        with pytest.raises(acp.RequestError) as caught:
            await connection.load_session(cwd=str(lab.project), session_id="nope")
        assert caught.value.code == -32002


async def test_a_session_that_was_killed_in_one_client_goes_on_in_another(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi"}), T("from raw"), T("from the SDK"), T("raw again"))
    raw = await lab.start()
    session = await raw.new(lab.project)
    await raw.prompt(session, "one")
    await raw.kill()
    async with sdk(lab) as (connection, client):
        await connection.load_session(cwd=str(lab.project), session_id=session)
        assert [item.role for item in panel(client.updates)] == ["user", "call", "answer"]
        await connection.prompt(session_id=session, prompt=text("two"))
    again = await lab.start()
    shown = panel(await again.load(session, lab.project))
    assert [item.text for item in shown if item.role != "call"] == ["one", "from raw", "two", "from the SDK"]
    assert (await again.prompt(session, "three")).text == "raw again"
    assert lab.model.requests[-1].texts("assistant") == ["", "from raw", "from the SDK"]


# The TypeScript SDK.


@pytest.fixture
def node() -> str:
    """Node, with the SDK installed beside the client; `.ci/run` sees to it that this never skips there."""
    program = shutil.which("node")
    missing = "node is not installed" if not program else "run: npm install --prefix tests/clients/ts"
    if not program or not (TYPESCRIPT / "node_modules").exists():
        if os.environ.get("ACP_ADAPTER_TEST_ALL_CLIENTS"):
            pytest.fail(missing)
        pytest.skip(missing)
    return program


async def typescript(lab: Lab, node: str, *steps: Any, session: str | None = None) -> dict[str, Any]:
    """Run the steps in the TypeScript SDK's client; what it saw."""
    script = {"command": lab.recorded(), "cwd": str(lab.folder), "steps": steps, "session": session}
    file = lab.folder / "script.json"
    file.write_text(json.dumps(script), "utf-8")
    process = await asyncio.create_subprocess_exec(
        node,
        str(TYPESCRIPT / "client.mjs"),
        str(file),
        env=lab.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=10_000_000,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return dict(json.loads(out))


def opening() -> list[Any]:
    return [
        "initialize",
        {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "ts", "version": "1"}},
    ]


async def test_the_typescript_sdk_s_client_runs_a_whole_session(lab: Lab, node: str) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo hi"}), T("done"), C("c2", SHELL, {"command": "sleep 60"}))
    place = {"cwd": str(lab.project), "mcpServers": []}
    words = [{"type": "text", "text": "go"}]
    seen = await typescript(
        lab,
        node,
        opening(),
        ["session/new", place],
        ["session/prompt", {"sessionId": "$SESSION", "prompt": words}],
        ["prompt and cancel", {"prompt": words, "when": "tool_call_update"}],
        ["session/list", {"cwd": str(lab.project)}],
        ["session/set_mode", {"sessionId": "$SESSION", "modeId": "plan"}],
        ["session/set_config_option", {"sessionId": "$SESSION", "configId": "mode", "value": "ask"}],
        ["session/fork", {"sessionId": "$SESSION", **place}],
        ["session/load", {"sessionId": "$SESSION", **place}],
        ["session/close", {"sessionId": "$SESSION"}],
        ["session/load", {"sessionId": "nope", **place}],
    )
    results = [step["result"] for step in seen["results"]]
    assert results[0]["protocolVersion"] == 1
    assert (results[2]["stopReason"], results[3]["stopReason"]) == ("end_turn", "cancelled")
    assert len(results[4]["sessions"]) == 1
    assert results[6]["configOptions"]
    loaded = panel(seen["results"][8]["updates"])
    assert [item.role for item in loaded] == ["user", "call", "answer", "user", "call"]
    assert results[10] == {"error": -32002}
    assert seen["code"] == 0
    assert len(seen["permissions"]) == 2


async def test_the_typescript_sdk_fills_in_the_form_of_a_question(lab: Lab, node: str) -> None:
    lab.model.add(C("q1", "ask_user", {"question": "Which?", "options": ["Postgres", "SQLite"]}), T("SQLite it is"))
    hello = opening()
    hello[1]["clientCapabilities"] = {"elicitation": {"form": {}}}
    place = {"cwd": str(lab.project), "mcpServers": []}
    words = [{"type": "text", "text": "go"}]
    steps = [["session/new", place], ["session/prompt", {"sessionId": "$SESSION", "prompt": words}]]
    seen = await typescript(lab, node, hello, *steps)
    assert seen["results"][2]["result"]["stopReason"] == "end_turn"
    assert lab.model.requests[-1].texts("tool") == ["The user answered: SQLite"]


async def test_a_session_of_the_raw_client_goes_on_in_typescript(lab: Lab, node: str) -> None:
    lab.model.add(T("from raw"), T("from TypeScript"))
    raw = await lab.start()
    session = await raw.new(lab.project)
    await raw.prompt(session, "one")
    await raw.kill()
    seen = await typescript(
        lab,
        node,
        opening(),
        ["session/resume", {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}],
        ["session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "two"}]}],
        session=session,
    )
    assert seen["results"][2]["result"]["stopReason"] == "end_turn"
    assert lab.model.requests[-1].texts("assistant") == ["from raw"]
