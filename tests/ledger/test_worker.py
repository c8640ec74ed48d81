"""The event loop goes on whatever the disk, a lock or a long search do."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from pathlib import Path

import pytest

from acp_adapter.errors import LedgerUnavailable, SessionNotFound
from acp_adapter.ledger.db import SessionDB, takes_long
from acp_adapter.ledger.worker import Ledger
from acp_adapter.transcript import Transcript, Usage
from tests.ledger.conftest import answer, change, texts, user
from tests.ledger.processes import running


@pytest.fixture
async def ledger(path: Path):  # type: ignore[no-untyped-def]
    opened = Ledger(path)
    yield opened
    await opened.aclose()


async def new_session(ledger: Ledger, session_id: str) -> None:
    await ledger(SessionDB.create_session, session_id, model="m", model_config={}, cwd="/w")


async def test_nothing_is_opened_before_it_is_needed(ledger: Ledger, path: Path) -> None:
    assert not path.exists()
    await new_session(ledger, "s")
    assert path.exists()


async def test_a_transcript_stores_through_it(ledger: Ledger) -> None:
    await new_session(ledger, "s")
    transcript = Transcript("s", ledger)
    draft = answer("ha")
    await transcript.draft(draft)
    await transcript.append(user("hi"))
    await transcript.append(draft, usage=Usage(1, 2))
    assert texts(await ledger(SessionDB.conversation, "s")) == ["hi", "ha"]
    assert [m.row for m in transcript.messages] == [m.row for m in await ledger(SessionDB.conversation, "s")]
    assert await ledger(SessionDB.recover, "s") == []


async def test_errors_come_to_the_caller(ledger: Ledger) -> None:
    with pytest.raises(SessionNotFound):
        await ledger(SessionDB.session, "nope")
    with pytest.raises(SessionNotFound):
        await ledger.append("nope", [user("x")], None)


async def test_calls_keep_their_order_and_what_was_awaited_is_seen(ledger: Ledger) -> None:
    await new_session(ledger, "s")
    await asyncio.gather(*(ledger.append("s", [user(str(number))], None) for number in range(50)))
    assert texts(await ledger(SessionDB.conversation, "s")) == [str(number) for number in range(50)]


async def test_neither_the_loop_nor_a_reader_waits_for_a_lock(ledger: Ledger, path: Path) -> None:
    await new_session(ledger, "s")
    with running("hold", path, 1.0) as holder:
        await asyncio.to_thread(holder.wait_for_lines, 1)
        writing = asyncio.create_task(ledger.append("s", [user("late")], None))
        ticks = 0
        while not writing.done() and ticks < 20:
            begun = time.monotonic()
            await ledger(SessionDB.list_sessions)
            assert time.monotonic() - begun < 0.5
            ticks += 1
            await asyncio.sleep(0.01)
        assert ticks > 5
        await asyncio.wait_for(writing, 20)
    assert texts(await ledger(SessionDB.conversation, "s")) == ["late"]


async def test_neither_reading_nor_writing_waits_for_a_long_search(ledger: Ledger) -> None:
    begun, finish = threading.Event(), threading.Event()

    @takes_long
    def long_search(db: SessionDB) -> None:
        begun.set()
        finish.wait(30)

    await new_session(ledger, "s")
    searching = asyncio.create_task(ledger(long_search))
    await asyncio.to_thread(begun.wait, 30)
    await asyncio.wait_for(ledger.append("s", [user("hi")], None), 10)
    assert texts(await asyncio.wait_for(ledger(SessionDB.conversation, "s"), 10)) == ["hi"]
    assert not searching.done()
    finish.set()
    await searching


async def test_a_cancelled_caller_leaves_the_ledger_usable(ledger: Ledger, path: Path) -> None:
    await new_session(ledger, "s")
    with running("hold", path, 0.5) as holder:
        await asyncio.to_thread(holder.wait_for_lines, 1)
        writing = asyncio.create_task(ledger.append("s", [user("one")], None))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await ledger.append("s", [user("two")], None)
    assert texts(await ledger(SessionDB.conversation, "s"))[-1] == "two"


async def test_reader_and_writer_are_one_holder_of_leases(ledger: Ledger) -> None:
    await new_session(ledger, "s")
    lease = await ledger(SessionDB.acquire, "s")
    assert await ledger(SessionDB.holder, "s") == lease
    await ledger(SessionDB.delete_session, "s")


async def test_closing_does_not_wait_for_a_lock_that_is_held(path: Path) -> None:
    ledger = Ledger(path)
    await new_session(ledger, "s")
    with running("hold", path, 60) as holder:
        await asyncio.to_thread(holder.wait_for_lines, 1)
        writing = asyncio.create_task(ledger.append("s", [user("never")], None))
        await asyncio.sleep(0)
        begun = time.monotonic()
        await ledger.aclose()
        assert time.monotonic() - begun < 3
        writing.cancel()
    with pytest.raises(LedgerUnavailable, match="closed"):
        await ledger(SessionDB.session, "s")
    await ledger.aclose()


async def test_notices_are_given_once(ledger: Ledger, path: Path) -> None:
    SessionDB.open(path).close()
    change(path, "UPDATE schema_version SET version = 99")
    assert "schema 99" in (await ledger.notices())[0]
    assert await ledger.notices() == []


async def test_a_ledger_that_was_replaced_is_opened_anew(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    await new_session(ledger, "old")
    assert [entry.id for entry in (await ledger(SessionDB.list_sessions)).sessions] == ["old"]
    other = SessionDB.open(tmp_path / "other.db")
    other.create_session("new", model="m", model_config={}, cwd="/w")
    other.close()
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    (tmp_path / "other.db").rename(path)
    assert [entry.id for entry in (await ledger(SessionDB.list_sessions)).sessions] == ["new"]
    await ledger.append("new", [user("hi")], None)
    with pytest.raises(SessionNotFound):
        await ledger.append("old", [user("hi")], None)


async def test_a_ledger_that_was_removed_is_an_error(ledger: Ledger, path: Path) -> None:
    await new_session(ledger, "s")
    shutil.rmtree(path.parent)
    transcript = Transcript("s", ledger)
    with pytest.raises(LedgerUnavailable, match="removed or replaced"):
        await transcript.append(user("hi"))
    assert transcript.unsaved == 1
