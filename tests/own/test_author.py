"""An author's code runs beside the connection, and ends with its turn."""

from __future__ import annotations

import asyncio
import threading

import pytest

from acp_adapter.own.author import GRACE, Author

WAIT = 20.0


async def test_what_is_cancelled_before_it_could_begin_ends_at_once_all_the_same() -> None:
    author, busy, ended = Author(), threading.Event(), threading.Event()

    async def block() -> None:
        busy.wait(WAIT)

    async def work() -> None:
        try:
            await asyncio.sleep(WAIT)
        finally:
            ended.set()

    blocking = asyncio.create_task(author.in_loop(block()))
    working = asyncio.create_task(author.in_loop(work()))
    await asyncio.sleep(0)
    assert working.cancel()
    await asyncio.sleep(0)
    busy.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(working, WAIT)
    assert ended.wait(GRACE), "the work was never begun, so that nothing in it could end"
    await blocking
    author.close()
