"""What a session costs, as the client is told, and what happens when a budget is spent."""

from __future__ import annotations

import pytest

from tests.clients import editor
from tests.clients.editor import Editor, capabilities
from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.stub_model import SHELL, C, T

# The stub counts 100 tokens a request and some for each message; a dollar a token makes sums that one can see.
PRICED = '[models."openai:stub-1"]\ncontext_window = 100000\ninput_price = 1000000\noutput_price = 0\n'


async def started(lab: Lab, toml: str = "") -> tuple[RawClient, str]:
    lab.configure(PRICED + toml)
    client = await lab.start(Editor(offers=capabilities(notices=True)))
    return client, await client.new(lab.project)


def told(client: RawClient, session: str) -> list[dict[str, object]]:
    return [update for update in client.updates(session) if update["sessionUpdate"] == "usage_update"]


def notices(client: RawClient, session: str) -> list[str]:
    return [update["title"] for update in client.updates(session) if update["sessionUpdate"] == "notice"]


def input_tokens(lab: Lab) -> int:
    return int(lab.query("SELECT sum(input_tokens) FROM sessions")[0][0])


async def test_the_cost_so_far_is_told_with_each_answer_and_goes_on_after_a_restart(lab: Lab) -> None:
    client, session = await started(lab)
    lab.model.add(T("one"), T("two"), T("three"))
    await client.prompt(session, "first")
    first = told(client, session)[-1]
    assert first["cost"] == {"amount": float(input_tokens(lab)), "currency": "USD"}
    await client.prompt(session, "second")
    assert told(client, session)[-1]["cost"] == {"amount": float(input_tokens(lab)), "currency": "USD"}
    spent = input_tokens(lab)
    client = await lab.restart(client)
    await client.load(session, lab.project)
    await client.until(lambda: bool(told(client, session)), "the usage after a load", 10)
    standing = told(client, session)[-1]
    assert standing["cost"] == {"amount": float(spent), "currency": "USD"}
    assert standing["size"] == 100_000 and isinstance(standing["used"], int) and standing["used"] > 0
    await client.prompt(session, "third")
    assert told(client, session)[-1]["cost"] == {"amount": float(input_tokens(lab)), "currency": "USD"}
    assert lab.query("SELECT estimated_cost_usd FROM sessions") == [(float(input_tokens(lab)),)]


async def test_names_summaries_and_helpers_cost_too_and_the_sum_survives_a_restart(lab: Lab) -> None:
    lab.configure(PRICED)
    client = await lab.start(ACP_ADAPTER_TITLES="on")
    session = await client.new(lab.project)
    lab.model.add(
        C("c1", "delegate_task", {"task": "look around"}).when("go"),
        T("report").when("look around"),
        T("A name").when("USER: go"),
        T("done").when("go"),
    )
    await client.prompt(session, "go")
    await client.until(lambda: len(lab.model.requests) == 4, "the naming", 10)
    lab.model.add(T("the summary"), T("on"))
    await client.prompt(session, "/compact")
    await client.prompt(session, "on")
    live = told(client, session)[-1]["cost"]
    paid = lab.query("SELECT sum(estimated_cost_usd) FROM session_model_usage")[0][0]
    assert live == {"amount": paid, "currency": "USD"}
    tasks = {task for (task,) in lab.query("SELECT DISTINCT task FROM session_model_usage")}
    assert tasks == {"", "title", "compression"} and lab.count("sessions") == 3
    client = await lab.restart(client)
    await client.load(session, lab.project)
    await client.until(lambda: bool(told(client, session)), "the usage after a load", 10)
    assert told(client, session)[-1]["cost"] == live


async def test_another_model_s_window_is_told_when_it_is_chosen(lab: Lab) -> None:
    lab.model.listed = ["stub-1", "stub-2"]
    client, session = await started(lab, '[models."openai:stub-2"]\ncontext_window = 9000\n')
    lab.model.add(T("one"))
    await client.prompt(session, "first")
    before = told(client, session)[-1]
    params = {"sessionId": session, "configId": "model", "value": "openai:stub-2"}
    await client.request("session/set_config_option", params)
    after = told(client, session)[-1]
    assert (before["size"], after["size"]) == (100_000, 9000)
    assert after["cost"] == before["cost"]


async def test_the_panel_tells_the_cost(lab: Lab) -> None:
    client, session = await started(lab)
    lab.model.add(T("one"))
    await client.prompt(session, "first")
    turn = await client.prompt(session, "/usage")
    assert f"cost: ${input_tokens(lab):,.4f}, today in all sessions ${input_tokens(lab):,.4f}" in turn.text


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("session_tokens = 50", "this session is spent: 1"),
        ("session_usd = 50", "this session is spent: $1"),
        ("day_tokens = 50", "today, over all sessions is spent: 1"),
        ("day_usd = 50", "today, over all sessions is spent: $1"),
    ],
)
async def test_a_spent_budget_ends_the_turn_with_a_sentence_and_loses_nothing(
    lab: Lab, budget: str, words: str
) -> None:
    client, session = await started(lab, f"[budget]\n{budget}\n")
    lab.referee.allow("error")
    lab.model.add(C("c1", "list_directory", {"path": "."}))
    with pytest.raises(RpcError, match="All that was done is kept") as refused:
        await client.prompt(session, "go")
    assert words in str(refused.value)
    assert len(lab.model.requests) == 1
    assert lab.query("SELECT role FROM messages ORDER BY id") == [("user",), ("assistant",), ("tool",)]
    client = await lab.restart(client)
    await client.load(session, lab.project)
    with pytest.raises(RpcError, match="is spent"):
        await client.prompt(session, "once more")
    lab.configure(PRICED)
    lab.model.add(T("on it goes"))
    turn = await client.prompt(session, "go on")
    assert (turn.stop_reason, turn.text) == ("end_turn", "on it goes")


async def test_a_budget_that_was_raised_counts_at_once_and_a_broken_file_lifts_none(lab: Lab) -> None:
    client, session = await started(lab, "[budget]\nsession_tokens = 50\n")
    lab.referee.allow("error")
    lab.model.add(T("one"), T("two"))
    await client.prompt(session, "first")
    for broken in ("[budget]\nsession_tokens = 0\n", "[budget\n"):
        lab.configure(PRICED + broken)
        with pytest.raises(RpcError, match="of 50 tokens"):
            await client.prompt(session, "second")
    lab.configure(PRICED + "[budget]\nsession_tokens = 5000\n")
    assert (await client.prompt(session, "third")).text == "two"


async def test_a_project_s_own_budget_is_told_with_the_file_that_sets_it(lab: Lab) -> None:
    client, session = await started(lab, "[budget]\nsession_tokens = 5000\n")
    lab.referee.allow("error")
    (lab.project / ".acp-adapter.toml").write_text("[budget]\nsession_tokens = 50\n", "utf-8")
    session = await client.new(lab.project)
    lab.model.add(T("one"))
    await client.prompt(session, "first")
    with pytest.raises(RpcError, match=r"raise session_tokens under \[budget\] in .*\.acp-adapter\.toml, then"):
        await client.prompt(session, "second")


async def test_a_spent_budget_stops_compaction_and_naming_too(lab: Lab) -> None:
    lab.configure(PRICED + "[budget]\nsession_tokens = 50\n")
    lab.referee.allow("error")
    lab.model.add(T("one"))
    client = await lab.start(ACP_ADAPTER_TITLES="on")
    session = await client.new(lab.project)
    assert (await client.prompt(session, "first")).stop_reason == "end_turn"
    with pytest.raises(RpcError, match="is spent"):
        await client.prompt(session, "/compact")
    assert len(lab.model.requests) == 1


async def test_a_day_s_budget_counts_every_session_and_one_s_own_budget_only_that_one(lab: Lab) -> None:
    client, one = await started(lab, "[budget]\nday_tokens = 150\nsession_tokens = 150\n")
    lab.referee.allow("error")
    lab.model.add(T("one"), T("two"))
    await client.prompt(one, "first")
    two = await client.new(lab.project)
    await client.prompt(two, "second")
    three = await client.new(lab.project)
    with pytest.raises(RpcError, match="today, over all sessions"):
        await client.prompt(three, "third")


async def test_a_warning_comes_once_before_the_budget_is_spent(lab: Lab) -> None:
    client, session = await started(lab, "[budget]\nsession_tokens = 120\n")
    lab.referee.allow("error")
    lab.model.add(C("c1", SHELL, {"command": "true"}), T("never"))
    client.editor.permission = editor.reject
    await client.prompt(session, "go")
    warned = [title for title in notices(client, session) if "are used" in title]
    assert len(warned) == 1 and "of the 120 tokens for this session" in warned[0]


async def test_a_budget_in_money_says_once_when_a_model_s_price_is_not_known(lab: Lab) -> None:
    lab.configure("[budget]\nsession_usd = 1\n")
    script = lab.folder / "script.json"
    script.write_text('{"by": "history", "steps": [{"text": "one"}, {"text": "two"}]}', "utf-8")
    client = await lab.start(Editor(offers=capabilities(notices=True)), ACP_ADAPTER_MODEL=f"scripted:{script}")
    session = await client.new(lab.project)
    for text in ("first", "second"):
        await client.prompt(session, text)
    assert (
        len([title for title in notices(client, session) if "so the budget in US dollars does not count it" in title])
        == 1
    )


async def test_a_table_that_can_t_be_is_told_of_in_the_first_turn_and_its_provider_stays(lab: Lab) -> None:
    client, session = await started(lab, '[models."openai:other"]\ninput_price = "cheap"\n')
    lab.model.add(T("one"))
    turn = await client.prompt(session, "first")
    assert turn.text == "one"
    assert any("input_price must be US dollars" in title for title in notices(client, session))
