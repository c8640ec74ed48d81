"""Whatever holds one session up, another one in the same process begins, works and ends its whole turn meanwhile.

How much longer that takes is measured by `python -m tests.benchmarks --only beside`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from tests.clients import editor
from tests.clients.editor import Editor, Policy, capabilities
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.clients.turn import Turn
from tests.stub_model import HANG, READ, SHELL, STALL, C, Step, T

KINDS = str(Path(__file__).parents[1] / "mcp" / "kinds_server.py")
MANY = f"{sys.executable} -c \"while True: print('x' * 1000)\""


@define
class Hold:
    """What session A does until it is held up; `mark` is found in what the agent has sent when it is."""

    steps: tuple[Step, ...]
    mark: str
    servers: list[dict[str, Any]] = field(factory=list)
    offers: dict[str, Any] = field(factory=capabilities)
    overrides: dict[str, Policy] = field(factory=dict)
    permission: Policy = editor.allow


KIND_SERVER = {"name": "kinds", "command": sys.executable, "args": [KINDS], "env": []}
HUNG_SERVER = {"name": "hung", "command": "sleep", "args": ["1000"], "env": []}

HOLDS = {
    "a model that does not answer": Hold((HANG,), "session_info_update"),
    "a model that stops in the middle": Hold((STALL("I begin"),), "I begin"),
    "an MCP server that does not start": Hold((HANG,), "session_info_update", [HUNG_SERVER]),
    "an MCP server that does not answer": Hold((C("a1", "kinds__hangs", {}),), "in_progress", [KIND_SERVER]),
    "a permission that nobody answers": Hold(
        (C("a1", SHELL, {"command": "true"}),), "session/request_permission", permission=editor.never
    ),
    "a question that nobody answers": Hold(
        (C("a1", "ask_user", {"question": "What now?"}),),
        "elicitation/create",
        offers=capabilities(forms=True),
        overrides={"elicitation/create": editor.never},
    ),
    "a helper that hangs": Hold((C("a1", "delegate_task", {"task": "take A long time"}), HANG), "in_progress"),
    "a command that hangs": Hold((C("a1", SHELL, {"command": "sleep 1000"}),), "in_progress"),
    "a command that prints without end": Hold((C("a1", SHELL, {"command": MANY}),), "xxx"),
    "an editor that does not read": Hold(
        (C("a1", READ, {"path": "a.txt"}),),
        "fs/read_text_file",
        offers=capabilities(fs=True),
        overrides={"fs/read_text_file": editor.never},
    ),
    "an editor whose terminal does not open": Hold(
        (C("a1", SHELL, {"command": "true"}),),
        "terminal/create",
        offers=capabilities(terminal=True),
        overrides={"terminal/create": editor.never},
    ),
}


@pytest.mark.parametrize("name", HOLDS)
async def test_a_whole_turn_ends_while_another_session_is_held_by(lab: Lab, name: str) -> None:
    hold = HOLDS[name]
    (lab.project / "a.txt").write_text("a")
    lab.model.add(*[step.when("A") for step in hold.steps])
    lab.model.add(C("b1", "list_directory", {"path": "."}).when("B"), T("B is done").when("B"))
    client = await lab.start(Editor(offers=hold.offers, overrides=hold.overrides, permission=hold.permission))
    turn = await held(client, lab, hold)
    session = await client.new(lab.project)
    other = await client.prompt(session, "B")
    assert (other.stop_reason, other.text, other.call("b1")["status"]) == ("end_turn", "B is done", "completed")
    assert len(await client.load(session, lab.project)) > 2
    assert not client.answered(turn.id), "A is no longer held: this shows nothing"
    assert await turn.cancel() == "cancelled"


async def held(client: RawClient, lab: Lab, hold: Hold) -> Turn:
    """A turn of a session of its own, which has come to where it is held up."""
    session = await client.new(lab.project, mcpServers=hold.servers)
    if KIND_SERVER in hold.servers:
        async with asyncio.timeout(60):
            while "7 tools" not in (await client.prompt(session, "/mcp")).text:
                pass
    before = len(client.frames)
    turn = await client.begin_prompt(session, "A")
    await client.until(
        lambda: any(hold.mark.encode() in frame.line for frame in client.frames[before:] if not frame.sent), hold.mark
    )
    return turn
