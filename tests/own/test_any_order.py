"""Whatever an agent says and does, in whichever order and however much of it at once: a load shows what was shown."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from tests.clients import editor
from tests.clients.editor import Editor
from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.own.conftest import Host

WORDS = ["say", "say", "think", "ours", "own", "asks", "plan", "left", "keep"]


def steps(chance: random.Random, depth: int = 2) -> list[Any]:
    found: list[Any] = []
    for _ in range(chance.randint(1, 6)):
        if depth and chance.random() < 0.3:
            found.append(["together", *steps(chance, depth - 1)])
        else:
            found.append([chance.choice(WORDS)])
    return found


@pytest.mark.parametrize("seed", range(4))
async def test_a_load_shows_what_was_shown_live(host: Host, lab: Lab, seed: int) -> None:
    chance = random.Random(seed)
    client = await host.start("plays", Editor(permission=editor.in_turn(*[editor.allow, editor.reject] * 200)))
    session = await client.new(lab.project)
    for _ in range(8):
        turn = await client.begin_prompt(session, json.dumps(steps(chance)))
        if chance.random() < 0.25:
            await asyncio.sleep(0)
            await client.cancel(session)
        assert await turn.done() in ("end_turn", "cancelled")
        ids = [call.id for call in panel(client.live[session]) if call.role == "call"]
        assert len(ids) == len(set(ids))
        await lab.assert_replay_equals_live(client, session)
    open_calls = (
        "SELECT count(*) FROM messages m, json_each(m.tool_calls) c WHERE NOT EXISTS "
        "(SELECT 1 FROM messages r WHERE r.role = 'tool' AND r.tool_call_id = json_extract(c.value, '$.id'))"
    )
    assert lab.query(open_calls) == [(0,)]
