"""The model gets back what was left out of its own conversation, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.agent.calls import Workspace
from acp_adapter.errors import ToolError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools.recall import SHOWN, Recall
from acp_adapter.transcript import Message, Transcript


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger(tmp_path / "state.db")
    await ledger(SessionDB.create_session, "s", source="acp", model=None, model_config={}, cwd=str(tmp_path))
    yield ledger
    await ledger.aclose()


async def recalled(ledger: Ledger, **args: Any) -> str:
    context = Workspace("s", Path("/"), [Path("/")]).context("c1")
    return (await Recall(ledger).run(args, context)).text


async def test_what_was_left_out_is_found_behind_many_messages_that_were_not(ledger: Ledger) -> None:
    transcript = Transcript("s", ledger)
    result = Message("tool", "zebra " + "stripes " * 500, tool_call_id="c", id="leftout-1")
    await transcript.append(result, *(Message("user", f"zebra {n}") for n in range(40)))
    assert await recalled(ledger, query="zebra") == "[Nothing that was left out holds that.]"
    await transcript.trim({"leftout-1": "note"})
    assert (await recalled(ledger, query="zebra")).startswith("- message leftout- (tool): ")


async def test_a_long_message_comes_in_parts_that_join_to_the_whole(ledger: Ledger) -> None:
    whole = "".join(f"line {n}\n" for n in range(5000))
    await Transcript("s", ledger).append(Message("tool", whole, tool_call_id="c", tool_name="grep", id="long-1"))
    parts, start = [], 1
    while start <= len(whole):
        text = await recalled(ledger, message="long", start=start)
        heading, _, part = text.partition("\n")
        assert heading == "[tool of grep, message long-1]"
        parts.append(part[:SHOWN])
        start += SHOWN
    assert "".join(parts) == whole
    with pytest.raises(ToolError, match="can't begin at"):
        await recalled(ledger, message="long", start=len(whole) + 1)


@pytest.mark.parametrize(
    "args", [{}, {"query": ""}, {"message": " "}, {"query": "", "message": "a"}, {"query": "a", "message": "b"}]
)
async def test_a_call_that_asks_for_nothing_or_for_two_things_is_told_what_to_give(
    ledger: Ledger, args: dict[str, str]
) -> None:
    with pytest.raises(ToolError, match="Give either message or query"):
        await Recall(ledger).intent(args, Workspace("s", Path("/"), [Path("/")]).context("c1"))
