"""Whatever the editor sends: each request gets exactly one answer, notifications get none, and the loop lives."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.acp import types
from acp_adapter.errors import AuthRequired, SessionNotFound
from tests.wire.instances import JSON
from tests.wire.wire import DONE, INITIALIZE, Wire, finish, line, notification, outcome, prompt, request, wire

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


@settings(max_examples=150)
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


async def test_text_with_a_lone_surrogate_goes_in_and_out_as_a_replacement_character() -> None:
    async def echo(params: types.PromptRequest) -> types.PromptResponse:
        return types.PromptResponse("end_turn", meta={"in": params.session_id, "out": "\ud800"})

    here = wire(prompt=echo)
    (answer,) = await here.ask(
        rb'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"\udfff","prompt":[]}}' + b"\n"
    )
    assert answer["result"]["_meta"] == {"in": "\ufffd", "out": "\ufffd"}
