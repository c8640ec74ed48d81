"""An id that nobody gave out is an error, the same on every method, and leaves no trace."""

from __future__ import annotations

from typing import Any

from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import T


def requests(session: Any, cwd: str) -> dict[str, dict[str, Any]]:
    """Every method that takes a session id, with otherwise good params."""
    place = {"sessionId": session, "cwd": cwd, "mcpServers": []}
    return {
        "session/load": place,
        "session/resume": place,
        "session/fork": place,
        "session/prompt": {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]},
        "session/set_mode": {"sessionId": session, "modeId": "plan"},
        "session/set_config_option": {"sessionId": session, "configId": "mode", "value": "plan"},
        "session/close": {"sessionId": session},
    }


async def assert_alive(lab: Lab, client: RawClient, session: str) -> None:
    lab.model.add(T("still here"))
    turn = await client.prompt(session, "hi")
    assert (turn.stop_reason, turn.text) == ("end_turn", "still here")


async def test_every_method_gives_the_same_error_and_makes_no_row(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for unknown in ("nope", "", "../../etc/passwd", "x" * 10_000, "ä€😀", "a\x00b", "%", session.upper(), session[:8]):
        codes = {}
        for method, params in requests(unknown, str(lab.project)).items():
            error = await client.error_of(method, params)
            codes[method] = error.code
            assert len(error.message) < 1000
            assert error.code != -32002 or error.data["sessionId"][:100] == unknown[:100]
        assert len(set(codes.values())) == 1 and set(codes.values()) <= {-32002, -32602}, (unknown, codes)
    await assert_alive(lab, client, session)
    assert lab.count("sessions") == 1


async def test_an_id_of_another_type_is_invalid(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for wrong in (None, 5, True, ["a"], {"id": "a"}):
        for method, params in requests(wrong, str(lab.project)).items():
            assert (await client.error_of(method, params)).code == -32602, (method, wrong)
            without = {key: value for key, value in params.items() if key != "sessionId"}
            assert (await client.error_of(method, without)).code == -32602, f"{method} without an id"
    await assert_alive(lab, client, session)


async def test_cancelling_an_unknown_session_is_silent(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    await client.until(lambda: "config_option_update" in str(client.updates(session)), "the models that are found")
    before = len(client.frames)
    await client.cancel("nope")
    await client.notify("session/cancel", sessionId=5)
    await client.notify("session/cancel")
    await client.request("session/list", {})
    assert [frame for frame in client.frames[before:] if not frame.sent and "id" not in frame.data] == []
    await assert_alive(lab, client, session)


async def test_deleting_is_silent_for_an_unknown_id_and_twice_in_a_row(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    assert await client.request("session/delete", {"sessionId": "nope"}) == {}
    for _ in range(2):
        assert await client.request("session/delete", {"sessionId": session}) == {}
    assert (await client.error_of("session/load", requests(session, str(lab.project))["session/load"])).code == -32002
    listed = await client.request("session/list", {})
    assert listed["sessions"] == []


async def test_a_closed_session_can_be_loaded_again(lab: Lab) -> None:
    lab.model.add(T("before"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "one")
    assert await client.request("session/close", {"sessionId": session}) == {}
    await client.load(session, lab.project)
    await assert_alive(lab, client, session)
    assert lab.model.requests[-1].texts("assistant") == ["before"]
