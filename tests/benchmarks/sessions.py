"""`session/new`, what an idle session holds in memory, and what thousands of short ones leave there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.agent import Agent, running
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.turns import stub


def measure(folder: Path, count: int, unit: float) -> Iterator[Figure]:
    """`unit` is what `import pygls.server` takes of CPU in this run."""
    with running(folder / "sessions", ACP_ADAPTER_MODEL="scripted:/nowhere") as agent:
        for _ in range(10):
            agent.new(folder)
        cpu, memory, began = agent.cpu(), agent.memory(), time.perf_counter()
        for _ in range(count):
            agent.new(folder)
        spent = (agent.cpu() - cpu) / count
        yield against("session/new, CPU", spent * 1000, "ms", f"import pygls.server, {unit * 1000:.0f} ms", unit * 1000)
        yield Figure("session/new, wall", (time.perf_counter() - began) / count * 1000, "ms")
        process = agent.memory() / 1024
        label = f"the whole process, {process / 1024:.0f} MiB"
        yield against("memory per idle session", (process - memory / 1024) / count, "KiB", label, process)


def short_ones(folder: Path, count: int) -> Iterator[Figure]:
    """Sessions of one turn, one after the other: closed, and left open by an editor that never closes one."""
    for closed in (True, False):
        env: dict[str, Any] = {"ACP_ADAPTER_MODEL": "openai:stub-1", "OPENAI_API_KEY": "none"}
        home = folder / f"short{closed}"
        with stub(folder, [{"T": "ok"}] * (count + 100)) as url, running(home, OPENAI_BASE_URL=url, **env) as agent:
            _turns(agent, folder, 100, closed)
            before = agent.memory()
            _turns(agent, folder, count, closed)
            grown = (agent.memory() - before) / 2**20
        name = f"{count:,} sessions of one turn, {'closed' if closed else 'left open'}: memory grown"
        yield against(name, grown, "MiB", f"the process before, {before / 2**20:.0f} MiB", before / 2**20)


def _turns(agent: Agent, folder: Path, count: int, closed: bool) -> None:
    for _ in range(count):
        session = agent.new(folder)
        agent.prompt(session, "go")
        if closed:
            agent.ask("session/close", sessionId=session)
