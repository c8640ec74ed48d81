"""What another process did to a session is taken in before the next turn, and no more of it than is new."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
from tests.agent.house import House, house


async def answered(home: House, text: str) -> None:
    asked = asyncio.create_task(home.session.prompt(text))
    await home.settle(asked)
    assert await asked == "end_turn"


async def test_what_stayed_the_same_is_not_taken_in_anew(tmp_path: Path) -> None:
    """Everything that is remembered of a message, as its encoding, hangs on the object."""
    async with house(tmp_path) as home:
        for n in range(3):
            await answered(home, f"question {n}")
        before = list(home.session.history)
        with closing(SessionDB.open(tmp_path / "state.db")) as other:
            other.append("s", [Message("user", "from elsewhere"), Message("assistant", "answered there")])
            other.trim("s", {before[1].id: "note"})
        await answered(home, "and here")
        after = home.session.history
        assert [message.text() for message in after[6:9]] == ["from elsewhere", "answered there", "and here"]
        assert [new is old for new, old in zip(after, before, strict=False)] == [True, False, True, True, True, True]
        assert (after[1].content, after[1].api_content) == (before[1].content, "note")
        assert home.model.requests[-1].messages[1].api_content == "note"
        assert after == await home.stored()
