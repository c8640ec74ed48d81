"""Bytes of every size and shape come in; the loop lives, and each request gets its one answer."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from tests.clients.editor import Editor, capabilities
from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.clients.turn import Turn
from tests.stub_model import READ, C, T


async def says_hi(lab: Lab, client: RawClient, session: str) -> Turn:
    lab.model.steps.clear()
    lab.model.add(T("hi there"))
    turn = await client.prompt(session, "hi")
    assert (turn.stop_reason, turn.text) == ("end_turn", "hi there")
    return turn


async def test_a_long_text_reaches_the_model_whole_and_comes_back(lab: Lab) -> None:
    text = "".join(f"line {n} ä€😀\n" for n in range(6000))
    lab.model.add(T(text))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, text)
    assert turn.text == text
    assert lab.model.requests[-1].texts("user") == [text]
    await says_hi(lab, client, session)
    await lab.assert_replay_equals_live(client, session)


async def test_an_image_of_five_megabytes_works(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(5_000_000)).decode()
    lab.model.add(T("an image"))
    blocks = [{"type": "text", "text": "look"}, {"type": "image", "mimeType": "image/png", "data": data}]
    turn = await client.prompt(session, blocks)
    assert turn.text == "an image"
    parts = lab.model.requests[-1].body["messages"][-1]["content"]
    assert parts[1]["image_url"]["url"].endswith(data[-100:])
    await says_hi(lab, client, session)


@pytest.mark.parametrize("megabytes", [10, 70, pytest.param(60, marks=pytest.mark.heavy)])
async def test_a_huge_line_works_or_is_refused_and_the_next_is_answered(lab: Lab, megabytes: int) -> None:
    """Whoever waits for the answer to a line that is refused must not wait for ever: the error has its id."""
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("that was long"))
    try:
        turn = await client.prompt(session, "x" * (megabytes * 1_000_000), timeout=60)
        assert turn.text == "that was long"
    except RpcError as error:
        assert error.code == -32600
        assert error.message
    await says_hi(lab, client, session)


async def test_a_file_of_a_megabyte_comes_from_the_editor_in_one_line(lab: Lab) -> None:
    path = str(lab.project / "big.txt")
    lab.model.add(C("c1", READ, {"path": path}), T("read"))
    client = await lab.start(Editor(offers=capabilities(fs=True), buffers={path: "0123456789abcdef\n" * 65536}))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "read it")
    assert turn.call("c1")["status"] == "completed"
    assert turn.text == "read"


async def test_one_frame_byte_by_byte_and_two_frames_at_once(lab: Lab) -> None:
    client = await lab.start()
    frame = {"jsonrpc": "2.0", "id": "slow", "method": "session/list", "params": {}}
    client.expect("slow")
    line = json.dumps(frame).encode()
    client.note_sent(line)
    for byte in line + b"\n":
        await client.write(bytes([byte]))
        await asyncio.sleep(0)
    assert await client.result("slow") == {"sessions": []}
    both = []
    for name in ("a", "b"):
        client.expect(name)
        both.append(json.dumps({**frame, "id": name}).encode())
        client.note_sent(both[-1])
    await client.write(b"\n".join(both) + b"\n")
    assert await client.result("a") == await client.result("b") == {"sessions": []}


async def test_windows_line_ends_empty_lines_and_blanks_around_a_frame_are_fine(lab: Lab) -> None:
    client = await lab.start()
    line = json.dumps({"jsonrpc": "2.0", "id": "crlf", "method": "session/list"}).encode()
    client.expect("crlf")
    client.note_sent(line)
    await client.write(b"\n\r\n   \n  " + line + b"  \r\n\n")
    assert await client.result("crlf") == {"sessions": []}


BROKEN_LINES: dict[str, tuple[bytes, int]] = {
    "no JSON": (b"hello", -32700),
    "half a frame": (b'{"jsonrpc":"2.0","id":1,"method":', -32700),
    "bytes that are no UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700),
    "a zero byte": (b"\x00", -32700),
    "a header of another protocol": (b"Content-Length: 52", -32700),
    "an empty object": (b"{}", -32600),
    "an empty batch": (b"[]", -32600),
    "a number": (b"5", -32600),
    "null": (b"null", -32600),
    "deep nesting": (b"[" * 100_000, -32700),
    "an id of a wrong type": (b'{"jsonrpc":"2.0","id":{"a":1},"method":"session/list"}', -32600),
    "an id that is a list": (b'{"jsonrpc":"2.0","id":[1],"method":"session/list"}', -32600),
}


async def test_a_broken_line_is_answered_by_an_error_and_the_loop_lives(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    answers = {}
    for name, (line, _) in BROKEN_LINES.items():
        before = len(client.frames)
        await client.send_line(line)
        await client.request("session/list", {})
        seen = [frame.data for frame in client.frames[before:] if not frame.sent]
        answers[name] = [data["error"]["code"] for data in seen if "error" in data]
    assert answers == {name: [code] for name, (_, code) in BROKEN_LINES.items()}
    await says_hi(lab, client, session)


V = {"jsonrpc": "2.0"}
MALFORMED: dict[str, tuple[dict[str, Any], int]] = {
    "no version": ({"method": "session/list"}, -32600),
    "another version": ({"jsonrpc": "1.0", "method": "session/list"}, -32600),
    "no method": ({**V}, -32600),
    "a method that is a number": ({**V, "method": 5}, -32600),
    "an unknown method": ({**V, "method": "session/dance", "params": {}}, -32601),
    "an extension that is not ours": ({**V, "method": "_zed/dance", "params": {}}, -32601),
    "a protocol request": ({**V, "method": "$/dance", "params": {}}, -32601),
    "a method of the client's side": ({**V, "method": "session/request_permission", "params": {}}, -32601),
    "an LSP method": ({**V, "method": "shutdown"}, -32601),
    "params that are a list": ({**V, "method": "session/new", "params": ["/"]}, -32602),
    "params that are text": ({**V, "method": "session/new", "params": "/"}, -32600),
    "no params": ({**V, "method": "session/new"}, -32602),
    "no prompt": ({**V, "method": "session/prompt", "params": {"sessionId": "y"}}, -32602),
    "a relative folder": ({**V, "method": "session/new", "params": {"cwd": "here", "mcpServers": []}}, -32602),
    "a folder that is a number": ({**V, "method": "session/new", "params": {"cwd": 5, "mcpServers": []}}, -32602),
    "a foreign cursor": ({**V, "method": "session/list", "params": {"cursor": "not-ours"}}, -32602),
}


async def test_a_malformed_request_gets_the_error_that_names_it(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    codes = {}
    for name, (frame, _) in MALFORMED.items():
        client.expect(name)
        await client.send({**frame, "id": name})
        with pytest.raises(RpcError) as caught:
            await client.result(name)
        codes[name] = caught.value.code
    assert codes == {name: code for name, (_, code) in MALFORMED.items()}
    await says_hi(lab, client, session)


async def test_notifications_that_nobody_knows_are_silent(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    await client.until(lambda: "config_option_update" in str(client.updates(session)), "the models that are found")
    before = len(client.frames)
    for method in ("$/progress", "exit", "session/dance", "_ext/hello", "session/prompt"):
        await client.notify(method, anything=[1, {"jsonrpc": "2.0"}])
    await client.send({"jsonrpc": "2.0", "method": "session/cancel", "params": None})
    await client.send({"jsonrpc": "2.0", "id": 4711, "result": {"answer": "to nothing"}})
    await client.send({"jsonrpc": "2.0", "id": "zz", "error": {"code": 1, "message": "to nothing"}})
    await client.request("session/list", {})
    assert not [f for f in client.frames[before:] if not f.sent and ("error" in f.data or "method" in f.data)]
    await says_hi(lab, client, session)


async def test_any_valid_id_comes_back_as_it_was(lab: Lab) -> None:
    client = await lab.start()
    for request_id in (0, -1, 2**53, "", "0", "ä€😀", "x" * 1000):
        await client.begin("session/list", {}, id=request_id)
        assert await client.result(request_id) == {"sessions": []}
        answer = client.frames[-1].data["id"]
        assert (answer, type(answer)) == (request_id, type(request_id))


async def test_meta_and_unknown_fields_never_break_a_frame(lab: Lab) -> None:
    """Also those that look like frames, which tempt a parser that looks into every object."""
    odd = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"a": [None, {"jsonrpc": "2.0", "result": 1}]}}
    client = await lab.start()
    params = {"cwd": str(lab.project), "mcpServers": [], "_meta": {"deep": odd}, "unheardOf": odd}
    session = (await client.request("session/new", params))["sessionId"]
    lab.model.add(T("fine"))
    block = {"type": "text", "text": "hi", "_meta": odd, "annotations": {"priority": 0.5}, "unheardOf": odd}
    turn = await client.prompt(session, [block])
    assert turn.text == "fine"
    listed = await client.request("session/list", {"_meta": odd, "unheardOf": [odd]})
    assert len(listed["sessions"]) == 1


async def test_requests_before_the_answer_to_initialize_are_answered_in_order(lab: Lab) -> None:
    """Some editors send `session/new` at once."""
    client = await lab.start(initialize=False)
    offers = {"protocolVersion": 1, "clientCapabilities": {}}
    first = await client.begin("initialize", offers)
    second = await client.begin("session/new", {"cwd": str(lab.project), "mcpServers": []})
    assert (await client.result(first))["protocolVersion"] == 1
    assert (await client.result(second))["sessionId"]
    answers = [frame.data["id"] for frame in client.frames if not frame.sent and "result" in frame.data]
    assert answers == [first, second]


async def test_initialize_answers_the_version_that_is_spoken(lab: Lab) -> None:
    client = await lab.start(initialize=False)
    for version in (99, 0, 1, 2, 65535):
        assert (await client.initialize(version))["protocolVersion"] == 1


@pytest.mark.parametrize("first", [None, {}, {"protocolVersion": "one"}, {"protocolVersion": None}, []], ids=repr)
async def test_a_broken_initialize_is_refused_and_a_good_one_works_afterwards(lab: Lab, first: Any) -> None:
    client = await lab.start(initialize=False)
    assert (await client.error_of("initialize", first)).code == -32602
    await client.initialize()
    await says_hi(lab, client, await client.new(lab.project))


async def test_capabilities_of_a_wrong_shape_count_as_none(lab: Lab) -> None:
    """The schema says of these fields that what can't be read has its default."""
    client = await lab.start(initialize=False)
    for odd in (
        None,
        5,
        {"fs": "yes", "terminal": 3, "session": [], "auth": None, "elicitation": 1},
        {"fs": {"readTextFile": 1}},
    ):
        result = await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": odd, "clientInfo": 7})
        assert result["protocolVersion"] == 1
    await says_hi(lab, client, await client.new(lab.project))
