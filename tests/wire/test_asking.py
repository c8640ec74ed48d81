"""What is asked of the editor ends in every case: with its answer, an error, or silence."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from acp_adapter.acp import types
from acp_adapter.acp.framing import LineSplitter
from acp_adapter.errors import ClientError
from tests.wire.wire import DONE, Wire, notification, outcome, prompt, wire

READ = types.ReadTextFileRequest("s", "/a")


async def asked(here: Wire) -> Any:
    """The one request that the editor sees."""
    await asyncio.sleep(0)
    (frame,) = await here.frames(settle=0)
    return frame


async def test_the_editor_answers() -> None:
    here = Wire()
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=5))
    frame = await asked(here)
    assert (frame["method"], frame["params"]) == ("fs/read_text_file", {"sessionId": "s", "path": "/a"})
    here.send({"jsonrpc": "2.0", "id": frame["id"], "result": {"content": "text"}})
    assert await task == types.ReadTextFileResponse("text")
    assert not here.peer._request_futures


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"error": {"code": -32603, "message": "no such file"}}, "no such file"),
        ({"error": {"code": -32603, "message": "no", "data": {"x": 1}}, "result": {"content": "both"}}, "no"),
        ({"error": {"code": "x"}}, "error"),
        ({"error": 5}, "error"),
        ({"error": None}, "error"),
        ({"result": {"content": 5}}, r"result\.content: expected a string"),
        ({"result": {}}, r"result\.content: required"),
        ({"result": None}, r"result\.content: required"),
        ({"result": [1]}, "expected an object"),
    ],
)
async def test_an_answer_that_is_an_error_or_of_another_shape_is_one_kind_of_fault(answer: Any, says: str) -> None:
    here = Wire()
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=5))
    here.send({"jsonrpc": "2.0", "id": (await asked(here))["id"], **answer})
    with pytest.raises(ClientError, match=says):
        await task


async def test_the_editors_error_code_is_kept() -> None:
    here = Wire()
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=5))
    here.send({"jsonrpc": "2.0", "id": (await asked(here))["id"], "error": {"code": -32002, "message": "gone"}})
    with pytest.raises(ClientError) as caught:
        await task
    assert caught.value.data == {"code": -32002}


async def test_an_editor_that_never_answers_is_given_up_and_told() -> None:
    here = Wire()
    with pytest.raises(ClientError, match=r"did not answer fs/read_text_file within 0\.01 seconds"):
        await here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=0.01)
    question, cancel = await here.frames()
    assert cancel == notification("$/cancel_request", {"requestId": question["id"]})
    late = {"jsonrpc": "2.0", "id": question["id"], "result": {"content": "late"}}
    assert await here.ask(late, late) == []


async def test_an_answer_above_the_limit_fails_its_question_and_is_not_itself_answered() -> None:
    here = Wire()
    here.peer._lines = LineSplitter(limit=1000)
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=5))
    question = await asked(here)
    answers = await here.ask({"jsonrpc": "2.0", "id": question["id"], "result": {"content": "x" * 2000}})
    with pytest.raises(ClientError, match="longer than"):
        await task
    assert answers == []


async def test_when_the_caller_is_cancelled_the_editor_is_told() -> None:
    here = Wire()
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=None))
    question = await asked(here)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await here.frames() == [notification("$/cancel_request", {"requestId": question["id"]})]
    assert not here.peer._request_futures


async def test_an_answer_that_arrives_with_the_cancellation_does_no_harm() -> None:
    here = wire()
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=None))
    question = await asked(here)
    task.cancel()
    here.send({"jsonrpc": "2.0", "id": question["id"], "result": {"content": "x"}})
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert ("next", DONE) in [outcome(each) for each in await here.ask(prompt("next")) if "id" in each]


async def test_an_answer_cannot_end_a_request_of_the_editors_own() -> None:
    """The ids of the two directions are different things."""
    gate = asyncio.Event()

    async def ask_back(_: types.PromptRequest) -> types.PromptResponse:
        await gate.wait()
        return types.PromptResponse("end_turn")

    here = wire(prompt=ask_back)
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=5))
    question = await asked(here)
    here.send(prompt(question["id"]))
    here.send({"jsonrpc": "2.0", "id": question["id"], "result": {"content": "x"}})
    assert (await task).content == "x"
    gate.set()
    assert [outcome(each) for each in await here.frames()] == [(question["id"], DONE)]


async def test_true_is_not_the_answer_to_request_one() -> None:
    here = Wire()
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=5))
    question = await asked(here)
    assert question["id"] == 1
    here.send({"jsonrpc": "2.0", "id": True, "result": {"content": "wrong"}})
    here.send({"jsonrpc": "2.0", "id": 1, "result": {"content": "right"}})
    assert (await task).content == "right"


async def test_at_the_end_of_the_connection_every_question_fails_and_every_handler_stops() -> None:
    stopped = asyncio.Event()

    async def wait(_: types.PromptRequest) -> types.PromptResponse:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    here = wire(prompt=wait)
    here.send(prompt(1))
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=None))
    await asked(here)
    here.peer.close()
    with pytest.raises(ClientError, match="closed the connection"):
        await task
    with pytest.raises(ClientError, match="closed the connection"):
        await here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=None)
    await asyncio.wait_for(stopped.wait(), 1)


async def test_on_the_way_out_nothing_new_is_served_but_answers_still_come_in() -> None:
    here = wire()
    task = asyncio.create_task(here.peer.request(types.FS_READ_TEXT_FILE, READ, timeout=5))
    question = await asked(here)
    here.peer.refuse()
    assert [outcome(each) for each in await here.ask(prompt(1))] == [(1, -32600)]
    here.send({"jsonrpc": "2.0", "id": question["id"], "result": {"content": "x"}})
    assert (await task).content == "x"
