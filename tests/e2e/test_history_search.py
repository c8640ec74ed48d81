"""What was said before is found: by the model with its tool, by the person with a command, whatever the words."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.clients.lab import Lab
from tests.clients.turn import output
from tests.stub_model import C, T

SAID = ["look at gateway/run.py", "it's C++ all the way", "日本語の履歴", "a foo-bar, a:b", "smile 😀 (really)"]


async def test_the_model_finds_what_was_said_in_another_session(lab: Lab) -> None:
    lab.model.add(T("noted"), C("c1", "session_search", {"query": "gateway/run.py"}), T("found"))
    client = await lab.start()
    first = await client.new(lab.project)
    await client.prompt(first, "the fault is in gateway/run.py, line 7")
    client = await lab.restart(client)
    turn = await client.prompt(await client.new(lab.project), "what did we find?")
    (call,) = turn.calls
    assert call.fields["status"] == "completed"
    assert first in output(call.fields) and "line 7" in output(call.fields)


FOUND = {
    "gateway/run.py": 0,
    "it's C++": 1,
    "履歴": 2,
    "語": 2,
    "foo-bar": 3,
    "a:b": 3,
    "😀": 4,
    "(really)": 4,
    "(": 4,
    '"unbalanced': None,
    "NEAR": None,
    "AND": None,
    "*": None,
    "x" * 10_000: None,
}


async def test_a_query_means_its_own_signs(lab: Lab) -> None:
    lab.model.add(*[T("noted")] * len(SAID))
    client = await lab.start()
    for text in SAID:
        await client.prompt(await client.new(lab.project), text)
    session = await client.new(lab.project)
    for query, found in FOUND.items():
        said = (await client.prompt(session, f"/search {query}")).text
        hits = [n for n, text in enumerate(SAID) if text in said]
        assert hits == ([] if found is None else [found]), f"{query[:20]}: {said[:500]}"


async def test_damaged_indexes_neither_stop_a_prompt_nor_hide_what_was_said(lab: Lab) -> None:
    lab.model.add(T("noted"), T("still here"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "remember kumquat")
    with closing(sqlite3.connect(lab.home / "state.db")) as sql:
        sql.execute("UPDATE messages_fts_data SET block = zeroblob(10)")
        sql.commit()
    client = await lab.restart(client)
    assert (await client.prompt(session, "go on")).text == "still here"
    assert "remember kumquat" in (await client.prompt(session, "/search kumquat")).text
