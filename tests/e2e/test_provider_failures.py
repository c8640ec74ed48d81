"""The model fails in every way it can: the user sees it, nothing is lost, the next prompt works."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.clients.editor import Editor, capabilities
from tests.clients.fold import panel
from tests.clients.lab import KEY, Lab
from tests.clients.raw import RpcError
from tests.clients.turn import Turn
from tests.stub_model import DROP, ERR, FILTER, HANG, LEN, RAW, SHELL, C, R, Step, T


async def failing(lab: Lab, *steps: Step, prompt: str = "go", **env: Any) -> tuple[Turn | None, RpcError | None]:
    """One prompt on these steps: the turn, or the error it was answered with. Afterwards the next prompt works."""
    lab.model.add(*steps)
    client = await lab.start(**env)
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, prompt)
    error = None
    try:
        await turn.done(40)
    except RpcError as caught:
        error = caught
    lab.model.steps.clear()
    lab.model.add(T("works again"))
    again = await client.prompt(session, "next")
    assert (again.stop_reason, again.text) == ("end_turn", "works again")
    await lab.assert_replay_equals_live(client, session)
    return turn, error


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_an_authentication_error_without_the_key(lab: Lab, status: int) -> None:
    _, error = await failing(lab, ERR(status, f"bad key {KEY}"))
    assert error is not None and error.code == -32000
    assert KEY not in error.message and len(lab.model.requests) == 2


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_request_that_is_refused_is_not_tried_again(lab: Lab, status: int) -> None:
    _, error = await failing(lab, ERR(status, "no such thing"))
    assert error is not None and error.code == -32603
    assert "no such thing" in error.message
    assert len(lab.model.requests) == 2


async def test_too_many_requests_is_tried_again_when_the_server_says(lab: Lab) -> None:
    began = time.monotonic()
    turn, error = await failing(lab, ERR(429, "slow down", retry_after="1"), T("at last"))
    assert error is None and turn is not None and turn.text.endswith("at last")
    assert time.monotonic() - began > 1.0


async def test_a_retry_is_told_to_an_editor_that_shows_notices(lab: Lab) -> None:
    lab.model.add(ERR(503, "busy"), T("ok"))
    client = await lab.start(Editor(offers=capabilities(notices=True)))
    turn = await client.prompt(await client.new(lab.project), "go")
    assert turn.text == "ok"
    assert [notice["severity"] for notice in turn.notices] == ["warning"]


BROKEN: dict[str, Step] = {
    "server errors": ERR(500, "broken"),
    "an empty stream": RAW("data: [DONE]\n\n"),
    "an empty body": RAW(""),
    "no JSON": RAW("data: {broken\n\n"),
    "a page of HTML": RAW("<html>Welcome to the hotel wifi</html>"),
    "reasoning and nothing else": R("I think"),
}


async def test_a_server_that_stays_broken_ends_in_an_error_and_never_in_an_empty_end_of_turn(lab: Lab) -> None:
    client = await lab.start()
    turns = {}
    for name, step in BROKEN.items():
        lab.model.add(*[step.when(name)] * 10)
        turns[name] = await client.begin_prompt(await client.new(lab.project), name)
    for name, turn in turns.items():
        with pytest.raises(RpcError) as caught:
            await turn.done(40)
        assert caught.value.code == -32603 and caught.value.message, name
    lab.model.steps.clear()
    for turn in turns.values():
        lab.model.add(T("works again"))
        assert (await client.prompt(turn.session, "next")).text == "works again"
        await lab.assert_replay_equals_live(client, turn.session)


async def test_a_server_that_is_not_there_ends_in_an_error(lab: Lab) -> None:
    client = await lab.start(OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    session = await client.new(lab.project)
    with pytest.raises(RpcError) as caught:
        await client.prompt(session, "go", timeout=40)
    assert "127.0.0.1:9" in caught.value.message
    assert panel(await client.load(session, lab.project))[0].text == "go"


async def test_a_stream_that_breaks_off_keeps_its_text_once_and_is_an_error(lab: Lab) -> None:
    turn, error = await failing(lab, DROP("one ", "two ", "three"))
    assert error is not None and turn is not None
    assert turn.text == "one two three"
    stored = lab.query("SELECT count(*) FROM messages WHERE content LIKE '%one two three%'")
    assert stored == [(1,)]


async def test_arguments_that_make_no_sense_fail_the_call_and_the_model_may_try_again(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for arguments in ("not json", '{"command":', "[1]", "5", "null", '{"command": 7}', "{}", ""):
        lab.model.add(C("c1", SHELL, arguments), T("sorry"))
        turn = await client.prompt(session, "go")
        assert (turn.stop_reason, turn.text) == ("end_turn", "sorry")
        assert [call.fields["status"] for call in turn.calls] == ["failed"], arguments
    await lab.assert_replay_equals_live(client, session)


async def test_an_unknown_tool_fails_the_call_and_names_the_tools(lab: Lab) -> None:
    turn, error = await failing(lab, C("c1", "make_coffee", {"cups": 2}), T("sorry"))
    assert error is None and turn is not None
    assert (turn.text, turn.call("c1")["status"]) == ("sorry", "failed")
    told = lab.model.requests[1].texts("tool")[0]
    assert "make_coffee" in told and "read_file" in told


async def test_the_token_limit_is_told_as_such(lab: Lab) -> None:
    turn, error = await failing(lab, LEN("as far as I ca"))
    assert error is None and turn is not None
    assert (turn.stop_reason, turn.text) == ("max_tokens", "as far as I ca")


async def test_the_content_filter_is_a_refusal_and_the_model_never_sees_that_turn_again(lab: Lab) -> None:
    """As the protocol has it: a refused prompt, and what came after it, is not part of the next one."""
    lab.model.add(FILTER("I must n"), T("works again"))
    client = await lab.start()
    session = await client.new(lab.project)
    assert (await client.prompt(session, "something bad")).stop_reason == "refusal"
    assert (await client.prompt(session, "something good")).text == "works again"
    assert lab.model.requests[-1].texts("user") == ["something good"]
    shown = [item.text for item in panel(await client.load(session, lab.project))]
    assert shown == ["something good", "works again"]
    assert lab.query("SELECT count(*) FROM messages WHERE content = 'something bad'") == [(1,)], "nothing is deleted"


async def test_a_call_that_is_cut_off_by_the_limit_is_not_run(lab: Lab) -> None:
    cut = C("c1", SHELL, '{"command": "touch ran') + LEN("")
    turn, error = await failing(lab, cut)
    assert error is not None or (turn is not None and turn.stop_reason == "max_tokens")
    assert not list(lab.project.iterdir())


async def test_endless_tool_calls_end_at_the_cap(lab: Lab) -> None:
    lab.configure("max_steps = 3\n")
    turn, error = await failing(lab, *[C("c", SHELL, {"command": "true"})] * 6)
    assert error is None and turn is not None
    assert turn.stop_reason == "max_turn_requests"
    assert len(turn.calls) == 3


async def test_no_model_at_all_is_said_clearly_and_how_to_get_one(lab: Lab) -> None:
    client = await lab.start(ACP_ADAPTER_MODEL="", OPENAI_API_KEY="", OPENAI_BASE_URL="")
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "hello?")
    with pytest.raises(RpcError) as caught:
        await turn.done()
    assert caught.value.code == -32000
    assert "acp-adapter setup" in turn.text or "acp-adapter setup" in caught.value.message


async def test_an_editor_that_runs_terminals_is_offered_the_set_up(lab: Lab) -> None:
    client = await lab.start(Editor(offers=capabilities(auth=True)))
    methods = client.initialized["authMethods"]
    assert [method["type"] for method in methods] == ["terminal"]
    assert methods[0]["args"] == ["setup"]
    plain = await lab.start()
    assert not [m for m in plain.initialized.get("authMethods", []) if m.get("type") == "terminal"]


async def test_a_model_that_is_unknown_is_an_error_that_names_it(lab: Lab) -> None:
    client = await lab.start(ACP_ADAPTER_MODEL="nobody:nothing")
    session = await client.new(lab.project)
    client.unseen.add(session)  # the ledger keeps a prompt whose error an editor may take for its own mistake
    with pytest.raises(RpcError) as caught:
        await client.prompt(session, "go")
    assert "nobody" in caught.value.message


async def test_a_model_that_hangs_can_be_cancelled_and_its_request_is_given_up(lab: Lab) -> None:
    lab.model.add(HANG)
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await asyncio.to_thread(lab.model.wait_for_requests, 1)
    assert await turn.cancel() == "cancelled"
    await asyncio.to_thread(lab.model.wait_for_hangups, 1)
