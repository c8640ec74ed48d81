"""Much at once, and an editor that does not read: nothing grows with it, and nothing of it is lost."""

from __future__ import annotations

import os

import psutil
import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import SHELL, C, T

MEGABYTE = 1024 * 1024


async def test_two_million_lines_of_output_cost_the_editor_and_the_model_one_result(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "seq 1 2000000"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go", timeout=60)
    assert turn.call("c1")["status"] == "completed"
    assert _bytes(client) < MEGABYTE, "of fifteen"
    (told,) = lab.model.requests[-1].texts("tool")
    assert len(told) < 200_000 and "2000000" in told


async def test_the_progress_of_a_command_does_not_pile_up_for_an_editor_that_does_not_read(lab: Lab) -> None:
    noisy = "for i in $(seq 1 400); do seq 1 1000; sleep 0.005; done; touch over"
    lab.model.add(C("c1", SHELL, {"command": noisy}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("in_progress")
    client.process.reading.clear()
    await client.until((lab.project / "over").exists, "the end of the command")
    client.process.reading.set()
    assert await turn.done() == "end_turn"
    assert _bytes(client) < MEGABYTE


@pytest.mark.skipif(os.name != "posix", reason="looks at the children of a POSIX shell")
async def test_a_cancel_works_although_the_editor_does_not_read(lab: Lab) -> None:
    lab.model.add(T(*["twenty characters ok"] * 20_000) + C("c1", SHELL, {"command": "touch runs; sleep 307"}))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.request("session/set_mode", {"sessionId": session, "modeId": "bypass"})
    client.process.reading.clear()
    turn = await client.begin_prompt(session, "go")
    await client.until((lab.project / "runs").exists, "the command")
    await client.cancel(session)
    await client.until(lambda: _results(lab), "the result of the cancelled call in the ledger")
    assert not [child for child in psutil.Process(client.process.pid).children(recursive=True) if _sleeps(child)]
    client.process.reading.set()
    assert await turn.done() == "cancelled"
    assert turn.text == "twenty characters ok" * 20_000


async def test_what_a_model_streams_waits_in_the_ledger_and_not_in_the_memory(lab: Lab) -> None:
    """The editor sleeps; a frame for each of the chunks would be more than fifty megabytes of memory."""
    words = ["x"] * 60_000
    lab.model.add(T("ok"), T(*words), T("fine"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "warm up")
    before = psutil.Process(client.process.pid).memory_info().rss
    client.process.reading.clear()
    turn = await client.begin_prompt(session, "go")
    await client.until(lambda: _answer(lab) == "".join(words), "the whole answer in the ledger", 60)
    assert psutil.Process(client.process.pid).memory_info().rss - before < 25 * MEGABYTE
    client.process.reading.set()
    assert await turn.done() == "end_turn"
    assert turn.text == "".join(words)


async def test_a_session_that_is_closed_leaves_nothing_behind(lab: Lab) -> None:
    """What stays of each of many short sessions would be seen in the memory of a process that runs for weeks."""
    lab.model.add(*[T("ok")] * 120)
    client = await lab.start()
    await _short_sessions(client, lab, 40)
    before = psutil.Process(client.process.pid).memory_info().rss
    await _short_sessions(client, lab, 80)
    assert psutil.Process(client.process.pid).memory_info().rss - before < 5 * MEGABYTE


async def _short_sessions(client: RawClient, lab: Lab, count: int) -> None:
    for _ in range(count):
        session = await client.new(lab.project)
        assert (await client.prompt(session, "go")).stop_reason == "end_turn"
        await client.request("session/close", {"sessionId": session})


def _bytes(client: RawClient) -> int:
    return sum(len(frame.line) for frame in client.frames if not frame.sent)


def _answer(lab: Lab) -> str:
    return str(lab.query("SELECT content FROM messages WHERE role = 'assistant' ORDER BY id DESC LIMIT 1")[0][0])


def _results(lab: Lab) -> list[tuple[str]]:
    return lab.query("SELECT content FROM messages WHERE role = 'tool'")


def _sleeps(process: psutil.Process) -> bool:
    try:
        return "307" in process.cmdline()
    except psutil.Error:
        return False
