"""Much at once, and a reader that is slow: what it costs, and that memory stays where it was."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.benchmarks.agent import Agent, command, running
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.turns import stub

MODEL: dict[str, Any] = {"ACP_ADAPTER_MODEL": "openai:stub-1", "OPENAI_API_KEY": "none"}
COPY = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, open(sys.argv[1], 'wb'))"
SLOW, WORD, WORDS = 10_000, ["nineteen characters "], 50_000
"""Bytes a second that the slow reader takes; the chunks that it is sent."""


def measure(folder: Path, lines: int, seconds: int) -> Iterator[Figure]:
    yield from _output(folder, lines)
    yield from _slow_reader(folder, seconds)
    yield _idle(folder, seconds)


def _output(folder: Path, lines: int) -> Iterator[Figure]:
    """A command that prints so many lines, against a program that copies the same pipe into a file."""
    few = _command(folder, 10)
    many = _command(folder, lines)
    copy = [sys.executable, "-c", COPY, str(folder / "copy.txt")]
    bare = command("sh", "-c", f'seq {lines} | "$0" "$@"', *copy)[1] - command("sh", "-c", f"seq {lines} >/dev/null")[1]
    size = (folder / "copy.txt").stat().st_size / 2**10
    bare -= command("sh", "-c", 'seq 1 | "$0" "$@"', *copy)[1]
    name = f"a command's {lines:,} lines of output, CPU"
    yield against(
        name, (many.cpu - few.cpu) * 1000, "ms", f"bare copy of the same pipe, {bare * 1000:.0f} ms", bare * 1000
    )
    yield against("bytes of all frames of that turn", many.frames, "KiB", f"the output, {size:,.0f} KiB", size)
    yield against("peak of memory with it", many.peak, "MiB", f"with 10 lines, {few.peak:.0f} MiB", few.peak)


@frozen
class Cost:
    """CPU in seconds, the agent's frames in KiB, the peak of its resident memory in MiB, a cancel in seconds."""

    cpu: float
    frames: float
    peak: float
    cancel: float = 0.0


def _command(folder: Path, lines: int) -> Cost:
    """A turn with a command that prints so many lines."""
    steps: list[dict[str, Any]] = [{"C": ["c1", "run_command", {"command": f"seq {lines}"}]}, {"T": "ok"}]
    with stub(folder, steps) as url, running(folder / f"lines{lines}", OPENAI_BASE_URL=url, **MODEL) as agent:
        session = agent.new(folder)
        agent.ask("session/set_mode", sessionId=session, modeId="bypass")
        cpu, frames = agent.cpu(), agent.read_bytes
        agent.prompt(session, "go")
        cpu, frames = agent.cpu() - cpu, agent.read_bytes - frames
    return Cost(cpu, frames / 2**10, agent.peak / 2**20)


def _slow_reader(folder: Path, seconds: int) -> Iterator[Figure]:
    """An answer of a megabyte that is read at 10 KB/s for a while, and then as fast as it comes."""
    fast, slow = _answer(folder, 0), _answer(folder, seconds)
    name = "answer of a megabyte to a reader at 10 KB/s, peak of memory"
    yield against(name, slow.peak, "MiB", f"to a quick reader, {fast.peak:.0f} MiB", fast.peak)
    label = f"to a quick reader, {fast.frames:,.0f} KiB"
    yield against("bytes of its frames", slow.frames, "KiB", label, fast.frames)
    yield against(
        "a cancel of another such answer, wall",
        slow.cancel,
        "s",
        f"with a quick reader, {fast.cancel:.2f} s",
        fast.cancel,
    )


def _answer(folder: Path, seconds: int) -> Cost:
    """Frames of a long answer that is read slowly for so many seconds, and how soon the cancel of another is done."""
    steps: list[dict[str, Any]] = [{"T": "ok"}, {"T": WORD * WORDS}, {"T": WORD * 10 * WORDS}]
    with stub(folder, steps) as url, running(folder / f"slow{seconds}", OPENAI_BASE_URL=url, **MODEL) as agent:
        session = agent.new(folder)
        agent.prompt(session, "go")
        before = agent.read_bytes
        request = _asked(agent, session, 10 * seconds)
        agent.result(request)
        frames = agent.read_bytes - before
        request = _asked(agent, session, 10 * min(seconds, 2))
        began = time.perf_counter()
        agent.notify("session/cancel", sessionId=session)
        while seconds and not _cancelled(folder / f"slow{seconds}" / "state.db"):
            agent.read(SLOW // 100)
            time.sleep(0.01)
        cancel = time.perf_counter() - began
        agent.result(request)
        cancel = cancel if seconds else time.perf_counter() - began
    return Cost(0, frames / 2**10, agent.peak / 2**20, cancel)


def _asked(agent: Agent, session: str, tenths: int) -> int:
    """Prompt, and read slowly for so many tenths of a second; the request."""
    request = agent.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    for _ in range(tenths):
        agent.read(SLOW // 10)
        time.sleep(0.1)
    return request


def _cancelled(ledger: Path) -> bool:
    """Whether the answer that was cancelled is in the ledger as such."""
    with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)) as sql:
        return sql.execute("SELECT 1 FROM messages WHERE finish_reason = 'cancelled'").fetchone() is not None


def _idle(folder: Path, seconds: int) -> Figure:
    with running(folder / "idle", **MODEL) as agent:
        agent.new(folder)
        time.sleep(2)
        before = agent.cpu()
        time.sleep(seconds)
        return Figure("an idle agent, CPU in a minute", (agent.cpu() - before) * 60_000 / seconds, "ms")
