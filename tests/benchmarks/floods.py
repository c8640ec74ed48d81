"""Much at once, and a reader that is slow: what it costs, and that memory stays where it was."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.agent import command, running
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.turns import stub

MODEL = {"ACP_ADAPTER_MODEL": "openai:stub-1", "OPENAI_API_KEY": "none"}
COPY = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, open(sys.argv[1], 'wb'))"
SLOW, WORDS = 10_000, 50_000
"""Bytes a second that the slow reader takes; chunks of twenty characters that it is sent."""


def measure(folder: Path, lines: int, seconds: int) -> Iterator[Figure]:
    yield from _output(folder, lines)
    yield from _slow_reader(folder, seconds)
    yield _idle(folder, seconds)


def _output(folder: Path, lines: int) -> Iterator[Figure]:
    """A command that prints so many lines, against a program that copies the same pipe into a file."""
    few_cpu, few_peak = _command(folder, 10)
    cpu, peak = _command(folder, lines)
    copy = [sys.executable, "-c", f"{COPY!s}", str(folder / "copy.txt")]
    bare = command("sh", "-c", f'seq {lines} | "$0" "$@"', *copy)[1] - command("sh", "-c", f"seq {lines} >/dev/null")[1]
    bare -= command("sh", "-c", 'seq 1 | "$0" "$@"', *copy)[1]
    name = f"a command's {lines:,} lines of output, CPU"
    yield against(name, (cpu - few_cpu) * 1000, "ms", f"bare copy, {bare * 1000:.0f} ms", bare * 1000)
    label = f"peak of the same with 10 lines, {few_peak:.0f} MiB"
    yield against("and the agent's peak of memory", peak, "MiB", label, few_peak)


def _command(folder: Path, lines: int) -> tuple[float, float]:
    """CPU seconds of a turn with that command, and the peak of the agent's resident memory, MiB."""
    steps = [{"C": ["c1", "run_command", {"command": f"seq {lines}"}]}, {"T": "ok"}]
    with stub(folder, steps) as url, running(folder / f"lines{lines}", OPENAI_BASE_URL=url, **MODEL) as agent:
        session = agent.new(folder)
        agent.ask("session/set_mode", sessionId=session, modeId="bypass")
        before = agent.cpu()
        agent.prompt(session, "go")
        spent = agent.cpu() - before
    return spent, agent.peak / 2**20


def _slow_reader(folder: Path, seconds: int) -> Iterator[Figure]:
    """An answer of a megabyte that is read at 10 KB/s for a while, and then as fast as it comes."""
    steps = [{"T": "ok"}, {"T": ["nineteen characters "] * WORDS}]
    fast, fast_peak = _answer(folder, steps, 0)
    slow, slow_peak = _answer(folder, steps, seconds)
    name = "answer of a megabyte to a reader at 10 KB/s, peak of memory"
    yield against(name, slow_peak, "MiB", f"to a quick reader, {fast_peak:.0f} MiB", fast_peak)
    yield against("and the bytes of its frames", slow, "MiB", f"to a quick reader, {fast:.1f} MiB", fast)


def _answer(folder: Path, steps: list[dict[str, object]], seconds: int) -> tuple[float, float]:
    """The frames of the second answer and the peak of the agent's resident memory, both in MiB."""
    with stub(folder, steps) as url, running(folder / f"slow{seconds}", OPENAI_BASE_URL=url, **MODEL) as agent:
        session = agent.new(folder)
        agent.prompt(session, "go")
        before = agent.read_bytes
        request = agent.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        for _ in range(10 * seconds):
            agent.read(SLOW // 10)
            time.sleep(0.1)
        agent.result(request)
        frames = agent.read_bytes - before
    return frames / 2**20, agent.peak / 2**20


def _idle(folder: Path, seconds: int) -> Figure:
    with running(folder / "idle", **MODEL) as agent:
        agent.new(folder)
        time.sleep(2)
        before = agent.cpu()
        time.sleep(seconds)
        return Figure("an idle agent, CPU in a minute", (agent.cpu() - before) * 60_000 / seconds, "ms")
