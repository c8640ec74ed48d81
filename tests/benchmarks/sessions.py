"""`session/new`, and what an idle session holds in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.agent import running
from tests.benchmarks.figure import Figure, against


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
