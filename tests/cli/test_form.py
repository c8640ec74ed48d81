"""Questions in the terminal: which forms can be shown, and what a typed line means."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.cli.form import Form
from tests.cli.conftest import Run
from tests.cli.pty_session import PtySession

Script = Callable[..., Path]

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal needs POSIX")
ASK = {"tool_calls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["Postgres", "SQLite"]}}]}
CHOICE = {"type": "string", "oneOf": [{"const": "p", "title": "Postgres"}, {"const": "s", "title": "SQLite"}]}


@pytest.mark.parametrize(
    ("line", "content"),
    [
        ("1", {"which": "p"}),
        ("#2.", {"which": "s"}),
        ("sqlite", {"which": "s"}),
        ("3", {"other": "3"}),
        ("none of them", {"other": "none of them"}),
    ],
)
def test_a_line_is_a_number_a_name_or_words(line: str, content: dict[str, str]) -> None:
    form = Form.of({"properties": {"which": CHOICE, "other": {"type": "string"}}})
    assert form and form.answer(line) == content


def test_where_only_options_count_other_words_are_no_answer() -> None:
    form = Form.of({"properties": {"which": {"type": "string", "enum": ["a", "b"]}}, "required": ["which"]})
    assert form and form.answer("c") is None and form.answer("b") == {"which": "b"}


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"n": {"type": "integer"}},
        {"which": CHOICE, "sure": {"type": "boolean"}},
        {"one": {"type": "string"}, "two": {"type": "string"}},
        {"one": CHOICE, "two": CHOICE},
    ],
)
def test_a_form_that_one_line_can_not_fill_in_is_not_shown(properties: dict[str, Any]) -> None:
    assert Form.of({"properties": properties}) is None


def test_a_form_that_wants_two_fields_at_once_is_not_shown() -> None:
    fields = {"which": CHOICE, "other": {"type": "string"}}
    assert Form.of({"properties": fields, "required": ["which", "other"]}) is None


@POSIX
@pytest.mark.parametrize(
    ("keys", "result"),
    [
        ("2\n", "The user answered: SQLite"),
        ("fils\x7fes\n", "The user answered: files"),
        ("\n", "The user declined to answer"),
        ("\x04", "The user dismissed the question"),
    ],
    ids=["a number", "words", "an empty line", "the end of input"],
)
def test_a_person_answers_at_the_keyboard(
    script: Script, env: dict[str, str], project: Path, cli: Run, keys: str, result: str
) -> None:
    script(ASK, {"text": "Thank you."})
    with PtySession([sys.executable, "-m", "acp_adapter", "chat", "set it up"], env, project) as screen:
        screen.expect("? Which?")
        screen.expect("[2] SQLite")
        screen.expect("→")
        screen.send(keys)
        screen.expect("Thank you.")
        assert screen.wait() == 0
    assert result in cli("export", "--all", "--format", "json").stdout


def test_without_a_terminal_the_question_is_the_answer_and_the_next_prompt_answers_it(
    script: Script, program: Run
) -> None:
    script(ASK, {"text": "unused"}, {"text": "SQLite it is."})
    asked = program("chat", "set it up")
    assert asked.returncode == 0 and "1. Postgres\n2. SQLite" in asked.stdout
    answered = program("chat", "--continue", "2")
    assert answered.returncode == 0 and "SQLite it is." in answered.stdout
