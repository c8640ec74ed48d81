"""`acp-adapter search`: literal words, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def stored(home: Path, project: Path) -> Iterator[None]:
    home.mkdir(mode=0o700)
    with closing(SessionDB.open(home / "state.db")) as db:
        db.create_session("s1", model="m", model_config={}, cwd=str(project), title="The runner")
        said = [Message("user", "split gateway/run.py, it's C++"), Message("assistant", "日本語の履歴 \x1b[31mok")]
        db.append("s1", said)
    yield


def test_a_hit_names_its_session_and_shows_the_passage(cli: Run) -> None:
    done = cli("search", "gateway/run.py")
    assert done.returncode == 0
    assert done.stdout == "s1  now  user  The runner\n    split gateway/run.py, it's C++\n"


def test_a_hit_as_json_has_what_opens_it(cli: Run) -> None:
    hit = json.loads(cli("search", "--json", "it's", "C++").stdout)
    assert hit["session_id"] == "s1"
    assert hit["role"] == "user"
    assert hit["compacted"] is False
    assert {"message_id", "title", "source", "timestamp", "snippet"} <= hit.keys()


def test_stored_escape_sequences_do_not_reach_the_terminal(cli: Run) -> None:
    assert "\x1b" not in cli("search", "履歴").stdout


def test_nothing_found_is_said_and_is_exit_code_one(cli: Run) -> None:
    done = cli("search", "zebra")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "Nothing was found.\n")


def test_filters_narrow_the_search(cli: Run, tmp_path: Path) -> None:
    assert cli("search", "--role", "assistant", "gateway").returncode == 1
    assert cli("search", "--cwd", str(tmp_path), "gateway").returncode == 1
    assert cli("search", "--session", "The runner", "--since", "1h", "gateway").returncode == 0
