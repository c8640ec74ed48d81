"""What nobody means to send, and what must not hang, poison or lose a session all the same."""

from __future__ import annotations

import os
import sys

import pytest

from tests.clients.editor import Editor, capabilities, never
from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.stub_model import HANG, READ, SHELL, STALL, C, T

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")


@pytest.mark.parametrize("arguments", ["[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000, '{"path":' + "[" * 200])
async def test_arguments_nested_absurdly_deep_fail_their_call_only(lab: Lab, arguments: str) -> None:
    lab.model.add(C("c1", READ, arguments), T("sorry"), T("fine"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.text == "sorry"
    assert turn.call("c1")["status"] == "failed"
    client = await lab.restart(client)
    await client.load(session, lab.project)
    assert (await client.prompt(session, "again")).text == "fine"


@pytest.mark.parametrize(
    "uri",
    [
        "file://[",
        "http://[x",
        "file:///a%00b",
        "file:///a.py#L" + "9" * 5000,
        "file:///" + "x" * 5000,
        "file:///dev/zero",
        "no uri at all",
    ],
)
async def test_a_link_that_leads_nowhere_is_told_to_the_model(lab: Lab, uri: str) -> None:
    lab.model.add(T("I see"))
    client = await lab.start()
    link = {"type": "resource_link", "uri": uri, "name": "it"}
    turn = await client.prompt(await client.new(lab.project), [link])
    assert turn.text == "I see"
    assert "attached" in lab.model.requests[-1].texts("user")[0]


@posix
async def test_a_linked_pipe_does_not_hold_up_the_prompt(lab: Lab) -> None:
    os.mkfifo(lab.project / "pipe")
    lab.model.add(T("I see"))
    client = await lab.start()
    link = {"type": "resource_link", "uri": (lab.project / "pipe").as_uri(), "name": "pipe"}
    assert (await client.prompt(await client.new(lab.project), [link])).text == "I see"
    assert "not a regular file" in lab.model.requests[-1].texts("user")[0]


@posix
async def test_agents_md_that_is_a_pipe_counts_as_none(lab: Lab) -> None:
    os.mkfifo(lab.project / "AGENTS.md")
    client = await lab.start()
    assert await client.new(lab.project)


async def test_a_cancel_does_not_wait_for_an_editor_that_never_gives_a_linked_file(lab: Lab) -> None:
    (lab.project / "a.py").write_text("x = 1\n")
    lab.model.add(T("fine"))
    client = await lab.start(Editor(offers=capabilities(fs=True), overrides={"fs/read_text_file": never}))
    session = await client.new(lab.project)
    link = {"type": "resource_link", "uri": (lab.project / "a.py").as_uri(), "name": "a.py"}
    turn = await client.begin_prompt(session, [link])
    await client.until(lambda: client.received("fs/read_text_file"), "the file being asked for")
    await client.cancel(session)
    assert (await client.result(turn.id, timeout=5))["stopReason"] == "cancelled"
    assert lab.count("messages") == 1, "the prompt is kept"
    assert (await client.prompt(session, "hi")).text == "fine"


async def test_a_prompt_during_a_close_gets_the_session_anew(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 30"}), T("anew"))
    lab.referee.allow("which the client does not know, or no longer")  # it learns of the session by prompting it
    client = await lab.start()
    session = await client.new(lab.project)
    running = await client.begin_prompt(session, "first")
    await client.until(lambda: lab.model.requests, "the model being asked")
    closing = await client.begin("session/close", {"sessionId": session})
    again = await client.begin_prompt(session, "second")
    assert (await client.result(running.id))["stopReason"] == "cancelled"
    await client.result(closing)
    assert (await client.result(again.id))["stopReason"] == "end_turn"
    lab.model.add(HANG)
    last = await client.begin_prompt(session, "third")
    await client.until(lambda: len(lab.model.requests) == 3, "the model being asked again")
    await client.cancel(session)
    assert (await client.result(last.id))["stopReason"] == "cancelled"


async def test_a_load_during_an_answer_shows_what_was_said_so_far(lab: Lab) -> None:
    lab.model.add(STALL("so far ", "so good"))
    client = await lab.start()
    session = await client.new(lab.project)
    running = await client.begin_prompt(session, "talk")
    await client.until(lambda: "so good" in running.text, "the beginning of the answer")
    shown = panel(await client.load(session, lab.project))
    assert [item.text for item in shown] == ["talk", "so far so good"]
    await client.cancel(session)
    await client.result(running.id)
