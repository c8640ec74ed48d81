"""Forks stand by themselves; a deleted session is gone, to the last byte, and nothing else is."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import HANG, T


async def _fork(client: RawClient, lab: Lab, session: str, **more: Any) -> str:
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": [], **more}
    forked: str = (await client.request("session/fork", params))["sessionId"]
    return forked


async def test_forks_outlive_their_parent_and_a_last_delete_leaves_no_trace(lab: Lab) -> None:
    lab.model.add(T("it is zebra-42"), T("f goes on"), T("g goes on"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
    await client.prompt(session, "what is zebra-42?")
    fork = await _fork(client, lab, session)
    grandfork = await _fork(client, lab, fork)
    await client.request("session/delete", {"sessionId": session})

    client = await lab.restart(client)
    for each, answer in ((fork, "f goes on"), (grandfork, "g goes on")):
        assert "it is zebra-42" in str(await client.load(each, lab.project))
        turn = await client.prompt(each, "and then?")
        assert turn.text == answer
        assert lab.model.requests[-1].texts("user") == ["what is zebra-42?", "and then?"]
    modes = lab.query("SELECT json_extract(model_config, '$.mode') FROM sessions")
    assert modes == [("plan",), ("plan",)]

    for each in (fork, grandfork):
        await client.request("session/delete", {"sessionId": each})
        await client.request("session/delete", {"sessionId": each})
    assert (lab.count("sessions"), lab.count("messages")) == (0, 0)
    client.eof()
    await client.ended()
    for file in lab.home.glob("state.db*"):
        assert b"zebra-42" not in file.read_bytes(), f"the text is still in {file.name}"


async def test_a_fork_at_a_message_ends_there(lab: Lab) -> None:
    lab.model.add(T("one"), T("two"), T("new two"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "first")
    await client.prompt(session, "second")
    at = lab.query("SELECT platform_message_id FROM messages WHERE content = 'one'")[0][0]
    fork = await _fork(client, lab, session, _meta={"messageId": at})
    await client.prompt(fork, "second, otherwise")
    assert lab.model.requests[-1].texts("user") == ["first", "second, otherwise"]
    error = await client.error_of(
        "session/fork",
        {"sessionId": session, "cwd": str(lab.project), "mcpServers": [], "_meta": {"messageId": "nope"}},
    )
    assert error.code == -32602


async def test_deleting_a_session_stops_its_turn_and_nothing_comes_back(lab: Lab) -> None:
    lab.model.add(HANG, T("alive"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "are you there?")
    await client.until(lambda: lab.model.requests, "the model being asked")
    await client.request("session/delete", {"sessionId": session})
    assert (await client.result(turn.id))["stopReason"] == "cancelled"
    assert lab.count("messages") == 0
    other = await client.new(lab.project)
    assert (await client.prompt(other, "still there?")).text == "alive"
    assert (await client.error_of("session/prompt", {"sessionId": session, "prompt": [_text("hi")]})).code == -32002


async def test_a_fork_keeps_pictures_and_tool_results(lab: Lab, tmp_path: Path) -> None:
    """The copy is whole: rows of parent and fork differ only in what names them."""
    lab.model.add(T("a dot"))
    client = await lab.start()
    session = await client.new(lab.project)
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    await client.prompt(session, [_text("what is it?"), {"type": "image", "mimeType": "image/png", "data": pixel}])
    fork = await _fork(client, lab, session)
    with sqlite3.connect(lab.home / "state.db") as sql:
        columns = [row[1] for row in sql.execute("PRAGMA table_info(messages)") if row[1] not in ("id", "session_id")]
        named = ", ".join(columns)
        rows = [
            sql.execute(f"SELECT {named} FROM messages WHERE session_id = ? ORDER BY id", (each,)).fetchall()
            for each in (session, fork)
        ]
    assert rows[0] and rows[0] == rows[1]


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
