"""What the small model is not trusted with: repeated calls, overwriting, git, and its own account of what it did."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from acp_adapter.providers.local import rules
from acp_adapter.providers.local.attempt import Attempt
from acp_adapter.providers.local.record import Turn
from acp_adapter.providers.local.steps import NAMES, Offer, Step
from acp_adapter.providers.port import Completed
from acp_adapter.transcript import Message
from tests.providers.talk import answered, asked, called

OFFER = Offer(frozenset(NAMES))


def attempt(step: Step, *messages: Message) -> tuple[Attempt, str]:
    """The model's answer `step` to a conversation, in pieces of three characters; and what was told meanwhile."""
    made, told = Attempt(Turn.of(messages), OFFER), ""
    text = step.written()
    for at in range(0, len(text), 3):
        told += "".join(made.feed(chunk(text[at : at + 3])))
        if made.settled:
            return made, told
    made.feed(chunk("", finish="stop"))
    return made, told


def chunk(content: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]}


def whole(step: Step, *messages: Message) -> Completed:
    made, _ = attempt(step, *messages)
    outcome = made.outcome()
    assert not isinstance(outcome, Offer)
    return made.completed(outcome)


def test_a_call_goes_to_the_agent_with_its_own_names() -> None:
    completed = whole(Step("glob", {"pattern": "*.py"}), asked("Find the Python files"))
    [call] = completed.message.calls()
    assert (call.name, json.loads(call.arguments)) == ("glob", {"pattern": "*.py"})
    assert completed.finish_reason == "tool_calls" and call.id


def test_an_identical_repeated_call_leaves_only_an_answer_on_offer() -> None:
    step = Step("grep", {"pattern": "x"})
    made, _ = attempt(step, asked("Find x"), *called("grep", {"pattern": "x"}, "a.py:1:x"))
    assert made.outcome() == Offer()


def test_a_look_may_be_repeated_once_something_changed_or_in_another_turn() -> None:
    step = Step("read_file", {"path": "a"})
    reading = called("read_file", {"path": "a"}, "1")
    running = called("run_command", {"command": "date > a"}, "")
    assert attempt(step, asked("Go"), *reading, *running)[0].outcome() == step
    assert attempt(step, asked("Go"), *reading, answered("1"), asked("Again"))[0].outcome() == step


def test_a_file_that_is_known_to_exist_is_not_written_over() -> None:
    step = Step("write_file", {"path": "./a.txt", "content": "2"})
    for earlier in (called("read_file", {"path": "a.txt"}, "1"), called("write_file", {"path": "a.txt"}, "Created")):
        outcome = attempt(step, asked("Go"), *earlier, answered("Done"), asked("Write a.txt"))[0].outcome()
        assert isinstance(outcome, Offer) and "write_file" not in outcome.tools
    missing = called("read_file", {"path": "a.txt"}, "There is no file a.txt.", failed=True)
    assert attempt(step, asked("Go"), *missing)[0].outcome() == step


def test_edits_are_told_from_the_record_and_not_from_the_models_claim() -> None:
    edit = {"path": "a.ini", "old_text": "port = 1", "new_text": "port = 2"}
    editing = called("edit_file", edit, "Edited a.ini at line 1.")
    made, told = attempt(Step("say", {"text": "I changed everything."}), asked("Change the port"), *editing)
    assert told == "Edited a.ini at line 1.\n- port = 1\n+ port = 2"
    assert made.settled and made.completed(str(made.outcome())).message.text() == told


def test_what_came_after_an_edit_is_told_after_its_account() -> None:
    steps = [*called("write_file", {"path": "a.py", "content": "1"}, "Created a.py (1 lines).")]
    steps += called("run_command", {"command": "python a.py"}, "1")
    _, told = attempt(Step("say", {"text": "It prints 1."}), asked("Write a.py and run it"), *steps)
    assert told == "Created a.py (1 lines).\n\nIt prints 1."


def test_a_failed_edit_is_told_as_one() -> None:
    refused = called("edit_file", {"path": "a.ini", "old_text": "x", "new_text": "y"}, "The user said no.", failed=True)
    _, told = attempt(Step("say", {"text": "Done."}), asked("Change x"), *refused)
    assert told == "a.ini was not changed: The user said no."


def test_an_attempt_that_was_made_good_is_not_told() -> None:
    edit = {"path": "a.ini", "old_text": "x", "new_text": "y"}
    steps = [*called("edit_file", edit, "no", failed=True), *called("edit_file", edit, "Edited a.ini at line 1.")]
    _, told = attempt(Step("say", {"text": "Done."}), asked("Change x"), *steps)
    assert "not changed" not in told


def test_a_claimed_change_that_was_never_made_is_corrected() -> None:
    completed = whole(Step("say", {"text": "I have updated config.ini."}), asked("Change the port"))
    assert completed.message.text().endswith(rules.NOTHING_CHANGED)
    honest = whole(Step("say", {"text": "The port is 80."}), asked("Which port?"))
    assert honest.message.text() == "The port is 80."


def test_a_change_to_git_is_refused_with_the_command_to_run_oneself() -> None:
    completed = whole(Step("run_command", {"command": "git commit -am wip"}), asked("Commit this"))
    assert not completed.message.tool_calls and "git commit -am wip" in completed.message.text()


LOOKS = """
git status; git log -5 --oneline; git -C sub diff; git --no-pager show HEAD; git branch -a; git branch; git remote -v
git stash list; git config --get user.name; git reflog; python digit.py commit; ls .git/refs
"""
CHANGES = """
git commit -m x; git -C sub push; ls && git reset --hard; git branch -D main; git -c a=b clean -fd; git stash
git config user.name x; echo $(git checkout .); git remote add o x; /usr/bin/git rm a; git tag v1; git reflog expire
"""


@pytest.mark.parametrize("command", re.split(r"; |\n", LOOKS.strip()))
def test_looking_at_git_is_allowed(command: str) -> None:
    assert not rules.changes_git(command)


@pytest.mark.parametrize("command", [*re.split(r"; |\n", CHANGES.strip()), "true\ngit add ."])
def test_changing_git_is_not(command: str) -> None:
    assert rules.changes_git(command)


def test_only_the_plain_question_who_one_is_talking_to_is_answered_for_the_model() -> None:
    for text in ("Who are you?", "hello, what are you", "Which model is this?", "are you ChatGPT?"):
        assert rules.asks_who(text)
    for text in ("Who are you calling in app.py?", "What are you able to see in src?", "Which model is in models.py?"):
        assert not rules.asks_who(text)
    assert "qwen2.5-coder-0.5b" in rules.who("qwen2.5-coder-0.5b")


def test_a_call_that_was_cut_off_is_told_and_not_made() -> None:
    made = Attempt(Turn.of([asked("Write a.py")]), OFFER)
    made.feed(chunk('{"tool": "write_file", "arguments": {"path": "a.py", "content": "1', finish="length"))
    outcome = made.outcome()
    assert isinstance(outcome, str) and "write_file grew too long" in outcome
    completed = made.completed(outcome)
    assert completed.finish_reason == "length" and completed.message.text() == outcome
