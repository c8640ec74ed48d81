"""Several sessions in one process: all are answered, and nothing of one is seen in another.

That none waits for another is in `test_no_session_delays_another`.
"""

from __future__ import annotations

import asyncio

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.stub_model import SHELL, C, T


async def test_each_session_works_in_its_own_folder_with_its_own_history(lab: Lab) -> None:
    folders = [lab.project / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
        call = C("c1", SHELL, {"command": f"echo {folder.name} > here; pwd"})
        lab.model.add(call.when(folder.name), T(f"I am {folder.name}").when(folder.name))
    client = await lab.start()
    sessions = [await client.new(folder) for folder in folders]
    turns = [await client.begin_prompt(s, f.name) for s, f in zip(sessions, folders, strict=True)]
    for turn, folder in zip(turns, folders, strict=True):
        await turn.done()
        assert turn.text == f"I am {folder.name}"
        assert (folder / "here").read_text().strip() == folder.name
    for session, folder in zip(sessions, folders, strict=True):
        listed = await client.request("session/list", {"cwd": str(folder)})
        assert [row["sessionId"] for row in listed["sessions"]] == [session]


async def test_twenty_turns_at_once_are_all_answered(lab: Lab) -> None:
    lab.model.add(*[T(f"answer {n:02}").when(f"question {n:02}") for n in range(20)])
    client = await lab.start()
    sessions = [await client.new(lab.project) for _ in range(20)]
    turns = [await client.begin_prompt(session, f"question {n:02}") for n, session in enumerate(sessions)]
    for number, turn in enumerate(turns):
        await turn.done()
        assert turn.text == f"answer {number:02}"


async def test_a_client_that_reads_slowly_gets_everything_and_cancel_still_works(lab: Lab) -> None:
    words = [f"w{n} " for n in range(5000)]
    lab.model.add(T(*words), C("c1", SHELL, {"command": "sleep 60"}))
    client = await lab.start()
    session = await client.new(lab.project)
    client.process.reading.clear()
    turn = await client.begin_prompt(session, "go")
    await asyncio.to_thread(lab.model.wait_for_requests, 1)
    await asyncio.sleep(1)
    client.process.reading.set()
    await turn.done()
    assert turn.text == "".join(words)
    assert len(turn.updates) < len(words) / 2, "what waits for the reader is merged, not queued piece by piece"
    turn = await client.begin_prompt(session, "again")
    await turn.call_is("in_progress")
    client.process.reading.clear()
    await client.cancel(session)
    await asyncio.sleep(0.2)
    client.process.reading.set()
    assert await turn.done() == "cancelled"


async def test_a_session_can_be_loaded_again_while_its_turn_runs(lab: Lab) -> None:
    """As an editor does whose panel was opened a second time: what is stored is replayed, and the turn goes on."""
    lab.model.add(T("before"), C("c1", SHELL, {"command": "sleep 1; echo hi"}), T("after"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "one")
    turn = await client.begin_prompt(session, "two")
    await turn.call_is("in_progress")
    await client.load(session, lab.project)
    assert await turn.done() == "end_turn"
    again = panel(await client.load(session, lab.project))
    assert [item.text for item in again if item.role != "call"] == ["one", "before", "two", "after"]
    assert [item.fields["status"] for item in again if item.role == "call"] == ["completed"]
