"""Handlers: in which order they start, what comes after their response, and how they are cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Any

from acp_adapter.acp import types
from acp_adapter.errors import SessionNotFound
from tests.wire.wire import CANCELLED, DONE, Wire, hang, notification, outcome, prompt, request, wire

# -- cancelling


async def test_a_cancelled_request_answers_so_and_the_other_goes_on() -> None:
    here = wire(prompt=hang)
    here.send(prompt(1), prompt("1"))
    await asyncio.sleep(0)
    here.send(notification("$/cancel_request", {"requestId": "1"}))
    await asyncio.wait(here.peer._running.values(), return_when=asyncio.FIRST_COMPLETED, timeout=5)
    await here.peer.drained()
    here.send(notification("$/cancel_request", {"requestId": 1}))
    assert [outcome(each) for each in await here.frames()] == [("1", CANCELLED), (1, CANCELLED)]


async def test_a_request_that_is_cancelled_in_the_same_breath_is_answered_once() -> None:
    here = wire(prompt=hang)
    cancel = notification("$/cancel_request", {"requestId": 1})
    answers = await here.ask(prompt(1), cancel, cancel)
    assert [outcome(each) for each in answers] == [(1, CANCELLED)]


async def test_a_handler_may_answer_a_cancellation_itself() -> None:
    async def stop(_: types.PromptRequest) -> types.PromptResponse:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return types.PromptResponse("cancelled")

    here = wire(prompt=stop)
    answers = await here.ask(prompt(1), notification("$/cancel_request", {"requestId": 1}))
    assert [outcome(each) for each in answers] == [(1, {"stopReason": "cancelled"})]


async def test_cancelling_what_is_done_or_not_asked_yet_is_ignored() -> None:
    async def a_while(_: types.PromptRequest) -> types.PromptResponse:
        for _step in range(5):
            await asyncio.sleep(0)
        return types.PromptResponse("end_turn")

    here = wire(prompt=a_while)
    await here.ask(prompt(1))
    cancels = [notification("$/cancel_request", {"requestId": each}) for each in (1, 2, None, "x")]
    assert [outcome(each) for each in await here.ask(*cancels, prompt(2))] == [(2, DONE)]


# -- order


async def test_handlers_start_in_the_order_of_their_messages() -> None:
    seen: list[str] = []

    async def note(params: Any) -> types.PromptResponse:
        seen.append(params.session_id)
        await asyncio.sleep(0)
        return types.PromptResponse("end_turn")

    here = Wire({"session/prompt": note, "session/cancel": note})
    messages = []
    for n in range(20):
        messages.append(request(n, "session/prompt", {"sessionId": f"p{n}", "prompt": []}))
        messages.append(notification("session/cancel", {"sessionId": f"c{n}"}))
    await here.ask(*messages)
    assert seen == [f"{kind}{n}" for n in range(20) for kind in "pc"]


async def test_what_is_said_after_the_response_comes_directly_after_it() -> None:
    async def new(_: types.NewSessionRequest) -> types.NewSessionResponse:
        for text in "ab":
            here.peer.after_response(partial(here.peer.notify, "_after", {"text": text}))
        here.peer.notify("_before", {})
        return types.NewSessionResponse("s")

    here = Wire({"session/new": new})
    frames = await here.ask(request(1, "session/new", {"cwd": "/", "mcpServers": []}))
    assert [f.get("method", f.get("id")) for f in frames] == ["_before", 1, "_after", "_after"]
    assert [f["params"]["text"] for f in frames[2:]] == ["a", "b"]


async def test_after_an_error_nothing_more_is_said() -> None:
    async def fail(_: types.PromptRequest) -> types.PromptResponse:
        here.peer.after_response(lambda: here.peer.notify("_after", {}))
        raise SessionNotFound("s")

    here = wire(prompt=fail)
    assert [outcome(each) for each in await here.ask(prompt(1))] == [(1, -32002)]


async def test_outside_of_a_request_after_the_response_is_now() -> None:
    here = Wire()
    here.peer.after_response(lambda: here.peer.notify("_now", {}))
    assert [f["method"] for f in await here.frames()] == ["_now"]
