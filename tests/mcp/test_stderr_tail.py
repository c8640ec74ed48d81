"""What a child says as it goes is not missed, and what holds its pipe open is not waited for without end."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from acp_adapter.tools.mcp import stderr_tail
from acp_adapter.tools.mcp.stderr_tail import StderrTail


async def test_words_that_are_still_on_their_way_when_the_child_is_gone_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrived, read = threading.Event(), StderrTail._read

    def late(self: StderrTail, *args: Any) -> None:
        arrived.wait(20)
        read(self, *args)

    monkeypatch.setattr(StderrTail, "_read", late)
    tail = StderrTail()
    with tail.opened() as stderr:
        print("no token", file=stderr, flush=True)
    said = asyncio.create_task(tail.last_line())
    await asyncio.sleep(0)
    arrived.set()
    assert await said == "no token"


async def test_a_pipe_that_is_held_open_gives_what_came_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stderr_tail, "PATIENCE", 0.01)
    tail = StderrTail()
    with tail.opened():
        assert await tail.last_line() == ""
