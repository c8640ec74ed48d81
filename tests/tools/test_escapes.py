"""Ways around a rule or a person's eye that were tried: each is refused, asked for, or shown for what it is."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.agent.permissions import Mode, choices, decide
from acp_adapter.agent.rules import Rule, Rulebook, Verdict
from acp_adapter.agent.rules_file import Rules
from acp_adapter.agent.system_prompt import system_prompt
from acp_adapter.errors import ToolError
from acp_adapter.tools.port import Intent
from tests.tools.bench import Bench

ALLOWED = Rule("allow", "run_command", prefix="git status"), Rule("allow", "run_command", command="make all")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return (tmp_path / "project").resolve()


@pytest.fixture
def rules(tmp_path: Path, project: Path) -> Rules:
    rules = Rules.load(tmp_path / "home", project)
    rules.remember(ALLOWED)
    return rules


def verdict(tool: str, intent: Intent, project: Path, rules: Rules, mode: Mode = "ask") -> Verdict:
    return decide(mode, tool, intent, [project], rules).verdict


def command(text: str, project: Path) -> Intent:
    return Intent("title", "execute", "execute", [project], command=text)


def edit(path: Path) -> Intent:
    return Intent("title", "edit", "edit", [path])


TRICKS = {
    "a line after it": "git status\nrm -rf x",
    "a line after a carriage return": "git status\r\nrm -rf x",
    "a vertical tab": "git status\x0brm -rf x",
    "a line separator": "git status\u2028rm -rf x",
    "a next line": "git status\x85rm -rf x",
    "a substitution": "git status $(rm -rf x)",
    "a substitution in quotes": 'git status "$(rm -rf x)"',
    "backquotes": "git status `rm -rf x`",
    "a process substitution": "git status <(rm -rf x)",
    "a variable": "git status $IFS$X",
    "an arithmetic": "git status $((1))",
    "a history": "git status !!",
    "a comment": "git status # harmless",
    "a background": "git status & rm -rf x",
    "a redirection": "git status > ~/.bashrc",
    "an override from right to left": "git status \u202egnp.x fr- mr",
    "an isolate": "git status \u2066rm\u2069",
    "a zero-width space": "git\u200b status",
    "a zero-width joiner": "git sta\u200dtus",
    "a byte order mark": "\ufeffgit status",
    "a soft hyphen": "git sta\u00adtus",
    "a Cyrillic letter": "git st\u0430tus",
    "a Greek letter in the program": "g\u03b9t status",
    "letters of full width": "ｇｉｔ status",
    "a no-break space": "git\u00a0status",
    "an ideographic space": "git\u3000status",
    "a semicolon of full width": "git status； rm",
    "an accent that is combined": "git statu\u0301s",
    "tags that nobody sees": "git status \U000e0072\U000e006d",
    "a capital": "GIT status",
    "another program of that name": "./git status",
    "an assignment before it": "GIT_PAGER=evil git status",
    "a folder outside": "git status ../../other",
    "an absolute folder": "git status /etc",
    "a home": "git status ~/x",
    "NUL": "git status \x00 rm",
    "more than the exact text": "make all; rm -rf x",
    "the exact text with a sign that nobody sees": "make all\u200b",
    "the exact text with a no-break space": "make\u00a0all",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_command_with_a_trick_is_not_covered_by_an_allowance(trick: str, project: Path, rules: Rules) -> None:
    assert verdict("run_command", command("git status", project), project, rules) == "allow"
    assert verdict("run_command", command("make all", project), project, rules) == "allow"
    assert verdict("run_command", command(TRICKS[trick], project), project, rules) == "ask"


@pytest.mark.parametrize(
    "text",
    [
        "git \\\npush",
        "git$IFS push",
        "git${IFS}push",
        "bash -c 'git push'",
        'sh -c "cd x && git push"',
        "eval git push",
        "git >/dev/null push",
        "2>/dev/null git push",
        "git 2>&1 push",
        "< x git push",
        'a > "$(git push)"',
        "a <(git push)",
    ],
)
def test_a_refused_beginning_is_seen_behind_more_than_quotes(text: str, project: Path) -> None:
    refused = Rule("reject", "run_command", prefix="git push")
    assert Rulebook(project, [refused]).ruling("run_command", command(text, project)) == refused


@pytest.mark.parametrize("name", ["résumé.txt", "RÉSUMÉ.TXT"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_refused_file_is_refused_however_its_name_is_written(project: Path, name: str, form: Any) -> None:
    refused = Rule("reject", "read_file", path="résumé.txt")
    intent = Intent("title", "read", "read", [project / unicodedata.normalize(form, name)])
    assert Rulebook(project, [refused]).ruling("read_file", intent) == refused


@pytest.mark.parametrize(
    "name", [".git/config", ".g\u200cit/config", ".Git /config", ".git./hooks/x", "GIT~1/config", "a/.\u2060git/x"]
)
def test_what_any_file_system_takes_for_git_asks(project: Path, rules: Rules, name: str) -> None:
    assert verdict("write_file", edit(project / name), project, rules, "accept_edits") == "ask"


@pytest.mark.parametrize("name", [".acp-adapter.toml", "sub/.ACP-adapter.toml", ".acp-adapter.toml. "])
def test_a_project_s_defaults_are_not_written_without_a_question(project: Path, rules: Rules, name: str) -> None:
    """A model could otherwise choose the mode of the next session, in a folder that the user trusts."""
    assert verdict("write_file", edit(project / name), project, rules, "accept_edits") == "ask"
    assert verdict("write_file", edit(project / "x.toml"), project, rules, "accept_edits") == "allow"


@pytest.mark.parametrize("name", ["home", "HOME", "Home.", "ho\u200cme"])
def test_what_any_file_system_takes_for_this_program_s_folder_asks(tmp_path: Path, rules: Rules, name: str) -> None:
    """Where capitals do not count, another spelling would open the keys, and the rules themselves."""
    at = tmp_path.resolve() / name / "permissions" / "everywhere.toml"
    reading = Intent("title", "read", "read", [at])
    assert decide("accept_edits", "write_file", edit(at), [tmp_path.resolve()], rules).verdict == "ask"
    assert decide("accept_edits", "read_file", reading, [tmp_path.resolve()], rules).verdict == "ask"
    beside = edit(tmp_path.resolve() / "homes" / "x")
    assert decide("accept_edits", "write_file", beside, [tmp_path.resolve()], rules).verdict == "allow"


HIDDEN = "echo hi\u202e\u200b\x1b[2K"


async def test_what_would_hide_in_a_command_is_shown(bench: Bench) -> None:
    intent = await bench.intent("run_command", command=HIDDEN)
    assert intent.title == "echo hi\\u202e\\u200b\\x1b[2K" and not intent.preview
    assert intent.command == HIDDEN
    named = [choice.name for choice in choices("run_command", intent, [bench.cwd], Rules(bench.cwd / "h", bench.cwd))]
    assert all(name.isprintable() for name in named)


@pytest.mark.parametrize(
    "text", ["echo hi\nrm -rf /\u200b", "echo hi" + " " * 200 + "; rm -rf /", "echo '\t'\n\trm -rf /"]
)
async def test_a_command_that_its_title_does_not_show_is_shown_whole_before_it_is_allowed(
    bench: Bench, text: str
) -> None:
    intent = await bench.intent("run_command", command=text)
    assert intent.title.endswith(" …") and "rm" not in intent.title
    (block,) = intent.preview
    assert block["content"]["text"] == "```\n" + text.replace("\u200b", "\\u200b") + "\n```"


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://ex\u0430mple.com/", "xn--exmple-4nf.com"),
        ("https://b\u00fccher.example:8443/x", "xn--bcher-kva.example"),
        ("https://a\u3002example.com/", "a.example.com"),
    ],
)
async def test_a_host_in_other_letters_is_asked_for_as_it_is_reached(bench: Bench, url: str, domain: str) -> None:
    intent = await bench.intent("fetch_url", url=url)
    assert intent.domain == domain and domain in intent.title and intent.title.isascii()


@pytest.mark.parametrize("url", ["https://\u24d4xample.com/", "https://ex\u200bample.com/", "https://-\u00fc/"])
async def test_a_host_that_can_be_none_is_refused(bench: Bench, url: str) -> None:
    with pytest.raises(ToolError, match="url must"):
        await bench.intent("fetch_url", url=url)


def test_an_agents_md_that_leads_out_of_the_project_is_none(tmp_path: Path, project: Path) -> None:
    (tmp_path / "secret").write_text("the key is zebra")
    (project / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert "zebra" not in system_prompt(project)
    (project / "AGENTS.md").unlink()
    (project / "CLAUDE.md").write_text("rhyme")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    assert "rhyme" in system_prompt(project)


def test_an_agents_md_of_the_same_repository_is_taken(project: Path) -> None:
    (project / ".git").mkdir()
    (project / "AGENTS.md").write_text("rhyme")
    (project / "part").mkdir()
    (project / "part" / "AGENTS.md").symlink_to("../AGENTS.md")
    assert "rhyme" in system_prompt(project / "part")
