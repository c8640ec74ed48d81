"""Modes and config options: one state under two names, kept over restarts, and unknown values change nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.checks.state import values
from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.stub_model import SHELL, WRITE, C, T

MODES = ["ask", "accept_edits", "plan", "bypass"]


async def new(client: RawClient, lab: Lab) -> dict[str, Any]:
    return dict(await client.request("session/new", {"cwd": str(lab.project), "mcpServers": []}))


async def state(client: RawClient, lab: Lab, session: str) -> tuple[str, dict[str, Any]]:
    """The session's mode and its options' values, as a resume tells them."""
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
    result = await client.request("session/resume", params)
    options = {option["id"]: option["currentValue"] for option in result["configOptions"]}
    return result["modes"]["currentModeId"], options


async def set_mode(client: RawClient, session: str, mode: Any) -> Any:
    return await client.request("session/set_mode", {"sessionId": session, "modeId": mode})


async def test_a_new_session_offers_the_four_modes_and_begins_with_ask(lab: Lab) -> None:
    result = await new(await lab.start(), lab)
    assert [mode["id"] for mode in result["modes"]["availableModes"]] == MODES
    assert result["modes"]["currentModeId"] == "ask"
    mode = next(option for option in result["configOptions"] if option["id"] == "mode")
    assert (values(mode), mode["currentValue"], mode["category"]) == (MODES, "ask", "mode")
    assert {option["category"] for option in result["configOptions"]} >= {"mode", "model"}


@pytest.mark.parametrize("mode", MODES)
async def test_a_mode_set_as_mode_is_the_option_too_and_survives_a_restart(lab: Lab, mode: str) -> None:
    client = await lab.start()
    session = (await new(client, lab))["sessionId"]
    await set_mode(client, session, mode)
    told = [u for u in client.updates(session) if u["sessionUpdate"] == "config_option_update"]
    if told:
        assert next(o for o in told[-1]["configOptions"] if o["id"] == "mode")["currentValue"] == mode
    for _ in range(2):
        current, options = await state(client, lab, session)
        assert current == options["mode"] == mode
        client = await lab.restart(client)


async def test_a_mode_set_as_option_is_the_mode_too_and_the_answer_is_the_whole_list(lab: Lab) -> None:
    client = await lab.start()
    first = await new(client, lab)
    session = first["sessionId"]
    params = {"sessionId": session, "configId": "mode", "value": "plan"}
    result = await client.request("session/set_config_option", params)
    assert [option["id"] for option in result["configOptions"]] == [option["id"] for option in first["configOptions"]]
    told = [u["currentModeId"] for u in client.updates(session) if u["sessionUpdate"] == "current_mode_update"]
    assert told == ["plan"], "editors that know only modes must hear of it"
    current, options = await state(client, lab, session)
    assert current == options["mode"] == "plan"


async def test_an_unknown_mode_or_value_is_an_error_and_changes_nothing(lab: Lab) -> None:
    client = await lab.start()
    session = (await new(client, lab))["sessionId"]
    before = await state(client, lab, session)
    place = {"sessionId": session}
    for wrong in ("root", "", None, 5, ["plan"], "PLAN", True):
        assert (await client.error_of("session/set_mode", {**place, "modeId": wrong})).code == -32602, wrong
        for option, value in (("mode", wrong), ("model", wrong), (wrong, "plan")):
            params = {**place, "configId": option, "value": value}
            assert (await client.error_of("session/set_config_option", params)).code == -32602, params
    assert await state(client, lab, session) == before


async def test_modes_are_of_one_session_only(lab: Lab) -> None:
    client = await lab.start()
    one, two = (await new(client, lab))["sessionId"], (await new(client, lab))["sessionId"]
    await set_mode(client, one, "bypass")
    assert (await state(client, lab, two))[0] == "ask"


async def test_a_fork_has_the_mode_of_its_parent(lab: Lab) -> None:
    lab.model.add(T("one"))
    client = await lab.start()
    session = (await new(client, lab))["sessionId"]
    await set_mode(client, session, "plan")
    await client.prompt(session, "a")
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
    fork = await client.request("session/fork", params)
    assert fork["modes"]["currentModeId"] == "plan"


EDIT = C("c1", WRITE, {"path": "new.txt", "content": "x"})
COMMAND = C("c1", SHELL, {"command": "touch ran"})


@pytest.mark.parametrize(
    ("mode", "step", "asks", "runs"),
    [
        ("ask", EDIT, True, True),
        ("ask", COMMAND, True, True),
        ("accept_edits", EDIT, False, True),
        ("accept_edits", COMMAND, True, True),
        ("plan", EDIT, False, False),
        ("plan", COMMAND, False, False),
        ("bypass", EDIT, False, True),
        ("bypass", COMMAND, False, True),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_what_a_mode_lets_run(lab: Lab, mode: str, step: Any, asks: bool, runs: bool) -> None:
    lab.model.add(step, T("done"))
    client = await lab.start()
    session = (await new(client, lab))["sessionId"]
    await set_mode(client, session, mode)
    turn = await client.prompt(session, "go")
    assert turn.stop_reason == "end_turn"
    assert bool(client.received("session/request_permission")) is asks
    assert turn.call("c1")["status"] == ("completed" if runs else "failed")
    assert bool(list(lab.project.iterdir())) is runs
    await lab.assert_replay_equals_live(client, session)


async def test_a_mode_that_changes_during_a_turn_counts_from_the_next_call_on(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 1"}), EDIT, T("done"))
    client = await lab.start()
    session = (await new(client, lab))["sessionId"]
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("in_progress")
    await set_mode(client, session, "plan")
    assert await turn.done() == "end_turn"
    assert not list(lab.project.iterdir())


async def test_the_config_file_says_with_which_mode_sessions_begin(lab: Lab) -> None:
    lab.configure('mode = "accept_edits"\n')
    result = await new(await lab.start(), lab)
    assert result["modes"]["currentModeId"] == "accept_edits"


async def test_the_model_that_is_chosen_is_the_one_that_is_asked(lab: Lab) -> None:
    client = await lab.start()
    result = await new(client, lab)
    session = result["sessionId"]
    model = next(option for option in result["configOptions"] if option["category"] == "model")
    lab.model.add(T("ok"))
    wanted = f"openai:{lab.model.model}"
    await client.until(lambda: wanted in _offered(client, session, model), "the model to be offered")
    await client.request("session/set_config_option", {"sessionId": session, "configId": model["id"], "value": wanted})
    assert (await client.prompt(session, "hi")).text == "ok"
    assert lab.model.requests[-1].body["model"] == lab.model.model
    client = await lab.restart(client)
    assert (await state(client, lab, session))[1][model["id"]] == wanted


def _offered(client: RawClient, session: str, first: dict[str, Any]) -> list[str]:
    """The values of the model option as last told."""
    told = [first]
    for update in client.updates(session):
        if update["sessionUpdate"] == "config_option_update":
            told += [option for option in update["configOptions"] if option["id"] == first["id"]]
    return values(told[-1])


REASONING = '[models."openai:stub-1"]\nefforts = ["off", "low", "high"]\n'


async def set_option(client: RawClient, session: str, option: str, value: Any) -> Any:
    return await client.request("session/set_config_option", {"sessionId": session, "configId": option, "value": value})


async def test_the_effort_is_offered_with_the_model_s_own_words_and_reaches_the_model(lab: Lab) -> None:
    lab.configure(REASONING)
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("one"), T("two"), T("three"))
    await client.prompt(session, "first")
    assert "reasoning_effort" not in lab.model.requests[-1].body
    answer = await set_option(client, session, "effort", "high")
    effort = next(option for option in answer["configOptions"] if option["id"] == "effort")
    assert (values(effort), effort["category"]) == (["default", "off", "low", "high"], "thought_level")
    await client.prompt(session, "second")
    assert lab.model.requests[-1].body["reasoning_effort"] == "high"
    client = await lab.restart(client)
    assert (await state(client, lab, session))[1]["effort"] == "high"
    await client.prompt(session, "/effort default")
    await client.prompt(session, "third")
    assert "reasoning_effort" not in lab.model.requests[-1].body
    assert (await state(client, lab, session))[1]["effort"] == "default"


async def test_an_effort_that_the_model_does_not_have_is_refused_and_changes_nothing(lab: Lab) -> None:
    lab.configure(REASONING)
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("one"))
    await client.prompt(session, "first")
    await set_option(client, session, "effort", "low")
    for value in ("medium", "", "HIGH", "none"):
        with pytest.raises(RpcError, match="There is no effort") as refused:
            await set_option(client, session, "effort", value)
        assert refused.value.code == -32602
    assert (await state(client, lab, session))[1]["effort"] == "low"


async def test_a_model_that_can_t_be_told_how_much_to_reason_is_not_offered_to_be(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("one"))
    await client.prompt(session, "first")
    assert "effort" not in (await state(client, lab, session))[1]
    turn = await client.prompt(session, "/effort")
    assert "can't be told how much to reason" in turn.text


async def test_an_effort_that_another_model_lacks_is_told_of_and_kept_for_later(lab: Lab) -> None:
    lab.configure(f'effort = "low"\n{REASONING}')
    client = await lab.start()
    session = await client.new(lab.project)
    lab.model.add(T("one"), T("two"))
    await client.prompt(session, "first")
    assert lab.model.requests[-1].body["reasoning_effort"] == "low"
    lab.configure('effort = "low"\n[models."openai:stub-1"]\nefforts = ["high"]\n')
    client = await lab.restart(client)
    await client.load(session, lab.project)
    turn = await client.prompt(session, "second")
    assert "can't be set to the reasoning effort 'low' (it has: high)" in turn.text
    assert "reasoning_effort" not in lab.model.requests[-1].body


async def test_models_are_grouped_by_provider(lab: Lab) -> None:
    client = await lab.start()
    first = await new(client, lab)
    await client.request(
        "session/set_config_option", {"sessionId": first["sessionId"], "configId": "model", "value": "auto"}
    )
    params = {"sessionId": first["sessionId"], "cwd": str(lab.project), "mcpServers": []}
    result = await client.request("session/resume", params)
    model = next(option for option in result["configOptions"] if option["id"] == "model")
    groups = {group["group"]: [option["value"] for option in group["options"]] for group in model["options"]}
    assert groups["auto"] == ["auto"]
    assert f"openai:{lab.model.model}" in groups["openai"]
    assert [group["name"] for group in model["options"]] == ["Automatic", "OpenAI"]


async def test_a_model_far_down_a_long_list_can_be_chosen_and_is_shown_then(lab: Lab) -> None:
    lab.model.listed = ["stub-1", *(f"model-{n:03}" for n in range(300))]
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "/model")
    assert "251 more that their providers list" in turn.text
    answer = await set_option(client, session, "model", "openai:model-299")
    model = next(option for option in answer["configOptions"] if option["id"] == "model")
    assert model["currentValue"] == "openai:model-299"
    assert len(values(model)) == len({*values(model)}) == 1 + 50 + 1
    refused = await client.error_of(
        "session/set_config_option", {"sessionId": session, "configId": "model", "value": "openai:model-300"}
    )
    assert refused.code == -32602 and "and 252 more" in refused.message
    lab.model.add(T("ok"))
    await client.prompt(session, "hi")
    assert lab.model.requests[-1].body["model"] == "model-299"


async def test_a_model_that_can_t_be_reached_any_more_stays_the_session_s_own(lab: Lab) -> None:
    lab.model.listed = ["stub-1", "stub-2"]
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "/model openai:stub-2")
    lab.model.listed = ["stub-1"]
    client = await lab.restart(client)
    assert (await state(client, lab, session))[1]["model"] == "openai:stub-2"
    await set_option(client, session, "mode", "plan")
    answer = await set_option(client, session, "model", "openai:stub-2")
    model = next(option for option in answer["configOptions"] if option["id"] == "model")
    assert model["currentValue"] == "openai:stub-2" and "openai:stub-2" in values(model)
    await set_option(client, session, "model", "openai:stub-1")
    with pytest.raises(RpcError, match="There is no model 'openai:stub-2' here"):
        await set_option(client, session, "model", "openai:stub-2")


async def test_a_fork_and_a_compacted_session_keep_model_effort_and_mode(lab: Lab) -> None:
    lab.model.listed = ["stub-1", "stub-2"]
    lab.configure(REASONING.replace("stub-1", "stub-2"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "/model openai:stub-2")
    await client.prompt(session, "/effort high")
    await client.prompt(session, "/mode plan")
    lab.model.add(T("one"), T("a summary"), T("two"))
    await client.prompt(session, "first")
    await client.prompt(session, "/compact")
    chosen = {"mode": "plan", "model": "openai:stub-2", "effort": "high"}
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
    fork = (await client.request("session/fork", params))["sessionId"]
    client = await lab.restart(client)
    for each in (session, fork):
        assert await state(client, lab, each) == ("plan", chosen)
    await client.prompt(fork, "second")
    asked = lab.model.requests[-1].body
    assert (asked["model"], asked["reasoning_effort"]) == ("stub-2", "high")
