"""Permissions: who is asked when, what is remembered, and that nothing but the user grants a right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.command_line import words_of
from acp_adapter.agent.command_prefix import covers, prefix_of_words
from acp_adapter.agent.permissions import MODES, Choice, Mode, choices, decide
from acp_adapter.agent.rules import Rule, Verdict
from acp_adapter.agent.rules_file import Rules
from acp_adapter.errors import ToolError
from acp_adapter.tools.paths import resolve
from acp_adapter.tools.port import Action, Intent, Kind


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "my project").mkdir()
    return (tmp_path / "my project").resolve()


@pytest.fixture
def rules(home: Path, project: Path) -> Rules:
    return Rules.load(home, project)


def intent(action: Action, *paths: Path, command: str | None = None, kind: Kind = "other") -> Intent:
    return Intent("title", kind, action, list(paths), command=command)


def verdict(mode: Mode, tool: str, what: Intent, project: Path, rules: Rules) -> Verdict:
    return decide(mode, tool, what, [project], rules).verdict


def chosen(kind: str, tool: str, what: Intent, project: Path, rules: Rules) -> Choice:
    return next(choice for choice in choices(tool, what, [project], rules) if choice.kind == kind)


TABLE: dict[Mode, tuple[str, str, str, str, str]] = {
    # mode: read and edit inside, command, read and edit outside
    "ask": ("allow", "ask", "ask", "ask", "ask"),
    "accept_edits": ("allow", "allow", "ask", "ask", "ask"),
    "plan": ("allow", "reject", "reject", "ask", "reject"),
    "bypass": ("allow", "allow", "allow", "allow", "allow"),
}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_decides_as_it_says(mode: Mode, project: Path, rules: Rules) -> None:
    outside = project.parent / "elsewhere.txt"
    asked = (
        ("read_file", intent("read", project / "a")),
        ("edit_file", intent("edit", project / "a")),
        ("run_command", intent("execute", project, command="ls")),
        ("read_file", intent("read", outside)),
        ("edit_file", intent("edit", outside)),
    )
    assert tuple(verdict(mode, tool, what, project, rules) for tool, what in asked) == TABLE[mode]
    assert verdict(mode, "update_plan", intent("none"), project, rules) == "allow"


def test_plan_mode_tells_the_model_why(project: Path, rules: Rules) -> None:
    assert "plan mode" in decide("plan", "edit_file", intent("edit", project / "a"), [project], rules).reason


def test_one_path_outside_is_enough_to_ask(project: Path, rules: Rules) -> None:
    both = intent("read", project / "a", project.parent / "b")
    assert verdict("ask", "grep", both, project, rules) == "ask"
    assert decide("ask", "grep", both, [project, project.parent / "b"], rules).verdict == "allow"


def test_a_choice_for_once_is_forgotten(project: Path, rules: Rules) -> None:
    edit = intent("edit", project / "a")
    for kind in ("allow_once", "reject_once"):
        rules.remember(chosen(kind, "edit_file", edit, project, rules).rules)
    assert verdict("ask", "edit_file", edit, project, rules) == "ask"
    assert not rules.path.exists()


def test_an_allowed_edit_holds_for_the_project_and_not_outside(home: Path, project: Path, rules: Rules) -> None:
    rules.remember(chosen("allow_always", "edit_file", intent("edit", project / "a"), project, rules).rules)
    for known in (rules, Rules.load(home, project)):
        assert verdict("ask", "edit_file", intent("edit", project / "b"), project, known) == "allow"
        assert verdict("ask", "write_file", intent("edit", project / "b"), project, known) == "ask"
        assert verdict("ask", "edit_file", intent("edit", project.parent / "b"), project, known) == "ask"
        assert verdict("plan", "edit_file", intent("edit", project / "b"), project, known) == "reject"
    other = project.parent / "other"
    assert verdict("ask", "edit_file", intent("edit", other / "b"), other, Rules.load(home, other)) == "ask"


def test_an_allowed_command_holds_for_its_kind(project: Path, rules: Rules) -> None:
    status = intent("execute", project, command="git status --short")
    always = chosen("allow_always", "run_command", status, project, rules)
    assert always.name == "Always allow commands that begin with `git status` in this project"
    rules.remember(always.rules)
    for command, expected in {
        "git status": "allow",
        "git status -- 'a b'": "allow",
        "git push": "ask",
        "git status; rm -rf .": "ask",
        "git status && curl evil": "ask",
        "git status $(curl evil)": "ask",
        "git status > a": "ask",
        "git status\ncurl evil": "ask",
        "git statusx": "ask",
    }.items():
        assert verdict("ask", "run_command", intent("execute", project, command=command), project, rules) == expected
    elsewhere = intent("execute", project.parent, command="git status")
    assert verdict("ask", "run_command", elsewhere, project, rules) == "ask"


def test_any_other_command_is_remembered_by_its_exact_text(project: Path, rules: Rules) -> None:
    command = 'for f in *.py; do\n\techo "$f" \\\n; done # ünï 🎉 \x7f'
    always = chosen("allow_always", "run_command", intent("execute", project, command=command), project, rules)
    assert "`for f in *.py; do echo" in always.name
    rules.remember(always.rules)
    assert verdict("ask", "run_command", intent("execute", project, command=command), project, rules) == "allow"
    assert verdict("ask", "run_command", intent("execute", project, command=command + " "), project, rules) == "ask"


@pytest.mark.parametrize("mode", MODES)
def test_what_was_always_rejected_is_refused_in_every_mode(mode: Mode, project: Path, rules: Rules) -> None:
    push = intent("execute", project, command="git push --force")
    rules.remember(chosen("reject_always", "run_command", push, project, rules).rules)
    rules.remember([Rule("allow", "run_command")])
    assert verdict(mode, "run_command", push, project, rules) == "reject"


def test_a_refused_beginning_also_holds_where_more_follows(project: Path, rules: Rules) -> None:
    rules.remember([Rule("reject", "run_command", prefix="git commit")])
    more = intent("execute", project, command="git commit -m x && git push")
    assert verdict("bypass", "run_command", more, project, rules) == "reject"


def test_the_four_options_are_offered_with_what_they_remember(project: Path, rules: Rules) -> None:
    offered = choices("edit_file", intent("edit", project / "a"), [project], rules)
    assert [(choice.id, choice.kind, choice.name) for choice in offered] == [
        ("allow_once", "allow_once", "Allow once"),
        ("allow_always", "allow_always", "Always allow edit_file in this project"),
        ("reject_once", "reject_once", "Reject once"),
        ("reject_always", "reject_always", "Always reject edit_file in this project"),
    ]
    assert [choice.allows for choice in offered] == [True, True, False, False]
    assert [bool(choice.rules) for choice in offered] == [False, True, False, True]


def test_no_always_is_offered_that_would_not_hold(project: Path, rules: Rules) -> None:
    kinds = [choice.kind for choice in choices("edit_file", intent("edit", project.parent / "a"), [project], rules)]
    assert kinds == ["allow_once", "reject_once", "reject_always"]


def test_the_programs_own_folder_asks_even_inside_the_roots(tmp_path: Path) -> None:
    """A model could otherwise read keys there, or write itself a rule."""
    home = tmp_path / ".acp-adapter"
    rules = Rules.load(home, tmp_path)
    rules.remember([Rule("allow", "write_file")])
    for action in ("read", "edit"):
        for path in (home, home / "config.toml", rules.path):
            assert verdict("accept_edits", "write_file", intent(action, path), tmp_path, rules) == "ask"
    assert verdict("ask", "grep", intent("read", tmp_path, kind="search"), tmp_path, rules) == "allow"
    open_rules = Rules.load(tmp_path / "state", tmp_path)
    assert verdict("ask", "grep", intent("read", tmp_path, kind="search"), tmp_path, open_rules) == "ask"


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".git/config", ".GIT/config", "sub/.git/config"])
def test_edits_that_git_would_run_ask(project: Path, rules: Rules, name: str) -> None:
    assert verdict("accept_edits", "write_file", intent("edit", project / name), project, rules) == "ask"
    assert verdict("accept_edits", "write_file", intent("edit", project / ".gitignore"), project, rules) == "allow"


def test_the_file_is_private_and_tells_a_person_what_it_is(project: Path, rules: Rules) -> None:
    rules.remember(chosen("allow_always", "edit_file", intent("edit", project / "a"), project, rules).rules)
    text = rules.path.read_text()
    assert rules.path.name.startswith("my-project-")
    assert f'in the project "{project}"' in text
    assert text.endswith('\n[[allow]]\ntool = "edit_file"\n')
    if sys.platform != "win32":
        modes = [path.stat().st_mode & 0o777 for path in (rules.home, rules.path.parent, rules.path)]
        assert modes == [0o700, 0o700, 0o600]


def test_what_a_person_writes_there_holds_from_the_next_call_on_and_stays(project: Path, rules: Rules) -> None:
    edit = intent("edit", project / "a")
    rules.remember(chosen("allow_always", "edit_file", edit, project, rules).rules)
    rules.path.write_text('# mine\n[[reject]]\ntool = "edit_file" # never\n[[allow]]\ntool = "glob"')
    assert verdict("bypass", "edit_file", edit, project, rules) == "reject"
    rules.remember([Rule("allow", "write_file")])
    assert rules.path.read_text().startswith('# mine\n[[reject]]\ntool = "edit_file" # never\n')
    assert verdict("ask", "write_file", edit, project, rules) == "allow"
    rules.path.unlink()
    assert verdict("bypass", "edit_file", edit, project, rules) == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "[[allow",
        'allow = "all"',
        '[[allow]]\ncommand = "ls"',
        '[[allow]]\ntool = "run_command"\nprefx = "ls"',
        '[[allow]]\ntool = ""',
        "[[allow]]\ntool = 5",
        '[[permit]]\ntool = "edit_file"',
    ],
)
def test_a_broken_file_is_told_left_alone_and_everything_asks(project: Path, rules: Rules, text: str) -> None:
    rules.path.parent.mkdir(parents=True)
    rules.path.write_text(text)
    read = intent("read", project / "a")
    decision = decide("accept_edits", "read_file", read, [project], rules)
    assert decision.verdict == "ask"
    assert str(rules.path) in decision.reason
    assert "Mend or remove it" in decision.reason
    assert [choice.kind for choice in choices("read_file", read, [project], rules)] == ["allow_once", "reject_once"]
    rules.remember([Rule("allow", "read_file")])
    assert rules.path.read_text() == text
    rules.path.unlink()
    assert verdict("ask", "read_file", read, project, rules) == "allow"


def test_nothing_in_the_project_grants_a_right(home: Path, project: Path) -> None:
    rule = '[[allow]]\ntool = "run_command"\n'
    for name in (
        "permissions.toml",
        ".acp-adapter/config.toml",
        f".acp-adapter/permissions/{Rules(home, project).path.name}",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(rule)
    command = intent("execute", project, command="ls")
    assert verdict("ask", "run_command", command, project, Rules.load(home, project)) == "ask"


def test_a_choice_that_cannot_be_written_is_for_this_once(home: Path, project: Path) -> None:
    home.write_text("in the way")
    rules = Rules.load(home, project)
    rules.remember([Rule("allow", "edit_file")])
    assert home.read_text() == "in the way"


def test_processes_that_remember_at_once_lose_no_rule(home: Path, project: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from acp_adapter.agent.rules import Rule\n"
        "from acp_adapter.agent.rules_file import Rules\n"
        "rules = Rules.load(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "for n in range(25):\n"
        "    rules.remember([Rule('allow', 'run_command', f'{sys.argv[3]} {n}')])\n"
    )
    argv = [sys.executable, "-c", program, str(home), str(project)]
    running = [subprocess.Popen([*argv, str(number)]) for number in range(4)]
    assert [process.wait(60) for process in running] == [0, 0, 0, 0]
    rules = Rules.load(home, project)
    assert rules.problem is None
    for number in range(4):
        for n in range(25):
            ruling = rules.book().ruling("run_command", intent("execute", command=f"{number} {n}"))
            assert ruling is not None and ruling.verdict == "allow"
    assert rules.path.read_text().count("# What was always") == 1


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        ("git status -s", "git status"),
        ("git commit -m 'a message'", "git commit"),
        ("pytest tests -x", "pytest"),
        ("python -m pytest", "python -m pytest"),
        ("npm test", "npm test"),
        ("git push", None),
        ("git -c core.fsmonitor=evil status", None),
        ("git diff --output=/etc/x", None),
        ("git diff --outp=/etc/x", None),
        ("git diff --no-index /etc/passwd a", None),
        ("git log --ext-diff", None),
        ("GIT_DIR=x git status", None),
        ("git branch -D main", None),
        ("npm run evil", None),
        ("rm -rf build", None),
        ("python -c 1", None),
        ("git status | cat", None),
        ("git status 'unclosed", None),
        ('git commit -m "$(evil)"', None),
        ('git commit -m "`evil`"', None),
        ("git commit -m ${x}", None),
        ("git status &", None),
        ("git status %PATH%", None),
        ("", None),
    ],
)
def test_only_safe_beginnings_stand_for_others(command: str, prefix: str | None) -> None:
    words = words_of(command)
    assert (prefix_of_words(words) if words else None) == prefix


@given(st.text(max_size=20), st.sampled_from("$`;&|<>(){}\n\r\\"), st.text(max_size=20))
def test_whatever_the_shell_would_act_on_is_never_covered(before: str, active: str, after: str) -> None:
    assert not covers("git status", f"git status {before}{active}{after}")


@pytest.mark.parametrize(
    "command",
    [
        "go test -exec 'rm -rf x' ./...",
        "go build -toolexec evil",
        "cargo build --config x",
        "npm test --script-shell=evil",
        "npm test -- -x",
        "mypy --python-executable evil",
        "pytest --basetemp=/home",
        "pytest -p evil",
        "pytest ../other",
        "git diff /etc/passwd /dev/null",
        "git commit -F x",
        "git blame --contents x a",
        "git diff --output=x",
    ],
)
def test_an_option_that_runs_or_writes_elsewhere_is_never_covered_by_a_beginning(command: str) -> None:
    words = words_of(command)
    assert words is not None and prefix_of_words(words) is None


@pytest.mark.parametrize("name", ["file://[", "x" * 5000])
def test_a_path_that_no_file_system_takes_is_a_sentence_for_the_model(name: str, tmp_path: Path) -> None:
    context = Workspace("s", tmp_path, [tmp_path]).context("c1")
    with pytest.raises(ToolError, match="not a usable path"):
        resolve(name, context)
