"""Whatever a model says and does in a turn, and the user meanwhile: what is replayed afterwards is what was shown."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.acp.converter import unstructure
from acp_adapter.acp.updates import Presents, updates_of
from acp_adapter.agent.events import TurnEvent
from acp_adapter.agent.permissions import Mode
from acp_adapter.agent.projection import events_of
from acp_adapter.errors import AcpAdapterError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.providers.scripted import ScriptedProvider
from acp_adapter.tools.toolbox import builtin_tools
from acp_adapter.transcript import new_id
from tests.agent.house import House, OneModel, house
from tests.clients.fold import differences

Step = dict[str, Any]
WORD = {"type": "text", "text": "use tabs"}
"""What the user says to a turn that runs."""

CALLS = [
    {"name": "list_directory", "arguments": {"path": "."}},
    {"name": "read_file", "arguments": {"path": "a.txt"}},
    {"name": "read_file", "arguments": {"path": "none.txt"}},
    {"name": "write_file", "arguments": {"path": "new.txt", "content": "x\n"}},
    {"name": "edit_file", "arguments": {"path": "a.txt", "old_text": "one", "new_text": "two"}},
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
LONG = st.just({"text": "many words " * 800})
MEANWHILE = st.one_of(st.none(), st.tuples(st.sampled_from(["cancel", "steer"]), st.integers(1, 9)))
"""What the user does, and after how many events of the turn: before the first, its prompt has not been taken."""
TURN = st.tuples(st.lists(CALLING, max_size=2), st.one_of(SAYING, SAYING, LONG, FAILING), MEANWHILE)
COMPACT: st.SearchStrategy[Turn] = st.tuples(st.just([]), SAYING, st.just(("compact", 0)))
TURNS = st.lists(st.one_of(TURN, TURN, COMPACT), min_size=1, max_size=4)

Turn = tuple[list[Step], Step, tuple[str, int] | None]


@settings(max_examples=60)
@given(TURNS, st.booleans(), st.sampled_from(["ask", "accept_edits"]))
def test_a_replay_shows_what_was_shown_live(turns: list[Turn], presents: bool, mode: Mode) -> None:
    asyncio.run(_play(turns, Presents(presents, presents), mode))


async def _play(turns: list[Turn], presents: Presents, mode: Mode) -> None:
    steps = [step for calls, end, _ in turns for step in (*calls, end)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.txt").write_text("one\n", "utf-8")
        async with house(folder) as live:
            model = ScriptedProvider(steps)
            live.session.services.models = OneModel(model)  # type: ignore[assignment, arg-type]
            live.session.services.tools = builtin_tools()
            live.session.mode = mode
            shown: list[dict[str, Any]] = []
            for number, (_, _, meanwhile) in enumerate(turns):
                before = len(live.shown)
                shown += await _turn(live, number, meanwhile)
                shown += _told(live.shown[before:], presents)
            replayed = _told(events_of(await live.ledger(SessionDB.replay, live.session.id)), presents)
    words = [update for update in replayed if update.get("content") == WORD]
    found = differences(shown, [update for update in replayed if update not in words])
    assert not found, "\n".join(found)
    assert len(words) == sum(1 for update in shown if update["sessionUpdate"] == "steered")


async def _turn(live: House, number: int, meanwhile: tuple[str, int] | None) -> list[dict[str, Any]]:
    """Let a turn run to its end; what the editor shows of it by itself."""
    text, (act, after) = f"question {number}", meanwhile or ("", 0)
    if act == "compact":
        with contextlib.suppress(AcpAdapterError):
            await live.session.compact(None)
        return []
    asked = asyncio.create_task(live.session.prompt(text))
    own = [{"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}, "messageId": new_id()}]
    end = len(live.shown) + after
    while act and not asked.done() and len(live.shown) < end:
        await asyncio.sleep(0)
    if act == "cancel":
        live.session.cancel()
    elif act == "steer":
        # Where the words stand is known when the model has read them: after the step that ran when they were said.
        own.append({"sessionUpdate": "steered"})
        with contextlib.suppress(AcpAdapterError):
            await live.session.steer(WORD["text"], WORD["text"])
    with contextlib.suppress(AcpAdapterError):
        await asked
    return own


def _told(events: Iterable[TurnEvent], presents: Presents) -> list[dict[str, Any]]:
    told = [update for event in events for update in updates_of(event, presents)]
    return list(json.loads(json.dumps([unstructure(update) for update in told])))
