"""Process start to the answer of `initialize`, against `import pygls.server`; the runs take turns."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks.agent import Agent, command
from tests.benchmarks.figure import Figure, against

IMPORT = "import pygls.server"


def measure(folder: Path, rounds: int) -> Iterator[Figure]:
    bare, imported, answered, ready = [], [], [], []
    for number in range(rounds + 1):
        bare.append(command(sys.executable, "-c", "pass"))
        imported.append(command(sys.executable, "-c", IMPORT))
        answered.append(_to_answer(folder / f"start{number}"))
        ready.append(_to_session(folder / f"ready{number}"))
    for at, name in enumerate(("wall", "CPU")):
        # The first round only warms the disk cache.
        pygls = median(run[at] for run in imported[1:])
        label = f"{IMPORT}, {pygls:.2f} s"
        yield against(f"bare python, {name}", median(run[at] for run in bare[1:]), "s", label, pygls)
        yield against(f"start to initialize answer, {name}", median(run[at] for run in answered[1:]), "s", label, pygls)
        yield against(f"start to first session, {name}", median(run[at] for run in ready[1:]), "s", label, pygls)


def _to_answer(home: Path) -> tuple[float, float]:
    began = time.perf_counter()
    agent = Agent(home)
    agent.initialize()
    took = time.perf_counter() - began, agent.cpu()
    agent.close()
    return took


def _to_session(home: Path) -> tuple[float, float]:
    began = time.perf_counter()
    agent = Agent(home)
    agent.initialize()
    agent.new(home.parent)
    took = time.perf_counter() - began, agent.cpu()
    agent.close()
    return took
