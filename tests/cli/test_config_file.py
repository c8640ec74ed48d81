"""Changing config.toml without losing a line of it."""

from __future__ import annotations

import stat
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.cli.config_file import Setting, change, with_setting
from acp_adapter.errors import InvalidParams

MODEL = Setting("", "model", "openai:gpt-5")

OWN = """\
# my settings
mode = "plan"  # careful
model = "local:small"

[providers.openai]
# the office proxy
base_url = "http://127.0.0.1:8080/v1"

[providers.other]
api_key = "k"
"""


def test_a_value_is_replaced_and_every_other_line_stays() -> None:
    assert with_setting(OWN, MODEL) == OWN.replace('"local:small"', '"openai:gpt-5"')


def test_a_new_top_level_value_goes_before_the_tables() -> None:
    changed = with_setting(OWN, Setting("", "ledger", "/x/state.db"))
    assert tomllib.loads(changed)["ledger"] == "/x/state.db"
    assert [line for line in OWN.split("\n") if line not in changed.split("\n")] == []


def test_a_value_in_an_existing_table_goes_there() -> None:
    changed = with_setting(OWN, Setting("providers.openai", "api_key", "new"))
    assert tomllib.loads(changed)["providers"] == {
        "openai": {"base_url": "http://127.0.0.1:8080/v1", "api_key": "new"},
        "other": {"api_key": "k"},
    }


def test_a_new_table_goes_to_the_end() -> None:
    changed = with_setting(OWN, Setting("providers.third", "base_url", "http://127.0.0.1:1"))
    assert changed.startswith(OWN.rstrip())
    assert tomllib.loads(changed)["providers"]["third"] == {"base_url": "http://127.0.0.1:1"}


def test_a_line_inside_a_long_string_is_not_taken_for_a_setting() -> None:
    text = 'note = """\nmodel = "x"\n"""\n'
    with pytest.raises(InvalidParams, match="'model' can't be set"):
        with_setting(text, MODEL)


def test_a_new_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    assert change(path, [MODEL]) is None
    assert tomllib.loads(path.read_text()) == {"model": "openai:gpt-5"}
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.toml"]


def test_a_file_that_is_no_toml_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"model = \xff\n")
    aside = change(path, [MODEL])
    assert aside is not None
    assert aside.read_bytes() == b"model = \xff\n"
    assert tomllib.loads(path.read_text()) == {"model": "openai:gpt-5"}


def test_a_linked_file_stays_linked(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "config.toml"
    real.write_text("# mine\n")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    change(link, [MODEL])
    assert link.is_symlink()
    assert real.read_text() == '# mine\nmodel = "openai:gpt-5"\n'


@given(st.text(st.characters(blacklist_categories=["Cs"])))
def test_any_value_comes_back_as_it_was(value: str) -> None:
    changed = with_setting(OWN, Setting("", "model", value))
    assert tomllib.loads(changed) == {**tomllib.loads(OWN), "model": value}
