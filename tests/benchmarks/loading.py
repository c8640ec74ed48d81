"""`session/load` of long sessions, against SQLite reading the same rows and `json` writing them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, ToolCall
from tests.benchmarks.agent import running
from tests.benchmarks.figure import Figure, against

TEXT = "A sentence of about the usual length, as people and models write them all day long. "


def measure(folder: Path, sizes: tuple[int, ...]) -> Iterator[Figure]:
    for size in sizes:
        home = folder / f"load{size}"
        home.mkdir(mode=0o700)
        fill(home / "state.db", folder, size)
        bare = _bare(home / "state.db")
        with running(home, ACP_ADAPTER_MODEL="scripted:/nowhere") as agent:
            agent.new(folder)
            cpu, began = agent.cpu(), time.perf_counter()
            agent.ask("session/load", sessionId="long", cwd=str(folder), mcpServers=[])
            wall, spent = time.perf_counter() - began, agent.cpu() - cpu
        yield against(f"load of {size:,} messages, wall", wall, "s", f"bare SQLite and json, {bare:.3f} s", bare)
        yield Figure(f"load of {size:,} messages, CPU per message", spent / size * 1e6, "µs")


def fill(path: Path, cwd: Path, size: int) -> None:
    """Turns of four messages: a question, a tool call, its result, an answer."""
    with closing(SessionDB.open(path)) as db:
        db.create_session(
            "long", source="acp", model=None, model_config={"cwd": str(cwd)}, system_prompt="", cwd=str(cwd)
        )
        for number in range(size // 4):
            call = ToolCall(f"c{number}", "run_command", json.dumps({"command": f"echo {number}"}))
            turn = [
                Message(role="user", content=TEXT),
                Message(role="assistant", content=TEXT, tool_calls=[call.raw()]),
                Message(role="tool", content=TEXT * 3, tool_call_id=call.id, tool_name=call.name),
                Message(role="assistant", content=TEXT * 4, reasoning=TEXT),
            ]
            db.append("long", turn, None)


def _bare(path: Path) -> float:
    began = time.perf_counter()
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        for row in connection.execute("SELECT * FROM messages ORDER BY id"):
            json.dumps(dict(row)).encode()
    return time.perf_counter() - began
