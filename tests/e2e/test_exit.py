"""The agent goes when its client goes: from every state, soon, and leaves a sound ledger and no child."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from tests.clients import editor
from tests.clients.fold import panel
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import HANG, SHELL, C

SOON = 4.0
"""Seconds: 3 by the rule, and one for a busy machine."""


async def brought_to(lab: Lab, state: str) -> tuple[RawClient, str]:
    """A client whose agent is in the named state."""
    client = await lab.start()
    session = await client.new(lab.project)
    if state == "idle":
        return client, session
    lab.model.add(HANG if state == "waiting for the model" else C("c1", SHELL, {"command": "sleep 100"}))
    if state == "asking permission":
        client.editor.permission = editor.never
    turn = await client.begin_prompt(session, "go")
    if state == "waiting for the model":
        await asyncio.to_thread(lab.model.wait_for_requests, 1)
    elif state == "asking permission":
        await turn.permission_asked()
    else:
        await turn.call_is("in_progress")
    return client, session


STATES = ["idle", "waiting for the model", "running a command", "asking permission"]
ENDS = ["eof", "sigterm", "sigint", "sighup", "stdout closed"]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("state", STATES)
async def test_the_agent_goes_soon_and_keeps_what_was_said(lab: Lab, state: str, end: str) -> None:
    client, session = await brought_to(lab, state)
    began = time.monotonic()
    if end == "eof":
        client.eof()
    elif end == "stdout closed":
        client.process.close_stdout()
        client.unseen.add(session)
        await client.write(b'{"jsonrpc":"2.0","id":"last","method":"session/list","params":{}}\n')
    else:
        client.process.signal(getattr(signal, end.upper()))
    code = await client.ended(10)
    assert time.monotonic() - began < SOON
    assert code == 0 or end != "eof"
    if state != "idle":
        again = await lab.start()
        shown = panel(await again.load(session, lab.project))
        assert shown[0].text == "go"
        assert [item.fields["status"] for item in shown if item.role == "call"] in ([], ["failed"])


async def test_the_end_of_input_during_start_up_is_an_end_too(lab: Lab) -> None:
    client = await lab.start(initialize=False)
    client.eof()
    assert await client.ended(10) == 0


async def test_what_was_asked_before_the_end_of_input_is_still_answered(lab: Lab) -> None:
    client = await lab.start()
    request = await client.begin("session/list", {})
    client.eof()
    assert await client.result(request) == {"sessions": []}
    assert await client.ended(10) == 0


async def test_half_a_line_at_the_end_of_input_is_dropped_in_silence(lab: Lab) -> None:
    client = await lab.start()
    await client.write(b'{"jsonrpc":"2.0","id":"last","method":"session/new","params":{"cwd":"/')
    client.eof()
    assert await client.ended(10) == 0
    assert len(client.frames) == 2
