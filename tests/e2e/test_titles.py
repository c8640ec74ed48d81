"""The title that a small model call gives a session in the background."""

from __future__ import annotations

from typing import Any

import pytest

from acp_adapter.acp.titles import cleaned
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import ERR, HANG, T

NAMES = "You name conversations"
ON: dict[str, Any] = {"ACP_ADAPTER_TITLES": "on"}


async def test_a_session_gets_a_better_title_after_its_first_answer(lab: Lab) -> None:
    lab.model.add(T("It was the chain."), T('"Mending a bicycle."\n'), T("again"))
    client = await lab.start(**ON)
    session = await client.new(lab.project)
    await client.prompt(session, "please mend my bicycle, it makes a noise")
    await titled(client, session, "Mending a bicycle")
    assert (await client.request("session/list", {}))["sessions"][0]["title"] == "Mending a bicycle"
    await client.prompt(session, "thanks")
    asked = [request for request in lab.model.requests if NAMES in str(request.said)]
    assert len(asked) == 1
    assert "It was the chain." in str(asked[0].said)
    assert "Mending" not in str(lab.model.requests[-1].said), "the naming is no part of the conversation"


async def test_what_the_naming_cost_is_counted(lab: Lab) -> None:
    lab.model.add(T("done"), T("A title"))
    client = await lab.start(**ON)
    session = await client.new(lab.project)
    await client.prompt(session, "do it")
    await titled(client, session, "A title")
    assert dict(lab.query("SELECT task, sum(api_call_count) FROM session_model_usage GROUP BY task"))["title"] == 1


async def test_a_name_that_the_user_gave_meanwhile_stays(lab: Lab) -> None:
    lab.model.add(T("ok"), HANG)
    client = await lab.start(**ON)
    session = await client.new(lab.project)
    await client.prompt(session, "hello there")
    await client.until(lambda: len(lab.model.requests) == 2, "the naming", 10)
    await client.prompt(session, "/title My own name")
    lab.model.add(T("ok"))
    await client.prompt(session, "go on")
    assert (await client.request("session/list", {}))["sessions"][0]["title"] == "My own name"


async def test_a_naming_that_fails_leaves_the_first_words_and_says_nothing(lab: Lab) -> None:
    lab.model.add(T("ok"), ERR(400, "no"), T("still here"))
    client = await lab.start(**ON)
    session = await client.new(lab.project)
    await client.prompt(session, "hello there")
    await client.until(lambda: len(lab.model.requests) == 2, "the naming", 10)
    turn = await client.prompt(session, "go on")
    assert turn.text == "still here"
    assert (await client.request("session/list", {}))["sessions"][0]["title"] == "hello there"


async def test_a_model_that_names_slowly_does_not_hold_the_next_turn_or_the_end(lab: Lab) -> None:
    lab.model.add(T("ok"), HANG, T("second"))
    client = await lab.start(**ON)
    session = await client.new(lab.project)
    await client.prompt(session, "hello there")
    await client.until(lambda: len(lab.model.requests) == 2, "the naming", 10)
    assert (await client.prompt(session, "and now?")).text == "second"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ('"Mending a bicycle."', "Mending a bicycle"),
        ("**Title: Fahrrad reparieren**\n\nmore", "Fahrrad reparieren"),
        ("# A heading", "A heading"),
        ("自転車の修理。", "自転車の修理"),
        ("", None),
        ("a" * 61, None),
        ("I am sorry but I can not give this conversation any title now", None),
        ("red\x1b[31m", None),
    ],
)
def test_what_a_model_says_becomes_a_title_or_none(said: str, title: str | None) -> None:
    assert cleaned(said) == title


async def titled(client: RawClient, session: str, title: str) -> None:
    def told() -> bool:
        return any(u.get("title") == title for u in client.updates(session))

    await client.until(told, f"the title {title!r}", 10)
