"""`acp-adapter export`, `import` and `sessions trace` on a real ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acp_adapter.cli import output
from acp_adapter.errors import SessionNotFound
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
from tests.cli.conftest import Run
from tests.export.conftest import KEY, fill


@pytest.fixture
def db(home: Path) -> Iterator[SessionDB]:
    home.mkdir(mode=0o700)
    with closing(SessionDB.open(home / "state.db")) as opened:
        fill(opened)
        yield opened


def test_everything_is_taken_to_another_machine(
    program: Run, db: SessionDB, env: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "all.jsonl"
    done = program("export", "--all", "--no-redact", "-o", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "3 conversations exported; 0 secrets were redacted.\n"
    env["ACP_ADAPTER_HOME"] = str(tmp_path / "there")
    done = program("import", str(file), "--dry-run")
    assert "4 sessions with 17 messages would be imported." in done.stderr
    assert not (tmp_path / "there").exists()
    done = program("import", str(file))
    assert (done.returncode, "4 sessions with 17 messages imported." in done.stderr) == (0, True)
    assert program("export", "--all", "--no-redact").stdout.splitlines()[1:] == file.read_text("utf-8").splitlines()[1:]


@pytest.mark.parametrize("form", ["json", "markdown", "html", "sharegpt", "openai"])
def test_secrets_are_redacted_in_every_format_and_counted(cli: Run, db: SessionDB, form: str) -> None:
    done = cli("export", "The first one", "--format", form)
    assert done.returncode == 0
    assert KEY not in done.stdout
    assert "[redacted]" in done.stdout
    assert done.stderr == "1 conversation exported; 1 secret was redacted.\n"


def test_what_the_config_knows_is_redacted(cli: Run, db: SessionDB, env: dict[str, str]) -> None:
    env["OPENAI_API_KEY"] = "It was about roses"
    assert "It was about roses" not in cli("export", "first").stdout
    assert "It was about roses" in cli("export", "first", "--no-redact").stdout


def test_formats_that_are_passed_on_are_always_redacted(cli: Run, db: SessionDB) -> None:
    done = cli("export", "first", "--format", "html", "--no-redact")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--no-redact is for --format json only" in done.stderr


def test_a_lineage_has_branches_and_what_they_came_from(cli: Run, db: SessionDB) -> None:
    assert cli("export", "branch", "--format", "openai").stdout.count("\n") == 1
    assert cli("export", "branch", "--lineage", "--format", "openai").stdout.count("\n") == 2


@pytest.mark.parametrize("words", [(), ("first", "--all")])
def test_what_to_export_must_be_said(cli: Run, db: SessionDB, words: tuple[str, ...]) -> None:
    done = cli("export", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Which sessions?" in done.stderr


def test_an_unknown_session_leaves_no_file(cli: Run, db: SessionDB, tmp_path: Path) -> None:
    done = cli("export", "nobody", "-o", str(tmp_path / "file"))
    assert done.returncode == 1
    assert "There is no session 'nobody'" in done.stderr
    assert not (tmp_path / "file").exists()


def test_the_file_is_private_and_takes_the_place_of_an_older_one(cli: Run, db: SessionDB, tmp_path: Path) -> None:
    file = tmp_path / "out" / "page.html"
    file.parent.mkdir()
    file.write_text("old")
    assert cli("export", "first", "--format", "html", "-o", str(file)).returncode == 0
    assert file.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in file.parent.iterdir()] == ["page.html"]
    if sys.platform != "win32":
        assert file.stat().st_mode & 0o077 == 0


def test_a_failure_in_the_middle_leaves_the_older_file(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("old")
    with pytest.raises(SessionNotFound), output.opened(file) as out:
        out("half of it")
        raise SessionNotFound("gone meanwhile")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_named_and_a_device_is_not_replaced(cli: Run, db: SessionDB) -> None:
    done = cli("export", "first", "-o", "/dev/full")
    assert done.returncode == 1
    assert "/dev/full can't be written: No space left" in done.stderr
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize("place", ["", "missing/file"])
def test_a_place_that_can_not_be_written_is_named(cli: Run, db: SessionDB, tmp_path: Path, place: str) -> None:
    done = cli("export", "first", "-o", str(tmp_path / place))
    assert done.returncode == 1
    assert f"{tmp_path / place} can't be written" in done.stderr


def test_other_content_under_the_same_id_is_named(cli: Run, db: SessionDB, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    cli("export", "other", "-o", str(file))
    assert "1 sessions are here already" in cli("import", str(file)).stderr
    db.update_session("other", model="another")
    done = cli("import", str(file))
    assert done.returncode == 1
    assert "The session other is here already, with another model in sessions" in done.stderr


def test_the_trace_has_every_call_with_how_it_went(cli: Run, db: SessionDB) -> None:
    calls = [json.loads(line) for line in cli("sessions", "trace", "first", "--json").stdout.splitlines()]
    assert [(call["name"], call["status"], call["argument_bytes"], call["duration"]) for call in calls] == [
        ("read", "failed", 19, None),
        ("edit", "completed", 19, 0.5),
    ]
    table = cli("sessions", "trace", "first").stdout.splitlines()
    assert [line.split()[0] for line in table] == ["TOOL", "read", "edit"]
    assert "No tool was called" in cli("sessions", "trace", "other").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell with pipes")
def test_a_reader_that_goes_away_ends_an_export_without_a_word(
    db: SessionDB, env: dict[str, str], project: Path
) -> None:
    db.append("other", [Message("user", "x" * 1_000_000)])
    line = f"{sys.executable} -m acp_adapter export other | head -c 9"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=env, cwd=project, timeout=60)
    assert (done.stdout, done.stderr) == ('{"format"', "")
