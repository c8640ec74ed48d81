"""A program that uses the ledger: run as a process by the tests of many writers, and killed by some of them.

python writer.py append PATH SESSION COUNT      appends user and assistant messages; prints each stored id
python writer.py turns PATH SESSION             the same for ever, with tool calls, drafts, branches, compactions
python writer.py hold PATH SECONDS              holds the write lock, over and over, until it is killed
python writer.py lease PATH SESSION             takes the lease, says so, waits to be killed
"""

from __future__ import annotations

import base64
import itertools
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, Part, ToolCall, Usage


def say(*words: object) -> None:
    print(*words, flush=True)


def append(path: str, session: str, count: str) -> None:
    db = SessionDB.open(Path(path), program=session)
    db.create_session(session, model="m", model_config={}, cwd="/w")
    worst = 0.0
    for number in range(int(count)):
        message = Message(role="user" if number % 2 else "assistant", content=f"{session} {number}")
        begun = time.perf_counter()
        db.append(session, [message])
        worst = max(worst, time.perf_counter() - begun)
    db.close()
    say("worst", worst)


def turns(path: str, session: str) -> None:
    """Says `stored ID…` only when the ledger has said so."""
    db = SessionDB.open(Path(path), program=session)
    db.create_session(session, model="m", model_config={}, cwd="/w")
    say("ready")
    for number in itertools.count():
        question = Message(role="user", content=f"question {number} " + "x" * 200)
        db.append(session, [question])
        say("stored", question.id)
        asking = Message(
            role="assistant", tool_calls=[ToolCall(f"c{number}", "t", "{}").raw()], finish_reason="tool_calls"
        )
        db.save_draft(session, Message(role="assistant", content="thinking", id=asking.id))
        told = Message(role="tool", content=[picture(number), picture(-1)], tool_call_id=f"c{number}")
        db.append(session, [asking], Usage(1, 1, cost=0.25))
        db.charge(session, Usage(2, 1, cost=0.5), task="title")
        db.append(session, [told])
        say("stored", asking.id, told.id)
        db.trim(session, {told.id: "[cut]"})
        if number % 7 == 3:
            db.branch(session, f"{session}-b{number}")
        if number % 9 == 4:
            db.continue_compressed(session, f"{session}-{number}", Message(role="user", content="summary"), [question])


def picture(seed: int) -> Part:
    """Made of its seed alone; 1,500 bytes, which the ledger keeps apart."""
    data = base64.b64encode((str(seed) * 1500)[:1500].encode()).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def hold(path: str, seconds: str) -> None:
    sql = sqlite3.connect(path, isolation_level=None, timeout=60)
    while True:
        sql.execute("BEGIN IMMEDIATE")
        say("held")
        time.sleep(float(seconds))
        sql.execute("ROLLBACK")
        time.sleep(0.05)


def lease(path: str, session: str) -> None:
    db = SessionDB.open(Path(path), program="a-busy-editor")
    db.acquire(session)
    say("held")
    time.sleep(600)


if __name__ == "__main__":
    tasks: dict[str, Callable[..., None]] = {"append": append, "turns": turns, "hold": hold, "lease": lease}
    tasks[sys.argv[1]](*sys.argv[2:])
