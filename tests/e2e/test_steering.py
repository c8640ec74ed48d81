"""What a person says while a turn runs: `/steer`, `/queue`, a second prompt, `/stop`."""

from __future__ import annotations

import asyncio

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.clients.turn import Turn
from tests.e2e.test_skills_and_prompts import put
from tests.stub_model import HOLD, SHELL, C, R, Step, T

WAIT = "while [ ! -e go ]; do sleep 0.05; done; echo gone"


async def running(lab: Lab, client: RawClient, session: str) -> Turn:
    """A turn whose command runs until the file `go` is there."""
    lab.model.add(C("c1", SHELL, {"command": WAIT}))
    turn = await client.begin_prompt(session, "first")
    await turn.call_is("in_progress")
    return turn


async def test_steer_is_answered_at_once_and_read_at_the_next_step(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    steered = await client.prompt(session, "/steer use tabs")
    assert steered.stop_reason == "end_turn" and not client.answered(one.id)
    lab.model.add(T("with tabs then"))
    (lab.project / "go").touch()
    assert await one.done() == "end_turn" and one.text.endswith("with tabs then")
    asked = lab.model.requests[-1].body["messages"]
    assert [message["role"] for message in asked][-3:] == ["assistant", "tool", "user"]
    assert lab.model.requests[-1].texts("user") == ["first", "use tabs"]
    await lab.assert_replay_equals_live(client, session)


async def test_an_acknowledged_word_survives_a_kill(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    await running(lab, client, session)
    await client.prompt(session, "/steer use tabs")
    client = await lab.restart(client)
    shown = [update for update in await client.load(session, lab.project) if "user" in update["sessionUpdate"]]
    assert [update["content"]["text"] for update in shown] == ["first", "/steer use tabs"]
    lab.model.add(T("fine"))
    await client.prompt(session, "go on")
    assert lab.model.requests[-1].texts("user") == ["first", "use tabs", "go on"]


async def test_a_load_while_the_turn_runs_shows_what_waits(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    await client.prompt(session, "/steer use tabs")
    assert "use tabs" in str(await client.load(session, lab.project))
    assert await one.cancel() == "cancelled"


async def test_a_cancelled_turn_leaves_the_word_in_the_session(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    await client.prompt(session, "/steer use tabs")
    assert await one.cancel() == "cancelled"
    lab.model.add(T("fine"))
    await client.prompt(session, "go on")
    assert lab.model.requests[-1].texts("user") == ["first", "use tabs", "go on"]


async def test_steer_without_a_turn_is_a_prompt(lab: Lab) -> None:
    lab.model.add(T("tabs it is"))
    client = await lab.start()
    session = await client.new(lab.project)
    assert (await client.prompt(session, "/steer use tabs")).text == "tabs it is"
    assert lab.model.requests[-1].texts("user") == ["use tabs"]
    await lab.assert_replay_equals_live(client, session)


async def test_queue_waits_its_turn_with_what_is_attached(lab: Lab) -> None:
    (lab.project / "a.py").write_text("A = 1\n", "utf-8")
    link = {"type": "resource_link", "uri": (lab.project / "a.py").as_uri(), "name": "a.py"}
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    two = await client.begin_prompt(session, [{"type": "text", "text": "/queue then read"}, link])
    lab.model.add(T("done"), T("read"))
    (lab.project / "go").touch()
    assert (await one.done(), await two.done()) == ("end_turn", "end_turn")
    assert (one.text, two.text) == ("done", "read")
    last = lab.model.requests[-1].texts("user")[-1]
    assert last.startswith("then read") and "A = 1" in last
    await lab.assert_replay_equals_live(client, session)


async def test_stop_is_a_cancel(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    stopped = await client.prompt(session, "/stop")
    assert stopped.stop_reason == "end_turn"
    assert await one.done() == "cancelled"
    assert "Nothing runs" in (await client.prompt(session, "/stop")).text


async def test_queue_and_steer_without_words_say_how_they_are_used(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    assert "/queue" in (await client.prompt(session, "/queue")).text
    assert "/steer" in (await client.prompt(session, "/steer  ")).text
    assert not lab.model.requests


@pytest.mark.parametrize("words", ["then this", "/queue then this"])
async def test_a_prompt_that_waits_is_shown_by_a_load(lab: Lab, words: str) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    two = await client.begin_prompt(session, words)
    client.unseen.add(session)  # its panel has the words before the end of the turn that they wait for
    assert words in str(await client.load(session, lab.project))
    lab.model.add(T("done"), T("this too"))
    (lab.project / "go").touch()
    assert (await one.done(), await two.done()) == ("end_turn", "end_turn")


@pytest.mark.parametrize("words", ["then this", "/queue then this"])
async def test_a_prompt_that_waits_survives_a_kill(lab: Lab, words: str) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    await running(lab, client, session)
    await client.begin_prompt(session, words)
    await client.until(lambda: lab.count("message_drafts") == 1, "the prompt waits")
    client = await lab.restart(client)
    shown = [update for update in await client.load(session, lab.project) if "user" in update["sessionUpdate"]]
    assert [update["content"]["text"] for update in shown] == ["first", words]
    lab.model.add(T("fine"))
    await client.prompt(session, "go on")
    assert lab.model.requests[-1].texts("user") == ["first", "then this", "go on"]


async def test_a_prompt_of_one_s_own_can_wait_too(lab: Lab) -> None:
    put(lab.home / "prompts/review.md", "Review $ARGUMENTS with care.\n")
    lab.model.add(T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "/queue /review the diff")
    assert lab.model.requests[-1].texts("user") == ["Review the diff with care."]


async def test_a_command_behind_queue_is_carried_out_in_its_turn(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    one = await running(lab, client, session)
    named = await client.begin_prompt(session, "/queue /title After it")
    undone = await client.begin_prompt(session, "/queue /queue /undo")
    assert not client.answered(named.id)
    lab.model.add(T("done"))
    (lab.project / "go").touch()
    assert (await one.done(), await named.done(), await undone.done()) == ("end_turn", "end_turn", "end_turn")
    assert "After it" in named.text and "Taken back, with all that followed: “first”" in undone.text
    assert len(lab.model.requests) == 2, "no command is for the model"
    client.unseen.add(session)  # the commands were typed before the answer came that they stand behind


async def test_a_command_behind_queue_is_told_what_follows_it(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    with pytest.raises(RpcError, match="Type `/undo`"):
        await client.prompt(session, "/queue /undo everything")


async def test_retry_reads_a_prompt_of_one_s_own_and_a_linked_file_again(lab: Lab) -> None:
    put(lab.home / "prompts/review.md", "Review $ARGUMENTS with care.\n")
    (lab.project / "a.txt").write_text("old")
    link = {"type": "resource_link", "uri": (lab.project / "a.txt").as_uri(), "name": "a.txt"}
    lab.model.add(T("hm"), T("hm"), T("hm"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, [{"type": "text", "text": "/queue /review it"}, link])
    put(lab.home / "prompts/review.md", "Look at $ARGUMENTS.\n")
    (lab.project / "a.txt").write_text("new")
    await client.prompt(session, "/retry")
    asked = str(lab.model.requests[-1].texts("user"))
    assert "Look at it." in asked and "new" in asked and "with care" not in asked and "old" not in asked


@pytest.mark.parametrize("shown", ["nothing", "a thought", "a text", "a thought and a text"])
async def test_words_amid_an_answer_are_replayed_where_they_were_said(lab: Lab, shown: str) -> None:
    thought = R("hm ") if "thought" in shown else Step()
    text = T("Let me ") if "text" in shown else Step()
    lab.model.add(thought + text + HOLD + T("look.") + C("c1", SHELL, {"command": "echo hi"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "first")
    await asyncio.to_thread(lab.model.wait_for_requests, 1)
    await client.until(lambda: len(turn.panel) == len((*thought.deltas, *text.deltas)), "what comes before the words")
    await client.prompt(session, "/steer use tabs")
    lab.model.go_on()
    assert await turn.done() == "end_turn"
    await lab.assert_replay_equals_live(client, session)
