"""Many agents on one ledger, and a ledger that can't be written to."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import HANG, T

AGENTS, PROMPTS = 4, 3


@contextmanager
def _writer_that_hogs_the_file(lab: Lab) -> Iterator[None]:
    """Holds the write lock for most of the time."""
    done = threading.Event()

    def hog() -> None:
        while not done.is_set():
            with closing(sqlite3.connect(lab.home / "state.db", isolation_level=None, timeout=5)) as sql:
                sql.execute("BEGIN IMMEDIATE")
                done.wait(0.1)
                sql.execute("COMMIT")
            done.wait(0.2)

    thread = threading.Thread(target=hog)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


async def test_agents_that_share_a_ledger_lose_and_double_nothing(lab: Lab) -> None:
    lab.model.add(*[T(f"answer {n}") for n in range(AGENTS * PROMPTS)])
    clients = await asyncio.gather(*(lab.start() for _ in range(AGENTS)))
    sessions = await asyncio.gather(*(client.new(lab.project) for client in clients))

    async def converse(client: RawClient, session: str) -> None:
        for n in range(PROMPTS):
            await client.prompt(session, f"question {n}", timeout=60)

    with _writer_that_hogs_the_file(lab):
        await asyncio.gather(*map(converse, clients, sessions))
    for session in sessions:
        stored = lab.query(f"SELECT role, content FROM messages WHERE session_id = '{session}' ORDER BY id")
        assert [role for role, _ in stored] == ["user", "assistant"] * PROMPTS
        assert [text for role, text in stored if role == "user"] == [f"question {n}" for n in range(PROMPTS)]
    assert lab.count("sessions") == AGENTS


async def test_a_session_that_another_process_runs_names_its_holder(lab: Lab) -> None:
    lab.model.add(HANG, T("mine now"))
    first, second = await lab.start(), await lab.start()
    session = await first.new(lab.project)
    running = await first.begin_prompt(session, "hold it")
    await first.until(lambda: lab.model.requests, "the model being asked")
    shown = panel(await second.load(session, lab.project))
    assert [item.text for item in shown] == ["hold it"], "a reader may follow"
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "me too"}]}
    refused = await second.error_of("session/prompt", prompt)
    assert str(first.process.pid) in str(refused)
    await first.cancel(session)
    await first.result(running.id)
    assert (await second.prompt(session, "me too")).text == "mine now"


async def test_a_dead_holder_is_nobody(lab: Lab) -> None:
    lab.model.add(HANG, T("taken over"))
    first, second = await lab.start(), await lab.start()
    session = await first.new(lab.project)
    await first.begin_prompt(session, "hold it")
    await first.until(lambda: lab.model.requests, "the model being asked")
    await first.kill()
    assert (await second.prompt(session, "go on")).text == "taken over"


async def test_history_that_cannot_be_saved_is_told_and_saved_later(lab: Lab) -> None:
    lab.model.add(T("one"), T("two"), T("three"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "first")
    with closing(sqlite3.connect(lab.home / "state.db")) as sql:
        sql.execute("CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END")
        sql.commit()
    turn = await client.prompt(session, "second")
    assert "not being saved" in turn.text and "two" in turn.text
    with closing(sqlite3.connect(lab.home / "state.db")) as sql:
        sql.execute("DROP TRIGGER full")
        sql.commit()
    await client.prompt(session, "third")
    stored = [text for (text,) in lab.query("SELECT content FROM messages ORDER BY id")]
    assert stored == ["first", "one", "second", "two", "third", "three"]


async def test_a_removed_home_is_an_error_that_says_so(lab: Lab) -> None:
    client = await lab.start()
    await client.new(lab.project)
    shutil.rmtree(lab.home)
    params = {"cwd": str(lab.project), "mcpServers": []}
    refused = await client.error_of("session/new", params)
    assert "state.db" in str(refused)
