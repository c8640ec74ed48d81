"""The law that a replay shows what was shown live, seen to fail: one stored thing is another, and it is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acp_adapter.ledger.db import SessionDB
from tests.clients import law
from tests.clients.checks.sessions import ANY_TIME
from tests.clients.editor import Editor, capabilities
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import SHELL, C, R, T

LONG = "and more of it " * 200
PLAN = [{"content": "rest", "status": "pending", "priority": "high"}]

TAMPERED = {
    "what the user said": ("UPDATE messages SET content = 'no' WHERE role = 'user' AND content = 'bye'", "user own-"),
    "an answer": ("UPDATE messages SET content = 'no' WHERE content = 'the end'", "answer "),
    "a thought": ("UPDATE messages SET reasoning = 'no' WHERE reasoning = 'hmm'", "thought "),
    "a call's arguments": ("UPDATE messages SET tool_calls = replace(tool_calls, 'echo', 'cat')", "rawInput"),
    "a call's name": ("UPDATE messages SET tool_calls = replace(tool_calls, 'nonsense', 'other')", "call c3, name"),
    "a call's status": ("UPDATE message_details SET details = json_set(details, '$.status', 'failed')", "status"),
    "a call's title": ("UPDATE message_details SET details = json_set(details, '$.title', 'no')", "call c1, title"),
    "a call's kind": ("UPDATE message_details SET details = json_set(details, '$.kind', 'fetch')", "call c1, kind"),
    "a call's places": (
        "UPDATE message_details SET details = json_set(details, '$.locations', json('[{\"path\": \"/x\"}]'))",
        "locations",
    ),
    "a call's output": ("UPDATE messages SET content = 'no' WHERE role = 'tool'", "call c1, content"),
    "the plan": ("UPDATE message_details SET details = json_remove(details, '$.plan')", "the plan"),
    "the summary": ("UPDATE messages SET content = 'no' WHERE content LIKE '%in short%'", "compaction "),
    "a message that is gone": ("DELETE FROM messages WHERE content = 'the end'", "not replayed"),
    "a message too many": (
        "INSERT INTO messages (session_id, role, content, timestamp) SELECT id, 'user', 'ghost', 0 FROM sessions"
        " WHERE parent_session_id IS NOT NULL",
        "never shown",
    ),
    "the title": ("UPDATE sessions SET title = title || '!'", "the title"),
    "the mode": ("UPDATE sessions SET model_config = json_set(model_config, '$.mode', 'plan')", "the mode"),
    "the model": ("UPDATE sessions SET model = 'another'", "the model"),
}


async def lived(lab: Lab) -> tuple[RawClient, str]:
    """A client that was shown everything there is, and whose agent has gone."""
    lab.model.add(
        R("hmm")
        + T("I look. " + LONG)
        + C("c1", SHELL, {"command": "echo hi"})
        + C("c2", "update_plan", {"entries": PLAN}),
        C("c3", "nonsense", {}) + C("c4", "list_directory", {"path": "."}),
        T("done"),
        T("in short: all is well"),
        T("the end"),
    )
    client = await lab.start(Editor(offers=capabilities(notices=True, compaction=True)))
    session = await client.new(lab.project)
    await client.request("session/set_mode", {"sessionId": session, "modeId": "bypass"})
    for text in ("do it " + LONG, "/compact", "bye"):
        await client.prompt(session, text)
    client.eof()
    await client.ended()
    return client, session


@pytest.fixture
async def told(lab: Lab) -> RawClient:
    return (await lived(lab))[0]


async def test_every_kind_of_lie_is_named(lab: Lab, told: RawClient) -> None:
    assert list(law.breaches(lab.home / "state.db", [told])) == []
    for what, (lie, named) in TAMPERED.items():
        found = list(law.breaches(_tampered(lab, lie), [told]))
        assert any(named in line for line in found), f"{what}: {found}"


async def test_the_law_tells_a_session_as_a_load_tells_it(lab: Lab) -> None:
    client, session = await lived(lab)
    again = await lab.start(Editor(offers=client.editor.offers))
    loaded = await again.load(session, lab.project)
    with closing(SessionDB.open(lab.home / "state.db", read_only=True)) as db:
        told = law.replayed(db.replay(session), client)
    assert told == loaded[: len(told)]
    assert {update["sessionUpdate"] for update in loaded[len(told) :]} <= ANY_TIME


def _tampered(lab: Lab, lie: str) -> Path:
    """A copy of the ledger with one lie in it."""
    copy = lab.folder / "lie.db"
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(lab.home / "state.db")) as true, closing(sqlite3.connect(copy)) as false:
        true.backup(false)
        assert false.execute(lie).rowcount, "there was nothing to lie about"
        false.commit()
    return copy
