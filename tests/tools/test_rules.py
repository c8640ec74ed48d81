"""Rules that a person writes: tools, paths, commands and domains; allow, ask, reject; for a project or everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.agent.command_line import may_begin_with, plain_commands
from acp_adapter.agent.permissions import MODES, Mode, choices, decide
from acp_adapter.agent.rules import Rule, Rulebook, Verdict
from acp_adapter.agent.rules_file import Rules, parsed
from acp_adapter.tools.port import Intent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return (tmp_path / "project").resolve()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def written(home: Path, name: str, text: str) -> None:
    (home / "permissions").mkdir(parents=True, exist_ok=True)
    (home / "permissions" / name).write_text(text, "utf-8")


def everywhere(home: Path, project: Path, text: str) -> Rules:
    written(home, "everywhere.toml", text)
    return Rules.load(home, project)


def command(text: str, project: Path) -> Intent:
    return Intent("title", "execute", "execute", [project], command=text)


def reading(path: Path) -> Intent:
    return Intent("title", "read", "read", [path])


def editing(path: Path) -> Intent:
    return Intent("title", "edit", "edit", [path])


def fetching(domain: str) -> Intent:
    return Intent("title", "fetch", "fetch", domain=domain)


def verdict(tool: str, what: Intent, project: Path, rules: Rules, mode: Mode = "ask") -> Verdict:
    return decide(mode, tool, what, [project], rules).verdict


def test_a_path_rule_is_a_pattern_as_in_gitignore(project: Path, home: Path) -> None:
    rules = everywhere(
        home,
        project,
        """
        [[reject]]
        tool = "*"
        path = ".env*"

        [[allow]]
        tool = "edit_file"
        path = "docs/**/*.md"

        [[ask]]
        tool = "read_file"
        path = "/customers/"
        """,
    )
    assert verdict("read_file", reading(project / ".env"), project, rules) == "reject"
    assert verdict("read_file", reading(project / "deep" / "down" / ".env.local"), project, rules) == "reject"
    assert verdict("edit_file", editing(project / ".ENV"), project, rules, "bypass") == "reject"
    assert verdict("edit_file", editing(project / "docs" / "a" / "b.md"), project, rules) == "allow"
    assert verdict("edit_file", editing(project / "docs" / "a" / "b.py"), project, rules) == "ask"
    assert verdict("write_file", editing(project / "docs" / "a.md"), project, rules) == "ask"
    assert verdict("read_file", reading(project / "README.md"), project, rules) == "allow"


@pytest.mark.parametrize("pattern", ["letters", "letters/", "l*/", "/letters/", "/letters"])
def test_a_folder_that_is_refused_is_refused_itself_and_with_all_below(project: Path, pattern: str) -> None:
    (project / "letters").mkdir()
    book = Rulebook(project, [Rule("reject", "*", path=pattern)])
    for path in (project / "letters", project / "letters" / "a"):
        assert book.ruling("list_directory", reading(path))
    assert not book.ruling("list_directory", reading(project))


def test_a_path_outside_the_project_is_named_absolutely(project: Path, home: Path) -> None:
    rules = everywhere(home, project, f'[[reject]]\ntool = "read_file"\npath = "{project.parent.as_posix()}/keys/"\n')
    assert verdict("read_file", reading(project.parent / "keys" / "a"), project, rules, "bypass") == "reject"
    assert verdict("read_file", reading(project.parent / "other" / "a"), project, rules) == "ask"


@pytest.mark.parametrize("named", ["keys", "keys/", "keys/*.pem", "keys/a.pem"])
def test_a_folder_outside_that_is_a_link_is_meant_where_it_leads(project: Path, home: Path, named: str) -> None:
    (project.parent / "real").mkdir()
    (project.parent / "keys").symlink_to("real")
    rules = everywhere(home, project, f'[[reject]]\ntool = "*"\npath = "{project.parent.as_posix()}/{named}"\n')
    assert verdict("read_file", reading(project.parent / "real" / "a.pem"), project, rules, "bypass") == "reject"
    assert verdict("read_file", reading(project.parent / "really" / "a.pem"), project, rules, "bypass") == "allow"


def test_every_path_of_a_call_must_be_allowed_and_one_that_is_refused_is_enough(project: Path) -> None:
    book = Rulebook(project, [Rule("allow", "edit_file", path="a/"), Rule("reject", "edit_file", path="secret")])
    both = Intent("title", "edit", "edit", [project / "a" / "x", project / "b" / "x"])
    assert book.ruling("edit_file", both) is None
    refused = Intent("title", "edit", "edit", [project / "a" / "x", project / "secret"])
    assert book.ruling("edit_file", refused) == Rule("reject", "edit_file", path="secret")


def test_a_tool_is_named_by_a_pattern_too(project: Path, home: Path) -> None:
    rules = everywhere(home, project, '[[allow]]\ntool = "git__*"\n\n[[reject]]\ntool = "git__git_reset"\n')
    call = Intent("git: status", "other", "execute")
    assert verdict("git__git_status", call, project, rules) == "allow"
    assert verdict("git__git_reset", call, project, rules) == "reject"
    assert verdict("time__now", call, project, rules) == "ask"


def test_domains_are_meant_exactly_or_with_all_below(project: Path, home: Path) -> None:
    rules = everywhere(
        home,
        project,
        """
        [[allow]]
        tool = "fetch_url"
        domain = "docs.python.org"
        [[allow]]
        tool = "fetch_url"
        domain = "*.example.com"
        [[deny]]
        tool = "fetch_url"
        domain = "ads.example.com"
        """,
    )
    expected: dict[str, Verdict] = {
        "docs.python.org": "allow",
        "DOCS.python.org.": "allow",
        "evil-docs.python.org": "ask",
        "docs.python.org.evil.net": "ask",
        "a.example.com": "allow",
        "example.com": "ask",
        "notexample.com": "ask",
        "ads.example.com": "reject",
    }
    assert {host: verdict("fetch_url", fetching(host), project, rules) for host in expected} == expected
    assert verdict("fetch_url", fetching("docs.python.org"), project, rules, "plan") == "allow"


@pytest.mark.parametrize("mode", MODES)
def test_a_rule_that_asks_holds_in_every_mode_but_bypass(mode: Mode, project: Path, home: Path) -> None:
    rules = everywhere(home, project, '[[ask]]\ntool = "read_file"\npath = "letters/"\n')
    found = verdict("read_file", reading(project / "letters" / "a"), project, rules, mode)
    assert found == ("allow" if mode == "bypass" else "ask")


def test_a_question_outweighs_an_allowance_and_is_not_allowed_away(project: Path, home: Path) -> None:
    rules = everywhere(home, project, '[[ask]]\ntool = "run_command"\nprefix = "git commit"\n')
    rules.remember([Rule("allow", "run_command", prefix="git commit")])
    asked = command("git commit -m x", project)
    assert verdict("run_command", asked, project, rules) == "ask"
    assert "allow_always" not in {choice.kind for choice in choices("run_command", asked, [project], rules)}


def test_each_part_of_a_pipeline_or_list_needs_its_own_allowance(project: Path, home: Path) -> None:
    rules = everywhere(home, project, "")
    rules.remember([Rule("allow", "run_command", prefix="git log"), Rule("allow", "run_command", prefix="pytest")])
    expected: dict[str, Verdict] = {
        "git log -n 3 && pytest -q": "allow",
        "pytest -q\ngit log": "allow",
        "git log | sort": "ask",
        "git log; rm -rf .": "ask",
        "git log > file": "ask",
        "git log & pytest": "ask",
        "git log | tee ~/.bashrc": "ask",
    }
    found = {text: verdict("run_command", command(text, project), project, rules) for text in expected}
    assert found == expected


def test_an_allowance_for_a_list_names_each_part(project: Path, home: Path) -> None:
    rules = everywhere(home, project, "")
    both = command("ruff check . && pytest -q", project)
    always = next(c for c in choices("run_command", both, [project], rules) if c.kind == "allow_always")
    assert always.name == (
        "Always allow commands that begin with `ruff check` and commands that begin with `pytest` in this project"
    )
    rules.remember(always.rules)
    assert verdict("run_command", both, project, rules) == "allow"
    assert verdict("run_command", command("pytest -x", project), project, rules) == "allow"
    refused = next(c for c in choices("run_command", both, [project], rules) if c.kind == "reject_always")
    assert refused.rules == (Rule("reject", "run_command", command="ruff check . && pytest -q"),)


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "cd x && git push --force",
        "true; git push",
        "echo `git push`",
        "echo $(git push)",
        "(git push)",
        "{ git push; }",
        "sudo git push",
        "env A=1 git push",
        "A=1 B=2 git push",
        "/usr/bin/git push",
        "'git' push",
        'g"i"t push',
        "\\git push",
        "nohup git push &",
        "xargs -n1 git push",
        "if true; then git push; fi",
        "x\ngit push",
        "git  \t push",
        "git -C elsewhere push",
        "git --no-pager -c a=b push --force",
        "timeout 5 git push",
        "/bin/sudo -u me /usr/bin/git push",
        "nice -n 10 git push",
        "env -u A B=1 git push",
        "if git push; then true; fi",
        "! git push",
        "while git push; do true; done",
        "find . -name x -exec git push ';'",
        "trap 'git push' EXIT",
        "{git,push}",
        "git$@ push",
        "gi${x}t push",
        "git ${x:-push}",
        "gi$()t push",
        "GIT push",
        "git.exe push",
        "taskset 1 git push",
        "chroot / git push",
        "ksh -c 'git push'",
    ],
)
def test_a_refused_beginning_is_seen_behind_what_is_put_before_it(text: str, project: Path) -> None:
    book = Rulebook(project, [Rule("reject", "run_command", prefix="git push"), Rule("allow", "run_command")])
    assert book.ruling("run_command", command(text, project)) == Rule("reject", "run_command", prefix="git push")


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        ('git commit -m "x y"', "git commit -m 'x y'"),
        ("/usr/bin/git push", "git push"),
        ("Git push", "git push"),
        ("sudo git push", "sudo git push"),
    ],
)
def test_a_refusal_holds_however_its_beginning_is_written(prefix: str, text: str, project: Path) -> None:
    refused = Rule("reject", "run_command", prefix=prefix)
    assert Rulebook(project, [refused]).ruling("run_command", command(text, project)) == refused


@pytest.mark.parametrize("text", ["ruff check @args.txt", "git diff D:/x", "git diff d:/x"])
def test_an_allowed_beginning_covers_no_file_of_options_and_no_other_drive(text: str, project: Path) -> None:
    book = Rulebook(project, [Rule("allow", "run_command", prefix=prefix) for prefix in ("ruff check", "git diff")])
    assert book.ruling("run_command", command("ruff check a.py", project))
    assert book.ruling("run_command", command(text, project)) is None


@pytest.mark.parametrize(
    "text",
    [
        "git pull",
        "git pushx",
        "echo git; push",
        "grep 'git pull' x",
        "git stash push",
        "git log -- push",
        "echo sudo git push",
    ],
)
def test_other_commands_are_not_taken_for_a_refused_one(text: str) -> None:
    assert not may_begin_with(text, ["git", "push"])


@pytest.mark.parametrize(
    "text",
    [
        *("a > b", "a < b", "a &", "a $(b)", "a `b`", "a $b", "(a)", "{ a; }", "! a", "a*", "a?", "a 'b", "a \\\nb"),
        *("a\x00b", "a\u2028b", "a\u00a0b", "a\rb", "a \u202eb", "~/a", "a # b", "a |& b", "", " ; "),
    ],
)
def test_what_is_more_than_words_is_not_plain(text: str) -> None:
    assert plain_commands(text) is None


@given(st.text(alphabet="ab '\";|&\n", max_size=20))
def test_plain_commands_hold_no_sign_that_a_shell_would_act_on(text: str) -> None:
    for words in plain_commands(text) or []:
        assert words
        assert not set("".join(words)) & set(";|&\n")


def test_the_projects_file_and_the_one_for_everywhere_hold_together(project: Path, home: Path) -> None:
    rules = everywhere(home, project, '[[reject]]\ntool = "run_command"\nprefix = "git push"\n')
    rules.remember([Rule("allow", "run_command", prefix="git status")])
    assert verdict("run_command", command("git push", project), project, rules) == "reject"
    assert verdict("run_command", command("git status", project), project, rules) == "allow"
    other = project.parent / "other"
    elsewhere = Rules.load(home, other)
    assert verdict("run_command", command("git push", other), other, elsewhere) == "reject"
    assert verdict("run_command", command("git status", other), other, elsewhere) == "ask"


def test_a_broken_file_for_everywhere_makes_everything_ask(project: Path, home: Path) -> None:
    rules = everywhere(home, project, '[[allow]]\ntool = "edit_file"\ncolour = "red"\n')
    assert rules.problem is not None and "everywhere.toml can't be used" in rules.problem
    assert verdict("read_file", reading(project / "a"), project, rules) == "ask"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[permit]]\ntool = "x"\n', "not permit"),
        ('[[allow]]\nprefix = "x"\n', "needs a tool"),
        ('[[allow]]\ntool = "x"\nprefix = "a"\npath = "b"\n', "may have one of"),
        ('[[allow]]\ntool = "x"\nprefix = 3\n', "must be texts"),
        ('[[deny]]\ntool = " "\n', "meets no call"),
        ('[[deny]]\ntool = "run_command"\nprefix = " \\"\\" "\n', "meets no call"),
        ('[[deny]]\ntool = "read_file"\npath = "!.env"\n', "meets no call"),
        ('[[deny]]\ntool = "read_file"\npath = "../keys"\n', "without `..`"),
        ('[[deny]]\ntool = "fetch_url"\ndomain = "https://example.com"\n', "without https"),
        ('[[deny]]\ntool = "fetch_url"\ndomain = "example.com:80"\n', "port"),
        ('[[deny]]\ntool = "fetch_url"\ndomain = "b\u00fccher.example"\n', "xn--"),
        ('[allow]\ntool = "x"\n', r"must be written as \[\[allow\]\]"),
    ],
)
def test_a_rule_that_makes_no_sense_is_named(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parsed(text, "everywhere.toml")


def test_a_search_hides_what_reading_is_refused(project: Path) -> None:
    book = Rulebook(project, [Rule("reject", "read_file", path="*.pem"), Rule("reject", "edit_file", path="*.lock")])
    hidden = book.hiding("grep", asked=False)
    assert hidden(project / "a" / "key.pem") and not hidden(project / "a.lock") and not hidden(project / "a.py")


def test_the_record_of_a_decision_names_the_rule_and_its_file(project: Path, home: Path) -> None:
    rules = everywhere(home, project, '[[reject]]\ntool = "run_command"\nprefix = "git push"\n')
    decision = decide("ask", "run_command", command("git push", project), [project], rules)
    assert decision.rule is not None
    assert decision.rule.cited() == "reject commands that begin with `git push` (everywhere.toml)"
