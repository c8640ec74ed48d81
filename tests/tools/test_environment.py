"""The environment of commands."""

from __future__ import annotations

import pytest

from acp_adapter.redaction import is_secret
from acp_adapter.tools.environment import command_environment, terminal_environment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "x"),
        ("GITHUB_TOKEN", "x"),
        ("GITHUBTOKEN", "x"),
        ("aws_secret_access_key", "x"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("DB_PASSWORD", "x"),
        ("PGPASSWORD", "x"),
        ("MYSQL_PASS", "x"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "x"),
        ("SSH_PRIVATE", "x"),
        ("GH_PAT", "x"),
        ("SENTRY_DSN", "x"),
        ("DATABASE_URL", "postgres://me:hunter2@localhost/db"),
        ("PLAIN", "sk-abcdef"),
        ("PLAIN", "ghp_abcdef"),
    ],
)
def test_what_looks_like_a_secret_is_one(name: str, value: str) -> None:
    assert is_secret(name, value)
    assert name not in command_environment({name: value})
    assert terminal_environment({name: value})[name] == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin"),
        ("PWD", "/home/u"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("KEYBOARD", "de"),
        ("MONKEY_BUSINESS", "x"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("HTTPS_PROXY", "http://me:pw@proxy:3128"),
        ("URL", "https://example.org:8080/a@b"),
        ("NAME", "task-force"),
    ],
)
def test_what_commands_need_is_kept(name: str, value: str) -> None:
    assert not is_secret(name, value)
    assert command_environment({name: value})[name] == value
    assert name not in terminal_environment({name: value})


def test_later_layers_win_and_nothing_can_ask_for_a_person() -> None:
    env = command_environment({"A": "1", "EDITOR": "vim", "BASH_ENV": "/x"}, {"A": "2"})
    assert (env["A"], env["EDITOR"], env["GIT_TERMINAL_PROMPT"], env["PAGER"]) == ("2", "true", "0", "cat")
    assert "BASH_ENV" not in env
