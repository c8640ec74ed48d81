"""Whatever the editor sends: each request gets exactly one answer, notifications get none, and the loop lives."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.acp import types
from acp_adapter.acp.framing import LineSplitter
from acp_adapter.errors import AuthRequired, ClientError, SessionNotFound
from tests.wire.instances import JSON
from tests.wire.wire import INITIALIZE, Wire, line, notification, outcome, prompt, request

DONE = {"stopReason": "end_turn"}
CANCELLED = -32800


async def finish(_: types.PromptRequest) -> types.PromptResponse:
    return types.PromptResponse("end_turn")


async def hang(_: types.PromptRequest) -> types.PromptResponse:
    await asyncio.Event().wait()
    raise AssertionError


def wire(**handlers: Any) -> Wire:
    return Wire({"session/prompt": handlers.get("prompt", finish)})


# -- hostile frames

HOSTILE = [
    (b"nope\n", None, -32700),
    (b'{"jsonrpc":"2.0","id":1,\n', None, -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"a":NaN}}\n', None, -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', None, -32700),
    (b'{"jsonrpc":"2.0","id":1,"params":' + b"[" * 200_000 + b"\n", None, -32700),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"session/prompt"}\n', None, -32700),
    ([], None, -32600),
    ([prompt(1)], None, -32600),
    (5, None, -32600),
    ("initialize", None, -32600),
    (None, None, -32600),
    ({}, None, -32600),
    ({"jsonrpc": "2.0"}, None, -32600),
    ({"jsonrpc": "2.0", "id": 1}, 1, -32600),
    ({"jsonrpc": "2.0", "method": 5}, None, -32600),
    ({"jsonrpc": "2.0", "id": "a", "method": 5}, "a", -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": None}, 1, -32600),
    ({"id": 1, "method": "session/prompt"}, 1, -32600),
    ({"jsonrpc": "1.0", "id": 1, "method": "session/prompt"}, 1, -32600),
    ({"jsonrpc": 2.0, "id": "x", "method": "session/prompt"}, "x", -32600),
    ({**prompt(1), "id": 1.5}, None, -32600),
    ({**prompt(1), "id": True}, None, -32600),
    ({**prompt(1), "id": {}}, None, -32600),
    ({**prompt(1), "id": [1]}, None, -32600),
    ({**prompt(1), "params": 5}, 1, -32600),
    ({**prompt(1), "params": "x"}, 1, -32600),
    ({**prompt(1), "params": False}, 1, -32600),
    ({**prompt(1), "params": [1]}, 1, -32602),
    ({**prompt(1), "params": None}, 1, -32602),
    ({"jsonrpc": "2.0", "id": 1, "method": "session/prompt"}, 1, -32602),
    (request(1, "session/prompt", {"sessionId": 5, "prompt": []}), 1, -32602),
    (request(1, "session/prompt", {"sessionId": "s", "prompt": [{"type": "text"}]}), 1, -32602),
    (request(1, "initialize", {"protocolVersion": "1"}), 1, -32602),
    (request(1, "initialize", {}), 1, -32602),
    (request(1, "nope"), 1, -32601),
    (request(1, ""), 1, -32601),
    (request(1, "x" * 100_000), 1, -32601),
    (request(1, "_vendor/thing"), 1, -32601),
    (request(1, "fs/read_text_file", {"sessionId": "s", "path": "/"}), 1, -32601),
]


@pytest.mark.parametrize(("frame", "msg_id", "code"), HOSTILE, ids=lambda each: repr(each)[:60])
async def test_a_hostile_frame_gets_its_one_answer_and_the_next_request_is_served(
    frame: Any, msg_id: Any, code: int
) -> None:
    here = wire()
    answers = await here.ask(frame, prompt("next"))
    assert [outcome(each) for each in answers] == [(msg_id, code), ("next", DONE)]


@pytest.mark.parametrize(
    "frame",
    [
        notification("session/cancel", 5),
        notification("session/cancel", {}),
        notification("session/cancel", {"sessionId": 7}),
        notification("nope"),
        notification("$/cancel_request", {"requestId": 99}),
        notification("$/cancel_request", {"requestId": [1]}),
        notification("session/prompt", {"sessionId": "s", "prompt": []}),
        {"jsonrpc": "1.0", "method": "session/cancel", "params": {"sessionId": "s"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 12345, "result": {}},
        {"jsonrpc": "2.0", "id": [], "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": None, "error": 5},
        {"jsonrpc": "2.0", "result": 5},
        b"\n",
        b"  \r\n",
    ],
    ids=repr,
)
async def test_what_is_no_request_gets_no_answer(frame: Any) -> None:
    assert [outcome(each) for each in await wire().ask(frame, prompt("next"))] == [("next", DONE)]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_each_request_among_random_junk_gets_exactly_one_answer(data: st.DataObject) -> None:
    junk = st.one_of(
        st.binary(max_size=30).map(lambda each: each.replace(b"\n", b"") + b"\n"),
        JSON.map(line),
        st.fixed_dictionaries(
            {"jsonrpc": st.sampled_from(["2.0", "2.0", 2, None])},
            optional={
                "id": JSON,
                "method": st.sampled_from(["session/prompt", "session/cancel", "$/cancel_request", "nope", 5]),
                "params": JSON | st.just({"sessionId": "s", "prompt": []}),
                "result": JSON,
                "error": JSON,
            },
        ).map(line),
    )
    pieces = data.draw(st.lists(junk, max_size=12))
    ids = data.draw(st.lists(st.integers().map(lambda n: f"mine-{n}"), unique=True, max_size=5))
    for msg_id in ids:
        pieces.insert(data.draw(st.integers(0, len(pieces))), line(prompt(msg_id)))
    stream = b"".join(pieces)
    cut = data.draw(st.integers(0, len(stream)))

    async def run() -> list[Any]:
        here = wire()
        return await here.ask(stream[:cut]) + await here.ask(stream[cut:])

    answers = [outcome(each) for each in asyncio.run(run())]
    assert sorted(each for each, _ in answers if isinstance(each, str) and each.startswith("mine-")) == sorted(ids)
    assert all(result == DONE for each, result in answers if each in ids)


# -- ids


@pytest.mark.parametrize("msg_id", [0, -1, 1, "", "1", "a b", 2**70, None, "\U0001f600"])
async def test_an_id_comes_back_as_it_was(msg_id: Any) -> None:
    (answer,) = await wire().ask(prompt(msg_id))
    assert answer["id"] == msg_id
    assert type(answer["id"]) is type(msg_id)


async def test_a_second_request_with_an_id_in_use_is_refused_and_the_first_goes_on() -> None:
    gate = asyncio.Event()

    async def wait(_: types.PromptRequest) -> types.PromptResponse:
        await gate.wait()
        return types.PromptResponse("end_turn")

    here = wire(prompt=wait)
    here.send(prompt(1), prompt(1), prompt("1"))
    gate.set()
    answers = [outcome(each) for each in await here.frames()]
    assert answers == [(1, -32600), (1, DONE), ("1", DONE)]
    assert [outcome(each) for each in await here.ask(prompt(1))] == [(1, DONE)]


# -- before initialize


async def test_a_session_method_before_initialize_is_told_so() -> None:
    here = Wire({"session/prompt": finish}, initialized=False)
    (refused,) = await here.ask(prompt(1))
    assert outcome(refused) == (1, -32600)
    assert "initialize first" in refused["error"]["message"]


async def test_a_session_method_right_behind_initialize_is_served() -> None:
    here = Wire({"session/prompt": finish}, initialized=False)
    first, second = await here.ask(INITIALIZE, prompt(1))
    assert first["result"]["protocolVersion"] == 1
    assert outcome(second) == (1, DONE)


async def test_a_failed_initialize_does_not_open_the_door() -> None:
    here = Wire({"session/prompt": finish}, initialized=False)
    answers = await here.ask(request(1, "initialize", {"protocolVersion": 1.5}), prompt(2))
    assert [outcome(each) for each in answers] == [(1, -32602), (2, -32600)]


# -- the error boundary


async def raised(fault: BaseException) -> Any:
    async def fail(_: types.PromptRequest) -> types.PromptResponse:
        raise fault

    (answer,) = await wire(prompt=fail).ask(prompt(1))
    return answer["error"]


async def test_a_known_fault_is_shown_with_its_code_and_data() -> None:
    assert await raised(SessionNotFound("nope")) == {
        "code": -32002,
        "message": "There is no session 'nope'.",
        "data": {"sessionId": "nope"},
    }
    assert await raised(AuthRequired("Log in.")) == {"code": -32000, "message": "Log in."}


async def test_a_bug_shows_no_more_than_the_number_it_is_logged_under(caplog: pytest.LogCaptureFixture) -> None:
    error = await raised(RuntimeError("password=hunter2"))
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    (incident,) = error["data"].values()
    (record,) = caplog.records
    assert incident in record.message
    assert record.exc_info
    assert "hunter2" in str(record.exc_info[1])


async def test_a_result_that_is_no_json_is_an_internal_error() -> None:
    async def odd(_: types.PromptRequest) -> Any:
        return types.PromptResponse("end_turn", meta={"x": object()})

    assert [outcome(each) for each in await wire(prompt=odd).ask(prompt(1))] == [(1, -32603)]


async def test_a_notification_that_fails_is_logged_and_nothing_else_happens(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: types.CancelNotification) -> None:
        raise RuntimeError("boom")

    here = Wire({"session/cancel": fail, "session/prompt": finish})
    answers = await here.ask(notification("session/cancel", {"sessionId": "s"}), prompt(1))
    assert [outcome(each) for each in answers] == [(1, DONE)]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


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
            here.peer.after_response(lambda text=text: here.peer.notify("_after", {"text": text}))
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


# -- asking the editor

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


async def test_text_with_a_lone_surrogate_goes_in_and_out_as_a_replacement_character() -> None:
    async def echo(params: types.PromptRequest) -> types.PromptResponse:
        return types.PromptResponse("end_turn", meta={"in": params.session_id, "out": "\ud800"})

    here = wire(prompt=echo)
    (answer,) = await here.ask(
        rb'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"\udfff","prompt":[]}}' + b"\n"
    )
    assert answer["result"]["_meta"] == {"in": "\ufffd", "out": "\ufffd"}
