"""No secret leaves the ledger in an export, and nothing else is taken out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_adapter.config import Config
from acp_adapter.providers.secrets import redactor_of
from acp_adapter.redaction import MARK, Redactor

LOOKING_LIKE_KEYS = [
    "sk-ant-api03-abcDEF0123456789_-xyz",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "github_pat_11ABCDEFG0123456789_abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIza" + "Sy0123456789abcdefghijklmnopqrstuvw"[:35],
    "gsk_0123456789abcdefghijklmn",
    "xoxb-123456789012-abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF-123",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
]


def redacted(text: str, *secrets: str) -> str:
    return Redactor(secrets).text(text)


@pytest.mark.parametrize("key", LOOKING_LIKE_KEYS)
@pytest.mark.parametrize("around", ["{}", "key={} and", 'x="{}"', "line\n{}\nline", "({})"])
def test_what_looks_like_a_key_goes_also_in_json_and_in_json_within_json(key: str, around: str) -> None:
    text = around.format(key)
    for _ in range(3):
        assert key.split("\n")[0] not in redacted(text)
        assert MARK in redacted(text)
        text = json.dumps({"a": text})
        json.loads(redacted(text))


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn, task-0123456789abcdefghij, sk-toggleable__content-label",
        "ghp_ is a prefix",
        "http://localhost:8080/a@b",
        "git@github.com:a/b.git",
        "a commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "550e8400-e29b-41d4-a716-446655440000",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    redactor = Redactor(["none", ""])
    assert (redactor.text(text), redactor.count) == (text, 0)


def test_the_password_of_an_address_goes_and_the_rest_of_it_stays() -> None:
    assert redacted("postgres://me:hunter2@db/x") == f"postgres://me:{MARK}@db/x"


def test_a_known_secret_goes_in_every_form_in_which_it_is_stored() -> None:
    secret = 'pä"ss\\wörd'
    text = secret
    for form in (
        text,
        json.dumps(text),
        json.dumps(text, ensure_ascii=False),
        json.dumps(json.dumps(text)),
        json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False),
    ):
        redactor = Redactor([secret])
        assert MARK in redactor.text(form)
        assert redactor.count == 1


def test_the_secrets_of_the_config_are_known(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        """
        [providers.one]
        base_url = "http://me:password-one@127.0.0.1/v1"
        api_key = "written-in-config"
        [providers.two]
        base_url = "http://127.0.0.1/v1"
        api_key_env = "MY_OWN_VARIABLE"
        headers = { "X-Api-Key" = "of-a-header", "Authorization" = "Bearer of-a-bearer", Referer = "http://a.example" }
        """
    )
    env = {
        "ACP_ADAPTER_HOME": str(tmp_path),
        "MY_OWN_VARIABLE": "of-my-variable",
        "OPENAI_API_KEY": "of-a-service",
        "HOME": "/home/someone",
    }
    redactor = redactor_of(Config.load(env))
    secrets = ["written-in-config", "of-my-variable", "of-a-service", "password-one", "of-a-header", "of-a-bearer"]
    assert redactor.text(" ".join(secrets)) == " ".join([MARK] * len(secrets))
    assert redactor.count == len(secrets)
    assert redactor.text("http://a.example /home/someone") == "http://a.example /home/someone"
