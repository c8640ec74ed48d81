"""A model that asks: with a form where the editor has them, else in words that the next prompt answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.clients import editor
from tests.clients.editor import Editor, capabilities
from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.stub_model import SHELL, WRITE, C, T

ASK, FORM = "ask_user", "elicitation/create"
WHICH = C("q1", ASK, {"question": "Which database?", "options": ["Postgres", "SQLite"]})
WORDS = "Which database?\n\n1. Postgres\n2. SQLite\n\nAnswer with a number, or in your own words."


def filled_in(**content: Any) -> editor.Policy:
    return editor.answer({"action": "accept", "content": content})


def with_forms(policy: editor.Policy) -> Editor:
    return Editor(offers=capabilities(forms=True), overrides={FORM: policy})


async def form_asked(client: RawClient) -> dict[str, Any]:
    frames = await client.until(lambda: client.received(FORM), "a form")
    return dict(frames[-1].data["params"])


async def test_a_form_names_the_question_and_its_call_and_its_answer_is_the_result(lab: Lab) -> None:
    lab.model.add(WHICH, T("SQLite it is."))
    client = await lab.start(with_forms(filled_in(answer="SQLite")))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "set it up")
    assert (turn.stop_reason, turn.text) == ("end_turn", "SQLite it is.")
    asked = await form_asked(client)
    assert (asked["mode"], asked["message"]) == ("form", "Which database?")
    assert (asked["sessionId"], asked["toolCallId"]) == (session, "q1")
    fields = asked["requestedSchema"]["properties"]
    assert [each["const"] for each in fields["answer"]["oneOf"]] == ["Postgres", "SQLite"]
    assert fields["other"]["type"] == "string"
    assert lab.model.requests[-1].texts("tool") == ["The user answered: SQLite"]
    assert turn.call("q1")["title"] == "Ask: Which database?"
    assert not client.received("session/request_permission")
    await lab.assert_replay_equals_live(client, session)


async def test_a_question_without_options_is_one_field_that_must_be_filled_in(lab: Lab) -> None:
    lab.model.add(C("q1", ASK, {"question": "What name?"}), T("ok"))
    client = await lab.start(with_forms(filled_in(answer=" rose ")))
    await client.prompt(await client.new(lab.project), "go")
    asked = await form_asked(client)
    assert list(asked["requestedSchema"]["properties"]) == asked["requestedSchema"]["required"] == ["answer"]
    assert lab.model.requests[-1].texts("tool") == ["The user answered: rose"]


OUTCOMES: dict[str, tuple[editor.Policy, str, str]] = {
    "own words": (filled_in(answer="SQLite", other="MariaDB"), "completed", "The user answered: MariaDB"),
    "declined": (editor.answer({"action": "decline"}), "completed", "declined to answer"),
    "dismissed": (editor.answer({"action": "cancel"}), "completed", "dismissed the question"),
    "nothing filled in": (editor.answer({"action": "accept"}), "failed", "without an answer"),
    "null": (editor.answer(None), "failed", "can't be used"),
    "an empty object": (editor.answer({}), "failed", "can't be used"),
    "an action of its own": (editor.answer({"action": "later"}), "failed", "not in the protocol"),
    "no option": (filled_in(answer="Oracle"), "failed", "'Oracle' is none of the options"),
    "a list": (filled_in(answer=["SQLite"]), "failed", "without an answer"),
    "another field": (filled_in(database="SQLite"), "failed", "without an answer"),
    "a content that is no object": (
        editor.answer({"action": "accept", "content": "SQLite"}),
        "failed",
        "can't be used",
    ),
    "no such method": (editor.refuse(-32601, "no forms here"), "failed", "no forms here"),
}


async def test_whatever_the_editor_answers_the_model_is_told_and_the_turn_goes_on(lab: Lab) -> None:
    client = await lab.start(with_forms(editor.never))
    session = await client.new(lab.project)
    for name, (policy, status, told) in OUTCOMES.items():
        client.editor.overrides[FORM] = policy
        lab.model.add(WHICH, T("and so on"))
        turn = await client.prompt(session, "go")
        assert (turn.stop_reason, turn.text) == ("end_turn", "and so on"), name
        assert [call.fields["status"] for call in turn.calls] == [status], name
        assert told in lab.model.requests[-1].texts("tool")[-1], name
    await lab.assert_replay_equals_live(client, session)


async def test_a_cancel_takes_the_form_away_and_the_session_goes_on(lab: Lab) -> None:
    lab.model.add(WHICH, T("next"))
    client = await lab.start(with_forms(editor.never))
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await form_asked(client)
    assert await turn.cancel() == "cancelled"
    asked = client.received(FORM)[0].data["id"]
    assert [frame.data["params"] for frame in client.received("$/cancel_request")] == [{"requestId": asked}]
    assert turn.call("q1")["status"] == "failed"
    assert (await client.prompt(session, "again")).text == "next"


async def test_without_forms_the_question_ends_the_turn_and_a_number_answers_it(lab: Lab) -> None:
    lab.model.add(WHICH, T("SQLite it is."))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "set it up")
    assert (turn.stop_reason, turn.text, turn.call("q1")["status"]) == ("end_turn", WORDS, "completed")
    answer = await client.prompt(session, "2")
    assert answer.text == "SQLite it is."
    assert sent(lab)[1:] == [
        ("user", "set it up"),
        ("assistant", ""),
        ("tool", "The question is put to the user. Their next message answers it."),
        ("assistant", WORDS),
        ("user", "2. SQLite"),
    ]
    assert not client.received(FORM)
    await lab.assert_replay_equals_live(client, session)


ANSWERS = [
    ("2", "2. SQLite"),
    (" #1. ", "1. Postgres"),
    ("2)", "2. SQLite"),
    ("SQLite", "SQLite"),
    ("neither, use files", "neither, use files"),
    ("3", "3"),
    ("0", "0"),
    ("2 or 1", "2 or 1"),
]


async def test_any_words_answer_a_question(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for said, read in ANSWERS:
        lab.model.add(WHICH, T("fine"))
        await client.prompt(session, "go")
        assert (await client.prompt(session, said)).text == "fine"
        assert sent(lab)[-1] == ("user", read)
    await lab.assert_replay_equals_live(client, session)


async def test_a_number_means_no_option_where_the_options_are_numbers_or_nothing_was_asked(lab: Lab) -> None:
    lab.model.add(C("q1", ASK, {"question": "How many?", "options": ["4", "2"]}), T("two"), T("one"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    await client.prompt(session, "2")
    assert sent(lab)[-1] == ("user", "2")
    await client.prompt(session, "1")
    assert sent(lab)[-1] == ("user", "1")


@pytest.mark.parametrize("forms", [False, True], ids=["in words", "in a form"])
async def test_a_question_that_is_open_survives_kill_minus_nine(lab: Lab, forms: bool) -> None:
    lab.model.add(WHICH, T("SQLite it is."))
    client = await lab.start(with_forms(editor.never) if forms else None)
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await (form_asked(client) if forms else turn.done())
    client = await lab.restart(client)
    replayed = json.dumps(await client.load(session, lab.project))
    assert ("Answer with a number" in replayed) is not forms
    assert ("interrupted before it gave a result" in replayed) is forms
    assert (await client.prompt(session, "2")).text == "SQLite it is."
    assert sent(lab)[-1] == ("user", "2" if forms else "2. SQLite")


async def test_what_is_called_beside_a_question_is_done_before_the_turn_ends(lab: Lab) -> None:
    lab.model.add(WHICH + C("c2", WRITE, {"path": "a.txt", "content": "a"}), T("thanks"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert (turn.call("c2")["status"], turn.text) == ("completed", WORDS)
    assert turn.updates[-1]["sessionUpdate"] != "tool_call_update"
    assert (await client.prompt(session, "1")).text == "thanks"
    await lab.assert_replay_equals_live(client, session)


async def test_two_questions_at_once_are_both_put_and_answered_in_words(lab: Lab) -> None:
    other = C("q2", ASK, {"question": "Which port?", "options": ["80", "8080"]})
    lab.model.add(WHICH + other, T("thanks"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert "Which database?" in turn.text and "Which port?" in turn.text
    await client.prompt(session, "2")
    assert sent(lab)[-1] == ("user", "2")


async def test_what_was_said_meanwhile_goes_on_with_the_turn(lab: Lab) -> None:
    lab.model.add(WHICH + C("c2", SHELL, {"command": "echo hi"}), T("as you say"))
    client = await lab.start(Editor(permission=editor.never))
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.permission_asked()
    await client.prompt(session, "/steer take SQLite")
    request = client.received("session/request_permission")[0].data["id"]
    await client.send({"jsonrpc": "2.0", "id": request, "result": editor.selected("allow_once")})
    assert await turn.done() == "end_turn"
    assert turn.text.endswith("as you say")
    assert [role for role, _ in sent(lab)[-3:]] == ["tool", "tool", "user"]


async def test_a_question_that_nobody_could_answer_is_a_failed_call(lab: Lab) -> None:
    client = await lab.start()
    session = await client.new(lab.project)
    for arguments in ({"question": " "}, {"question": "x", "options": [""]}, {"question": "x", "options": [1]}, {}):
        lab.model.add(C("q1", ASK, arguments), T("well"))
        turn = await client.prompt(session, "go")
        assert (turn.text, turn.calls[0].fields["status"]) == ("well", "failed"), arguments


async def test_a_helper_has_nobody_to_ask(lab: Lab) -> None:
    lab.model.add(C("c1", "delegate_task", {"task": "look"}).when("go"))
    lab.model.add((WHICH).when("look"), T("no answer").when("look"), T("so").when("go"))
    client = await lab.start(with_forms(editor.never))
    turn = await client.prompt(await client.new(lab.project), "go")
    assert turn.text == "so" and not client.received(FORM)
    offered = [[tool["function"]["name"] for tool in request.body["tools"]] for request in lab.model.requests]
    assert [ASK in names for names in offered] == [True, False, False, True]


async def test_a_form_in_one_session_leaves_the_others_alone(lab: Lab) -> None:
    lab.model.add(WHICH.when("A"), T("B is done").when("B"))
    client = await lab.start(with_forms(editor.never))
    a, b = await client.new(lab.project), await client.new(lab.project)
    turn = await client.begin_prompt(a, "A")
    await form_asked(client)
    assert (await client.prompt(b, "B")).text == "B is done"
    assert turn.stop_reason is None and await turn.cancel() == "cancelled"


def sent(lab: Lab) -> list[tuple[str, str]]:
    """Role and text of each message in the last request."""
    return [(each["role"], each.get("content") or "") for each in lab.model.requests[-1].body["messages"]]
