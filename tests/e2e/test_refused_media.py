"""A model that takes no pictures, whether that is known or it says so in words of its own: no session is lost to it."""

from __future__ import annotations

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.e2e.test_prompt_content import PNG
from tests.e2e.test_steering import running
from tests.stub_model import ERR, SHELL, C, T
from tests.stub_server import StubServer

PICTURE = {"type": "image", "mimeType": "image/png", "data": PNG}
REFUSED = ERR(400, "Sorry, not this.")
"""Words in which nothing tells what was wrong."""


def said(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}, PICTURE]


def sees(model: StubServer) -> list[bool]:
    """Of each request, whether the picture was in it."""
    return [PNG in asked.raw.decode() for asked in model.requests]


async def test_a_picture_of_a_prompt_that_is_refused_is_taken_back(lab: Lab) -> None:
    lab.model.add(REFUSED, T("in words, fine"))
    client = await lab.start()
    session = await client.new(lab.project)
    with pytest.raises(RpcError, match=r"Sorry, not this.*Your message was taken out"):
        await client.prompt(session, said("what is it?"))
    assert (await client.prompt(session, "in words, then")).text == "in words, fine"
    assert sees(lab.model) == [True, False]


async def test_a_picture_that_was_said_to_a_running_turn_is_taken_back_and_nothing_before_it(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    await client.prompt(session, said("/steer like this"))
    lab.model.add(REFUSED, T("on it goes"))
    (lab.project / "go").touch()
    with pytest.raises(RpcError, match="Your message was taken out"):
        await one.done()
    assert (await client.prompt(session, "go on")).text == "on it goes"
    assert sees(lab.model) == [False, True, False]
    last = lab.model.requests[-1]
    assert last.texts("user") == ["first", "go on"] and "gone" in last.texts("tool")[0]


async def test_pictures_of_earlier_turns_are_told_in_words_to_a_model_that_refuses_them(lab: Lab) -> None:
    lab.model.add(T("a cat"), REFUSED, T("I read of one"), T("still"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, said("what is it?"))
    turn = await client.prompt(session, "and its colour?")
    assert turn.text.startswith("I read of one") or turn.text.endswith("I read of one")
    assert "takes no pictures" in str(turn.updates)
    assert (await client.prompt(session, "sure?")).text == "still"
    assert sees(lab.model) == [True, True, False, False]
    assert "of a kind that this model does not take" in lab.model.requests[-1].texts("user")[0]
    shown = await client.load(session, lab.project)
    assert PNG in str(shown)


async def test_what_is_refused_for_another_reason_leaves_the_pictures_where_they_are(lab: Lab) -> None:
    lab.model.add(T("a cat"), REFUSED, REFUSED, T("black"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, said("what is it?"))
    with pytest.raises(RpcError, match="Sorry, not this"):
        await client.prompt(session, "and its colour?")
    assert (await client.prompt(session, "its colour?")).text == "black"
    assert sees(lab.model) == [True, True, False, True]


async def test_a_model_known_to_take_none_is_not_sent_those_of_earlier_turns(lab: Lab) -> None:
    lab.model.add(T("a cat"), C("c1", SHELL, {"command": "true"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, said("what is it?"))
    lab.configure(f'[models."openai:{lab.model.model}"]\nimages = false\n')
    client = await lab.restart(client)
    await client.load(session, lab.project)
    assert (await client.prompt(session, "go on")).text.endswith("done")
    assert sees(lab.model) == [True, False, False]


@pytest.mark.parametrize("command", ["/steer", "/queue"])
async def test_a_picture_that_can_t_be_sent_is_refused_before_it_waits(lab: Lab, command: str) -> None:
    lab.configure(f'[models."openai:{lab.model.model}"]\nimages = false\n')
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    with pytest.raises(RpcError, match="no pictures"):
        await client.prompt(session, said(f"{command} like this"))
    lab.model.add(T("done"))
    (lab.project / "go").touch()
    assert await one.done() == "end_turn"
    assert lab.model.requests[-1].texts("user") == ["first"]
