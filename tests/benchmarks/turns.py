"""A turn and a streamed chunk, against the bare provider reading the very same stream in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.agent import running
from tests.benchmarks.figure import Figure, against

CHARACTERS = 20_000
ROOT = Path(__file__).parents[2]
BARE = """
import asyncio, json, sys, time
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.port import ModelRequest
from acp_adapter.transcript import Message

async def read(provider):
    request = ModelRequest("You are brief.", [Message(role="user", content="go")])
    async for event in provider.stream(request):
        pass

async def main(url, times):
    provider = ChatProvider("openai", "stub-1", url, "none")
    await read(provider)
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        await read(provider)
    print(json.dumps([(time.process_time() - cpu) / times, (time.perf_counter() - wall) / times]))
    await provider.aclose()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def measure(folder: Path, turns: int, chunks: int) -> Iterator[Figure]:
    small = [{"T": "ok"}] * (turns + 1)
    agent_cpu, agent_wall = _agent(folder, small, turns)
    bare_cpu, bare_wall = _bare(folder, small, turns)
    yield against(
        "smallest turn, CPU", agent_cpu * 1000, "ms", f"bare client, {bare_cpu * 1000:.1f} ms", bare_cpu * 1000
    )
    label = f"bare client, {bare_wall * 1000:.1f} ms"
    yield against("smallest turn, wall", agent_wall * 1000, "ms", label, bare_wall * 1000)
    long = [{"T": "ok"}] + [{"T": [f"word{n} " for n in range(chunks)]}] * 3
    agent_chunk = (_agent(folder, long, 3)[0] - agent_cpu) / chunks
    bare_chunk = (_bare(folder, long, 3)[0] - bare_cpu) / chunks
    label = f"bare client, {bare_chunk * 1e6:.0f} µs"
    yield against("streamed chunk, CPU", agent_chunk * 1e6, "µs", label, bare_chunk * 1e6)
    tiny = [{"T": "ok"}] + [{"T": ["x"] * CHARACTERS}] * 3
    agent_turn, bare_turn = _agent(folder, tiny, 3)[0], _bare(folder, tiny, 3)[0]
    name = f"turn of {CHARACTERS:,} chunks of one character, CPU"
    yield against(name, agent_turn, "s", f"bare client, {bare_turn:.2f} s", bare_turn)
    first, last = _thousands(folder)
    label = f"the first thousand, {first * 1000:.0f} ms"
    yield against("the last thousand of those chunks, wall", last * 1000, "ms", label, first * 1000)


def _thousands(folder: Path) -> tuple[float, float]:
    """Seconds that the first and the last thousand characters took to arrive, medians of five turns."""
    env: dict[str, Any] = {"ACP_ADAPTER_MODEL": "openai:stub-1", "OPENAI_API_KEY": "none"}
    took = []
    with (
        stub(folder, [{"T": ["x"] * CHARACTERS}] * 6) as url,
        running(folder / "thousands", OPENAI_BASE_URL=url, **env) as agent,
    ):
        session = agent.new(folder)
        for _ in range(6):
            request = agent.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
            arrived = [(time.perf_counter(), line) for line in agent.until(request)]
            at = [moment for moment, line in arrived for _ in range(_characters(line))]
            took.append((at[1000] - at[0], at[-1] - at[-1001]))
    return median(first for first, _ in took[1:]), median(last for _, last in took[1:])


def _characters(line: bytes) -> int:
    """How much of the answer an update brings."""
    update = json.loads(line)["params"]["update"]
    return len(update["content"]["text"]) if update["sessionUpdate"] == "agent_message_chunk" else 0


def _agent(folder: Path, steps: list[dict[str, Any]], times: int) -> tuple[float, float]:
    """CPU and wall seconds per turn; a first turn warms up."""
    env: dict[str, Any] = {"ACP_ADAPTER_MODEL": "openai:stub-1", "OPENAI_API_KEY": "none"}
    with stub(folder, steps) as url, running(folder / "turns", OPENAI_BASE_URL=url, **env) as agent:
        session = agent.new(folder)
        agent.prompt(session, "go")
        cpu, began = agent.cpu(), time.perf_counter()
        for _ in range(times):
            agent.prompt(session, "go")
        return (agent.cpu() - cpu) / times, (time.perf_counter() - began) / times


def _bare(folder: Path, steps: list[dict[str, Any]], times: int) -> tuple[float, float]:
    with stub(folder, steps) as url:
        run = [sys.executable, "-c", BARE, url, str(times)]
        cpu, wall = json.loads(subprocess.run(run, capture_output=True, check=True, text=True).stdout)
        return float(cpu), float(wall)


@contextmanager
def stub(folder: Path, steps: list[dict[str, Any]]) -> Iterator[str]:
    """The stub model as a process of its own; its base URL."""
    file = folder / "steps.json"
    file.write_text(json.dumps(steps), "utf-8")
    command = [sys.executable, "-m", "tests.stub_model", str(file)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
