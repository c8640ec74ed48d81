"""A conversation outgrows the model's window: the model gets a summary and a tail, the person keeps everything."""

from __future__ import annotations

import asyncio
import base64
import re

import pytest

from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.stub_model import ERR, HANG, SHELL, C, T

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
    assert listed[0]["title"].startswith("question 0 tell me more") and "#" not in listed[0]["title"]
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


async def test_a_summary_that_failed_is_not_paid_for_again_after_a_restart(lab: Lab) -> None:
    lab.configure(SMALL)
    _answers(lab, 12, LONG * 8)
    client = await lab.start()
    session = await client.new(lab.project)
    lab.referee.allow("error")
    with pytest.raises(RpcError, match="saves no room"):
        for n in range(12):
            await client.prompt(session, f"question {n} {LONG}")
    asked = len(lab.model.requests)
    for _ in range(2):
        client = await lab.restart(client)
        with pytest.raises(RpcError, match="a summary of it failed"):
            await client.prompt(session, "and now?")
    assert len(lab.model.requests) == asked
    lab.model.steps.clear()
    lab.model.add(T("they talked"), T("here"))
    await client.prompt(session, "/compact")
    client = await lab.restart(client)
    turn = await client.prompt(session, "go on")
    assert turn.text == "here"


async def test_an_empty_conversation_has_nothing_to_compact(lab: Lab) -> None:
    client = await lab.start()
    with pytest.raises(RpcError, match="nothing to compact"):
        await client.prompt(await client.new(lab.project), "/compact")


async def test_old_results_are_left_out_first_and_the_model_can_get_them_back(lab: Lab) -> None:
    lab.configure('mode = "bypass"\n[providers.openai]\ncontext_window = 9000\n')
    client = await lab.start()
    session = await client.new(lab.project)
    for n in range(4):
        lab.model.add(C(f"c{n}", SHELL, {"command": f"echo needle-{n}; seq 1 1500"}), T(f"answer {n}"))
        await client.prompt(session, f"question {n}")
    told = lab.model.requests[-1].texts("tool")
    assert "was left out to save room" in told[0] and "needle-0" not in told[0]
    assert "needle-3" in told[-1]

    client = await lab.restart(client)
    shown = panel(await client.load(session, lab.project))
    assert "needle-0" in str(shown), "a person is shown all of it"
    lab.model.add(T("still here"))
    await client.prompt(session, "go on")
    again = lab.model.requests[-1].texts("tool")
    assert again[: len(told)] == told, "what is sent is the same after a restart"

    (message,) = re.findall(r'message "(\w+)"', again[0])
    lab.model.add(C("c8", "recall", {"message": message}), C("c9", "recall", {"query": "needle-1"}), T("found"))
    turn = await client.prompt(session, "what was it?")
    assert turn.text == "found"
    back, hits = lab.model.requests[-1].texts("tool")[-2:]
    assert back.startswith("[tool of run_command, message") and "needle-0\n1\n2\n" in back
    assert "needle-1" in hits


async def test_old_pictures_are_left_out_of_what_is_sent_and_shown_all_the_same(lab: Lab) -> None:
    lab.configure("[providers.openai]\ncontext_window = 9000\n")
    client = await lab.start()
    session = await client.new(lab.project)
    pictures = [base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes([n]) * 200).decode() for n in range(6)]
    for n, picture in enumerate(pictures):
        lab.model.add(T(f"a{n}"))
        image = {"type": "image", "mimeType": "image/png", "data": picture}
        await client.prompt(session, [{"type": "text", "text": f"what is picture {n}?"}, image])
    sent = lab.model.requests[-1]
    assert pictures[0].encode() not in sent.raw and pictures[5].encode() in sent.raw
    first = sent.texts("user")[0]
    assert first.startswith("what is picture 0?\n[What was attached here (image/png) was left out")

    client = await lab.restart(client)
    shown = [item for item in panel(await client.load(session, lab.project)) if item.role == "user"]
    assert [item.content[-1]["data"] for item in shown] == pictures
    lab.model.add(T("still here"))
    await client.prompt(session, "go on")
    assert lab.model.requests[-1].texts("user")[0] == first


async def test_recall_shows_no_other_session(lab: Lab) -> None:
    client = await lab.start()
    other = await client.new(lab.project)
    lab.model.add(T("zebra-42"))
    await client.prompt(other, "the secret of the other session")
    ((message,),) = lab.query("SELECT platform_message_id FROM messages WHERE role = 'assistant'")
    session = await client.new(lab.project)
    lab.model.add(
        C("c1", "recall", {"message": message}) + C("c2", "recall", {"query": "zebra"}) + C("c3", "recall", {}), T("no")
    )
    await client.prompt(session, "look")
    told = lab.model.requests[-1].texts("tool")
    assert "zebra" not in "".join(told)
    assert "Nothing that was left out holds that" in told[1]
    assert told[2].startswith("Give either message or query")


async def test_a_prompt_larger_than_the_window_is_refused_and_the_session_goes_on(lab: Lab) -> None:
    lab.configure(SMALL)
    client = await lab.start()
    session = await client.new(lab.project)
    lab.referee.allow("error")
    with pytest.raises(RpcError, match=r"Your message is about .* and the model's window holds 6,000"):
        await client.prompt(session, LONG * 20)
    assert lab.model.requests == []
    lab.model.add(T("fine"))
    turn = await client.prompt(session, "hi")
    assert turn.text == "fine"
    assert lab.model.requests[-1].texts("user") == ["hi"]


async def test_a_compaction_that_is_cancelled_leaves_everything_as_it_was(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("one " + LONG), T("two " + LONG), HANG, T("three"))
    for text in ("first " + LONG, "second " + LONG):
        await client.prompt(session, text)
    before = lab.query("SELECT id, content, active, compacted FROM messages")
    turn = await client.begin_prompt(session, "/compact")
    await asyncio.to_thread(lab.model.wait_for_requests, 3)
    assert await turn.cancel() == "cancelled"
    assert lab.query("SELECT id, content, active, compacted FROM messages") == before
    turn = await client.prompt(session, "third")
    assert turn.text == "three"
    assert [text[:5] for text in lab.model.requests[-1].texts("user")] == ["first", "secon", "third"]


async def test_a_provider_that_says_the_window_is_full_is_asked_again_with_a_summary(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("one " + LONG), T("two " + LONG))
    for text in ("first " + LONG, "second " + LONG):
        await client.prompt(session, text)
    full = ERR(400, "This model's maximum context length is 4096 tokens.")
    lab.model.add(full, T("they talked"), T("three"))
    turn = await client.prompt(session, "third")
    assert turn.text.endswith("three")
    assert "they talked" in lab.model.requests[-1].texts("user")[0]
    lab.model.add(full, full)
    lab.referee.allow("error")
    with pytest.raises(RpcError, match="maximum context length"):
        await client.prompt(session, "fourth")


async def test_helper_calls_are_counted_apart_from_the_conversation(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("one " + LONG), T("two " + LONG), T("they talked"))
    for text in ("first " + LONG, "second " + LONG):
        await client.prompt(session, text)
    await client.prompt(session, "/compact")
    assert lab.query("SELECT task, api_call_count FROM session_model_usage ORDER BY task") == [
        ("", 2),
        ("compression", 1),
    ]
