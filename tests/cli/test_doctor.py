"""`acp-adapter doctor`: each thing that is wrong is named, with what to do."""

from __future__ import annotations

import json
import shlex
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_adapter.cli import panel_checks
from acp_adapter.cli.editors import agent_command
from acp_adapter.ledger.db import SessionDB
from tests.cli.conftest import Run

Script = Callable[..., Path]

Zed = Callable[..., Path]


@pytest.fixture(autouse=True)
def bare(env: dict[str, str], tmp_path: Path) -> None:
    """No editor that the machine has is found."""
    env["PATH"] = str(tmp_path / "bin")


@pytest.fixture
def zed(home: Path, script: Script, env: dict[str, str]) -> Zed:
    """`zed(command)`: the settings of a Zed that starts this command, with the model that the test's shell has."""

    def write(*command: str, **more: str) -> Path:
        script({"text": "Hello."})
        path = home.parent / ".config" / "zed" / "settings.json"
        path.parent.mkdir(parents=True)
        known = {name: env[name] for name in ("ACP_ADAPTER_HOME", "ACP_ADAPTER_MODEL", "ACP_ADAPTER_DISCOVER")}
        entry = {"type": "custom", "command": command[0], "args": command[1:], "env": {**known, **more}}
        path.write_text("// mine\n" + json.dumps({"agent_servers": {"acp-adapter": entry}}))
        return path

    return write


def program(path: Path, *lines: str) -> str:
    """A command of the user's own, as a shell script."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


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


def test_an_editor_that_is_connected_is_all_well_and_looking_changes_nothing(cli: Run, home: Path, zed: Zed) -> None:
    settings = zed(*agent_command())
    home.mkdir(mode=0o700)
    (home / "config.toml").touch(0o600)
    before = settings.read_bytes()
    found = findings(cli)
    assert [found[name]["verdict"] for name in ("zed", "zed start")] == ["ok", "ok"]
    assert agent_command()[0] in found["zed"]["detail"]
    assert not {"zed model", "zed log"} & found.keys()
    assert [path.name for path in home.iterdir()] == ["config.toml"] and settings.read_bytes() == before


def test_an_editor_that_is_not_connected_is_named_with_the_way(cli: Run, script: Script, home: Path) -> None:
    script({"text": "Hello."})
    (home.parent / ".config" / "zed").mkdir(parents=True)
    done = cli("doctor")
    assert done.returncode == 0
    assert "acp-adapter setup --editor zed" in done.stdout


def test_without_an_editor_it_says_so(cli: Run, script: Script) -> None:
    script({"text": "Hello."})
    assert findings(cli)["editors"]["detail"].startswith("none found")


def test_settings_that_are_broken_fail_and_say_where(cli: Run, zed: Zed) -> None:
    settings = zed(*agent_command())
    settings.write_text("{\n  oops\n}")
    found = findings(cli)["zed"]
    assert found["verdict"] == "fail"
    assert str(settings) in found["detail"] and "line 2, column 3" in found["detail"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and paths")
def test_a_command_that_can_not_be_started_fails_and_says_why(cli: Run, tmp_path: Path, zed: Zed) -> None:
    plain = tmp_path / "plain"
    plain.touch(0o644)
    settings = zed("x")
    for command, why in (("/gone/acp-adapter", "not there"), (str(plain), "executed"), ("acp-adapter-x", "PATH")):
        settings.write_text(json.dumps({"agent_servers": {"acp-adapter": {"command": command}}}))
        found = findings(cli)["zed"]
        assert (found["verdict"], found["advice"]) == ("fail", "Run: acp-adapter setup --editor zed")
        assert command in found["detail"] and why in found["detail"]


@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")
def test_what_a_command_of_ones_own_does_wrong_is_told(
    cli: Run, tmp_path: Path, zed: Zed, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = shlex.join(agent_command())
    settings = zed(program(tmp_path / "own", "echo Welcome", f"exec {agent}"))
    found = findings(cli)["zed start"]
    assert found["verdict"] == "warn" and "Welcome" in found["detail"] and "stderr" in found["advice"]
    program(tmp_path / "own", "echo no luck today >&2", "exit 3")
    found = findings(cli)["zed start"]
    assert found["verdict"] == "fail" and "no luck today" in found["detail"]
    monkeypatch.setattr(panel_checks, "PATIENCE", 0.5)
    program(tmp_path / "own", "exec cat >/dev/null")
    found = findings(cli)["zed start"]
    assert found["verdict"] == "fail" and "initialize" in found["detail"]
    assert cli("doctor").returncode == 1
    assert settings.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="editors on Windows see the user's variables")
def test_a_model_that_only_the_shell_knows_is_told(cli: Run, zed: Zed, env: dict[str, str], tmp_path: Path) -> None:
    settings = zed(*agent_command(), ACP_ADAPTER_HOME=str(tmp_path / "other"))
    entry = json.loads(settings.read_text().split("\n", 1)[1])
    del entry["agent_servers"]["acp-adapter"]["env"]["ACP_ADAPTER_MODEL"]
    settings.write_text(json.dumps(entry))
    found = findings(cli)
    assert found["model"]["verdict"] == "ok" and found["zed start"]["verdict"] == "ok"
    assert found["zed model"]["verdict"] == "warn" and "config.toml" in found["zed model"]["advice"]


def test_the_last_warnings_of_the_log_are_shown(cli: Run, zed: Zed, tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    line = "2026-01-01 10:00:00,000 {} acp_adapter: {}\n"
    log.write_text(line.format("W", "the \x1b[31mdisk is full") + line.format("I", "started") + "a traceback\n")
    zed(*agent_command(), ACP_ADAPTER_LOG_FILE=str(log))
    found = findings(cli)["zed log"]
    assert found["verdict"] == "warn"
    assert found["detail"] == "2026-01-01 10:00:00,000 W acp_adapter: the disk is full"
    log.unlink()
    assert "zed log" not in findings(cli)
    assert not log.exists(), "the trial writes no log"


def test_our_extension_that_is_missing_in_vs_code_is_told(cli: Run, script: Script, home: Path) -> None:
    script({"text": "Hello."})
    (home.parent / ".vscode" / "extensions").mkdir(parents=True)
    (home.parent / ".vscode-server" / "data" / "Machine").mkdir(parents=True)
    assert "extension is not installed" in findings(cli)["vscode"]["detail"]
    (home.parent / ".vscode" / "extensions" / "acp-adapter.acp-adapter-0.1.0").mkdir()
    assert "not connected" in findings(cli)["vscode"]["detail"]
