"""`acp-adapter db`: care of a real ledger file."""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
from tests.cli.conftest import Run


@pytest.fixture
def db(home: Path) -> Iterator[SessionDB]:
    home.mkdir(mode=0o700)
    with closing(SessionDB.open(home / "state.db")) as opened:
        yield opened


@pytest.fixture
def old_and_new(db: SessionDB, project: Path, home: Path) -> None:
    """Two conversations, one of them unused for a hundred days."""
    for name in ("old", "new"):
        db.create_session(name, model="m", model_config={}, cwd=str(project), title=f"The {name} one")
        db.append(name, [Message("user", f"zebra {name}")])
    with closing(sqlite3.connect(home / "state.db")) as sql, sql:
        before = time.time() - 100 * 86400
        sql.execute("UPDATE session_activity SET last_active = ? WHERE session_id = 'old'", (before,))


def titles(cli: Run) -> list[str]:
    return [json.loads(line)["title"] for line in cli("sessions", "--json").stdout.splitlines()]


def test_a_sound_ledger_is_said_to_be_sound(cli: Run, db: SessionDB) -> None:
    done = cli("db", "verify")
    assert (done.returncode, done.stdout) == (0, "✔ The ledger is sound.\n")


def test_what_is_missing_from_the_list_is_found_and_mended(cli: Run, old_and_new: None, home: Path) -> None:
    with closing(sqlite3.connect(home / "state.db")) as sql, sql:
        sql.execute("DELETE FROM session_activity WHERE session_id = 'old'")
    found = cli("db", "verify")
    assert found.returncode == 1
    assert "missing from the list" in found.stdout
    assert cli("db", "verify", "--mend").returncode == 0
    assert sorted(titles(cli)) == ["The new one", "The old one"]


def test_a_backup_is_whole_and_overwrites_nothing(cli: Run, old_and_new: None, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert cli("db", "backup", str(copy)).returncode == 0
    with closing(SessionDB.open(copy, read_only=True)) as db:
        assert [message.text() for message in db.messages("old")] == ["zebra old"]
    again = cli("db", "backup", str(copy))
    assert again.returncode == 1
    assert "not overwritten" in again.stderr


def test_a_dry_run_deletes_nothing(cli: Run, old_and_new: None) -> None:
    done = cli("db", "prune", "--older-than", "30d", "--dry-run")
    assert "The old one" in done.stdout
    assert "The new one" not in done.stdout
    assert titles(cli) == ["The new one", "The old one"]


def test_pruning_deletes_what_the_dry_run_named(cli: Run, old_and_new: None) -> None:
    assert cli("db", "prune", "--older-than", "30d", "--yes").returncode == 0
    assert titles(cli) == ["The new one"]


def test_what_is_pinned_stays_until_it_is_unpinned(cli: Run, old_and_new: None) -> None:
    cli("db", "pin", "The old one")
    assert "Nothing is to go" in cli("db", "prune", "--older-than", "30d", "--yes").stdout
    cli("db", "unpin", "old")
    cli("db", "prune", "--older-than", "30d", "--yes")
    assert titles(cli) == ["The new one"]


def test_pruning_without_a_terminal_needs_a_clear_yes(cli: Run, old_and_new: None) -> None:
    done = cli("db", "prune", "--older-than", "30d")
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert len(titles(cli)) == 2


def test_pruning_needs_to_know_what_may_go(cli: Run, old_and_new: None) -> None:
    assert "--older-than" in cli("db", "prune", "--yes").stderr


def test_vacuum_gives_space_back(cli: Run, db: SessionDB, project: Path, home: Path) -> None:
    db.create_session("big", model="m", model_config={}, cwd=str(project))
    db.append("big", [Message("user", "x" * 2_000_000)])
    db.delete_session("big")
    db.close()
    before = (home / "state.db").stat().st_size
    assert cli("db", "vacuum").returncode == 0
    assert (home / "state.db").stat().st_size < before / 2


def test_stats_count_what_is_there(cli: Run, old_and_new: None) -> None:
    stats = json.loads(cli("db", "stats", "--json").stdout)
    assert (stats["sessions"], stats["messages"]) == (2, 2)
    assert "acp 2" in cli("db", "stats").stdout


def test_without_a_ledger_nothing_is_made(cli: Run, home: Path) -> None:
    done = cli("db", "stats")
    assert done.returncode == 1
    assert "no ledger yet" in done.stderr
    assert not home.exists()


if sys.platform != "win32":
    from tests.cli.pty_session import PtySession

    @pytest.mark.parametrize(("answer", "left"), [("yes", 1), ("y", 2), ("", 2)])
    def test_a_person_must_type_yes(
        cli: Run, old_and_new: None, env: dict[str, str], project: Path, answer: str, left: int
    ) -> None:
        command = [sys.executable, "-m", "acp_adapter", "db", "prune", "--older-than", "30d"]
        with PtySession(command, env, project) as screen:
            screen.expect("Type yes:")
            screen.send(f"{answer}\n")
            screen.wait()
        assert len(titles(cli)) == left
