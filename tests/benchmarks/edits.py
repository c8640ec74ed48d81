"""An edit that can be taken back, against the same edit that can't, and against a bare copy of the file beside it."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median

from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.events import TurnEvent
from acp_adapter.agent.history import LedgerHistory
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools import documents
from acp_adapter.tools.text import Text
from tests.benchmarks.figure import Figure, against

SIZES = ((20_000, "20 KB"), (1_000_000, "1 MB"))
"""Bytes of the file that is edited."""


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    for size, name in SIZES:
        kept, plain, copy = asyncio.run(_medians(folder / name.replace(" ", "-"), size, rounds))
        what = f"keeping what a file of {name} was, wall"
        yield against(what, kept - plain, "ms", f"bare copy of it, on the disk, {copy:.2f} ms", copy)
        yield against("edit of it that is kept, wall", kept, "ms", f"edit that is not, {plain:.2f} ms", plain)


async def _medians(folder: Path, size: int, rounds: int) -> list[float]:
    """Milliseconds of an edit that is kept, one that is not, and a copy; all in turn, each round with a new text."""
    folder.mkdir()
    ledger, path = Ledger(folder / "state.db"), folder / "file.txt"
    await ledger(SessionDB.create_session, "s", model="m", model_config={}, cwd=str(folder))
    workspace = Workspace("s", folder, [folder])
    keeping = Workspace("s", folder, [folder], history=LedgerHistory(ledger, "s", _told))
    ways: list[Callable[[Text], Awaitable[None]]] = [
        lambda text: _edit(path, text, keeping),
        lambda text: _edit(path, text, workspace),
        lambda text: asyncio.to_thread(_copied, path, folder / "copy.txt"),
    ]
    taken: list[list[float]] = [[] for _ in ways]
    for number in range(rounds):
        for way, times in zip(ways, taken, strict=True):
            text = Text((f"{number} {len(times)} {time.perf_counter_ns()}\n" * (size // 20))[:size])
            begun = time.perf_counter()
            await way(text)
            times.append((time.perf_counter() - begun) * 1000)
    await ledger.aclose()
    return [median(times) for times in taken]


async def _edit(path: Path, text: Text, workspace: Workspace) -> None:
    ctx = workspace.context("call")
    await documents.save(await documents.load(path, ctx), text, ctx, whole=True)


def _copied(path: Path, copy: Path) -> None:
    shutil.copyfile(path, copy)
    with copy.open("rb") as file:
        os.fsync(file.fileno())


def _told(event: TurnEvent) -> None:
    raise AssertionError(f"nothing is to be told, but: {event}")
