"""A conversation outgrows the model's window: the model gets a summary and a tail, the person keeps everything."""

from __future__ import annotations

import pytest

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.stub_model import SHELL, C, T

SMALL = "[providers.openai]\ncontext_window = 6000\n"
LONG = "tell me more of this " * 100
"""About 2 KB, 500 tokens."""


async def _filled(lab: Lab, client: RawClient, prompts: int) -> str:
    session = await client.new(lab.project)
    for n in range(prompts):
        await client.prompt(session, f"question {n} {LONG}")
    return session


def _answers(lab: Lab, prompts: int, summary: str) -> None:
    """Answers for the prompts, and the summary for whoever asks for one."""
    lab.model.add(*[T(summary).when("USER: question")] * 3, *[T(f"answer {n}") for n in range(prompts)])


async def test_a_full_window_is_compacted_and_nothing_is_lost_to_the_person(lab: Lab) -> None:
    lab.configure(SMALL)
    _answers(lab, 13, "zebra-42 was settled")
    client = await lab.start()
    session = await _filled(lab, client, 12)
    client = await lab.restart(client)
    listed = (await client.request("session/list", {}))["sessions"]
    assert [info["sessionId"] for info in listed] == [session]
    shown = panel(await client.load(session, lab.project))
    asked = [item.text.split(LONG[:10])[0].strip() for item in shown if item.role == "user"]
    assert asked == [f"question {n}" for n in range(12)]

    await client.prompt(session, "and now?")
    sent = lab.model.requests[-1].texts("user")
    assert "zebra-42 was settled" in sent[0]
    assert sent[-1] == "and now?"
    assert not any("question 0 " in text for text in sent)


async def test_compact_by_hand_keeps_a_call_with_its_result(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(C("c1", SHELL, {"command": "echo one"}), T("done " + LONG * 20), T("the summary"), T("fine"))
    await client.prompt(session, "run it " + LONG * 20)
    await client.prompt(session, "/compact the result of echo")
    assert "the result of echo" in lab.model.requests[-1].texts("user")[-1]
    turn = await client.prompt(session, "go on")
    assert turn.text == "fine"
    assert "the summary" in lab.model.requests[-1].texts("user")[0]


async def test_a_summary_that_saves_nothing_is_an_error_and_changes_nothing(lab: Lab) -> None:
    lab.configure(SMALL)
    _answers(lab, 12, LONG * 8)
    client = await lab.start()
    session = await client.new(lab.project)
    with pytest.raises(RpcError, match="saves no room"):
        for n in range(12):
            await client.prompt(session, f"question {n} {LONG}")
    asked = len(lab.model.requests)
    assert asked <= 12, "it was tried again and again"
    assert lab.count("sessions") == 1
    client = await lab.restart(client)
    shown = panel(await client.load(session, lab.project))
    assert "question 0 " in shown[0].text


async def test_an_empty_conversation_has_nothing_to_compact(lab: Lab) -> None:
    client = await lab.start()
    with pytest.raises(RpcError, match="nothing to compact"):
        await client.prompt(await client.new(lab.project), "/compact")
