"""`acp-adapter doctor`: each thing that is wrong is named, with what to do."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_adapter.ledger.db import SessionDB
from tests.cli.conftest import Run

Script = Callable[..., Path]


def findings(cli: Run) -> dict[str, dict[str, str]]:
    return {line["name"]: line for line in map(json.loads, cli("doctor", "--json").stdout.splitlines())}


def test_a_machine_that_is_set_up_is_all_well(cli: Run, script: Script) -> None:
    script({"text": "Hello."})
    done = cli("doctor")
    assert done.returncode == 0
    assert "✗" not in done.stdout
    assert "answers initialize (ACP 1)" in done.stdout


def test_a_missing_model_fails_and_names_setup(cli: Run) -> None:
    assert cli("doctor").returncode == 1
    found = findings(cli)["model"]
    assert found["verdict"] == "fail"
    assert "acp-adapter setup" in found["advice"]


def test_looking_changes_nothing(cli: Run, home: Path) -> None:
    cli("doctor")
    assert not home.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_files_open_to_others_are_a_warning(cli: Run, script: Script, home: Path) -> None:
    script({"text": "Hello."})
    home.mkdir()
    home.chmod(0o755)
    (home / "config.toml").write_text('mode = "plan"\n')
    (home / "config.toml").chmod(0o644)
    found = findings(cli)
    assert (found["home"]["verdict"], found["home"]["advice"]) == ("warn", f"Run: chmod 700 {home}")
    assert (found["config"]["verdict"], found["config"]["advice"]) == ("warn", f"Run: chmod 600 {home / 'config.toml'}")


def test_a_broken_config_fails_and_is_named(cli: Run, script: Script, home: Path) -> None:
    script({"text": "Hello."})
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("mode = [")
    found = findings(cli)["config"]
    assert found["verdict"] == "fail"
    assert str(home / "config.toml") in found["detail"]


def test_a_damaged_ledger_fails(cli: Run, script: Script, home: Path) -> None:
    script({"text": "Hello."})
    home.mkdir(mode=0o700)
    (home / "state.db").write_bytes(b"not a database at all" * 200)
    found = findings(cli)["ledger"]
    assert found["verdict"] == "fail"
    assert str(home / "state.db") in found["detail"]


def test_a_newer_ledger_is_a_warning_and_stays_as_it_is(cli: Run, script: Script, home: Path) -> None:
    script({"text": "Hello."})
    home.mkdir(mode=0o700)
    SessionDB.open(home / "state.db").close()
    with sqlite3.connect(home / "state.db") as sql:
        sql.execute("UPDATE schema_version SET version = 9999")
    sql.close()
    found = findings(cli)["ledger"]
    assert found["verdict"] == "warn"
    assert "9999" in found["detail"]
