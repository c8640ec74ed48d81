"""What a command changes is told apart from what the calls beside it change, whichever of them comes first."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from acp_adapter.agent.history import LedgerHistory
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools.file_state import captured


async def test_an_edit_that_begins_while_the_files_are_looked_at_is_not_the_commands(tmp_path: Path) -> None:
    path, begun, edited = tmp_path / "a.txt", asyncio.Event(), asyncio.Event()
    path.write_text("0\n")
    with closing(SessionDB.open(tmp_path / "state.db")) as db:
        db.create_session("s", model="m", model_config={}, cwd=str(tmp_path))
    ledger = Ledger(tmp_path / "state.db")
    history = LedgerHistory(ledger, "s", lambda _: None)

    async def command() -> None:
        async with history.watching([path], "command"):
            begun.set()
            await edited.wait()

    async def edit() -> None:
        before = captured(path)
        path.write_text("1\n")
        after = captured(path)
        path.write_text("0\n")
        await history.begin(path, before, after, "edit")
        await begun.wait()
        path.write_text("1\n")
        edited.set()

    async with asyncio.timeout(20):
        await asyncio.gather(command(), edit())
    assert [edit.call_id for edit in await ledger(SessionDB.edits, "s")] == ["edit"]
    await ledger.aclose()
