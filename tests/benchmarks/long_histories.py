"""A turn of two model calls at the end of a long history, against the bare client sending the same requests.

The bare client keeps what it encoded, as the agent does; so the ratio is what the rest of the agent costs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.benchmarks.agent import running
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.loading import fill
from tests.benchmarks.turns import stub

BARE = """
import asyncio, json, sys, time
from contextlib import closing
from pathlib import Path
from acp_adapter.ledger.db import SessionDB
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.port import ModelRequest
from acp_adapter.transcript import Message

async def read(provider, request):
    async for event in provider.stream(request):
        pass

async def main(url, ledger, times):
    with closing(SessionDB.open(Path(ledger), read_only=True)) as db:
        history = db.conversation("long")
    provider = ChatProvider("openai", "stub-1", url, "none")
    request = ModelRequest("You are brief.", [*history, Message(role="user", content="go")])
    await read(provider, request)
    await read(provider, request)
    cpu = time.process_time()
    for _ in range(2 * times):
        await read(provider, request)
    print(json.dumps((time.process_time() - cpu) / times))
    await provider.aclose()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""

TURN: list[dict[str, Any]] = [{"C": ["c", "list_directory", {"path": "."}]}, {"T": "ok"}]


def measure(folder: Path, sizes: tuple[int, ...], times: int) -> Iterator[Figure]:
    for size in sizes:
        home = folder / f"history{size}"
        home.mkdir(mode=0o700)
        fill(home / "state.db", folder, size)
        bare = _bare(folder, home, times)
        agent = _agent(folder, home, times)
        name = f"turn of two calls after {size:,} messages, CPU"
        yield against(name, agent * 1000, "ms", f"bare client, {bare * 1000:.0f} ms", bare * 1000)


def _agent(folder: Path, home: Path, times: int) -> float:
    """CPU seconds per turn; a first turn warms up. The window is known, so that the conversation is measured."""
    (home / "config.toml").write_text("[providers.openai]\ncontext_window = 100000000\n", "utf-8")
    (home / "config.toml").chmod(0o600)
    env: dict[str, Any] = {"ACP_ADAPTER_MODEL": "openai:stub-1", "OPENAI_API_KEY": "none"}
    with stub(folder, TURN * (times + 1)) as url, running(home, OPENAI_BASE_URL=url, **env) as agent:
        agent.ask("session/resume", sessionId="long", cwd=str(folder), mcpServers=[])
        agent.prompt("long", "go")
        cpu = agent.cpu()
        for _ in range(times):
            agent.prompt("long", "go")
        return (agent.cpu() - cpu) / times


def _bare(folder: Path, home: Path, times: int) -> float:
    with stub(folder, [{"T": "ok"}] * (2 * times + 2)) as url:
        run = [sys.executable, "-c", BARE, url, str(home / "state.db"), str(times)]
        return float(json.loads(subprocess.run(run, capture_output=True, check=True, text=True).stdout))
