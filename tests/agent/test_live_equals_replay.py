"""Whatever a model says and does in a turn: what is replayed afterwards is what was shown while it happened."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.acp.converter import unstructure
from acp_adapter.acp.updates import Presents, updates_of
from acp_adapter.agent.events import TurnEvent
from acp_adapter.agent.projection import events_of
from acp_adapter.errors import AcpAdapterError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.providers.scripted import ScriptedProvider
from acp_adapter.tools.toolbox import builtin_tools
from acp_adapter.transcript import new_id
from tests.agent.house import OneModel, house
from tests.clients.fold import differences

Step = dict[str, Any]

CALLS = [
    {"name": "list_directory", "arguments": {"path": "."}},
    {"name": "read_file", "arguments": {"path": "a.txt"}},
    {"name": "read_file", "arguments": {"path": "none.txt"}},
    {"name": "write_file", "arguments": {"path": "new.txt", "content": "x\n"}},
    {"name": "update_plan", "arguments": {"entries": [{"content": "one", "status": "pending", "priority": "high"}]}},
    {"name": "update_plan", "arguments": {"entries": []}},
    {"name": "grep", "arguments": {"pattern": "one"}},
    {"name": "ask_user", "arguments": {"question": "Which?", "options": ["this", "that"]}},
    {"name": "ask_user", "arguments": {"question": " "}},
    {"name": "no_such_tool", "arguments": {}},
    {"name": "read_file", "arguments": "{broken"},
    {"name": "read_file", "arguments": {"line": "x"}},
]
TEXTS = st.text(alphabet="ab \n#`é履", min_size=1, max_size=12)
SAYING = st.fixed_dictionaries({"text": TEXTS}, optional={"reasoning": TEXTS, "chunk_size": st.integers(1, 3)})
CALLING = st.fixed_dictionaries(
    {"tool_calls": st.lists(st.sampled_from(CALLS), min_size=1, max_size=3)},
    optional={"text": TEXTS, "reasoning": TEXTS},
)
FAILING = st.one_of(
    st.just({"error": {"status": 400, "message": "no"}}),
    st.builds(lambda text: {"text": text, "chunk_size": 1, "drop_after": 1}, TEXTS),
    st.builds(lambda text: {"text": text, "finish_reason": "length"}, TEXTS),
    st.just({"reasoning": "only thoughts"}),
)
TURNS = st.lists(st.tuples(st.lists(CALLING, max_size=2), st.one_of(SAYING, SAYING, FAILING)), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TURNS, st.booleans())
def test_a_replay_shows_what_was_shown_live(turns: list[tuple[list[Step], Step]], presents: bool) -> None:
    asyncio.run(_play(turns, Presents(presents, presents)))


async def _play(turns: list[tuple[list[Step], Step]], presents: Presents) -> None:
    steps = [step for calls, end in turns for step in (*calls, end)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.txt").write_text("one\n", "utf-8")
        async with house(folder) as live:
            model = ScriptedProvider(steps)
            live.session.services.models = OneModel(model)  # type: ignore[assignment, arg-type]
            live.session.agent.tools = builtin_tools()
            shown: list[dict[str, Any]] = []
            for number, _ in enumerate(turns):
                shown.append({"sessionUpdate": "user_message_chunk", "content": _words(number), "messageId": new_id()})
                before = len(live.shown)
                with contextlib.suppress(AcpAdapterError):
                    await live.session.prompt(f"question {number}")
                shown += _told(live.shown[before:], presents)
            replayed = _told(events_of(await live.ledger(SessionDB.replay, live.session.id)), presents)
    found = differences(shown, replayed)
    assert not found, "\n".join(found)


def _words(number: int) -> dict[str, Any]:
    return {"type": "text", "text": f"question {number}"}


def _told(events: Iterable[TurnEvent], presents: Presents) -> list[dict[str, Any]]:
    told = [update for event in events for update in updates_of(event, presents)]
    return list(json.loads(json.dumps([unstructure(update) for update in told])))
