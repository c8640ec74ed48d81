"""Several processes write one ledger: nobody loses or doubles a row, waits long, or fails in silence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.errors import LedgerUnavailable
from acp_adapter.ledger import connection
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from tests.ledger.conftest import new_session, rows, texts, user
from tests.ledger.processes import Writer, running


def test_four_processes_store_everything_once_and_in_order(path: Path) -> None:
    SessionDB.open(path).close()
    writers = [Writer("append", path, f"w{number}", 60) for number in range(4)]
    assert [writer.end() for writer in writers] == [""] * 4
    db = SessionDB.open(path)
    for number in range(4):
        assert texts(db.conversation(f"w{number}")) == [f"w{number} {at}" for at in range(60)]
        assert db.session(f"w{number}").message_count == 60
    assert Care(db).verify() == []
    db.close()


def test_writers_go_on_while_another_program_keeps_taking_the_lock(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    with running("hold", path, 0.4) as holder:
        holder.wait_for_lines(1)
        for number in range(4):
            db.append("s", [user(f"{number}")])
    assert texts(db.conversation("s")) == ["0", "1", "2", "3"]


def test_reading_waits_for_no_writer(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user("zebra")])
    with running("hold", path, 30) as holder:
        holder.wait_for_lines(1)
        begun = time.monotonic()
        assert texts(db.conversation("s")) == ["zebra"]
        assert len(db.search("zebra")) == len(db.list_sessions().sessions) == 1
        assert time.monotonic() - begun < 2


def test_a_lock_that_is_never_given_back_is_an_error_that_says_so(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_session(db, "s")
    monkeypatch.setattr(connection, "WAIT_SECONDS", 0.3)
    with running("hold", path, 30) as holder:
        holder.wait_for_lines(1)
        with pytest.raises(LedgerUnavailable, match="another process has held it locked for too long"):
            db.append("s", [user("too early")])
    db.append("s", [user("later")])
    assert texts(db.conversation("s")) == ["later"]


FULL_DISK = """
import resource, sys
from pathlib import Path
from acp_adapter.errors import LedgerUnavailable
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
db = SessionDB.open(Path(sys.argv[1]))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
stored = []
try:
    for number in range(10_000):
        message = Message(role="user", content=f"{number} " + "x" * 2000)
        db.append("s", [message])
        stored.append(message.id)
        if number == 5:
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
except LedgerUnavailable as full:
    print(full.message)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
message = Message(role="user", content="room again")
db.append("s", [message])
print(*stored, message.id)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a bound on the size of files")
def test_a_file_that_can_not_grow_is_an_error_and_loses_nothing(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    db.close()
    limit = 400_000
    said = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path), str(limit)], capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stderr
    error, stored = said.stdout.splitlines()
    assert "full" in error
    db = SessionDB.open(path)
    assert [message.id for message in db.conversation("s")] == stored.split()
    assert Care(db).verify() == []
    db.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_an_error_that_says_so(small_disk: Path) -> None:
    path = small_disk / "state.db"
    db = SessionDB.open(path)
    new_session(db, "s")
    stored: list[str] = []
    with pytest.raises(LedgerUnavailable, match="full"):
        for number in range(1000):
            message = user(f"{number} " + "x" * 2000)
            db.append("s", [message])
            stored.append(message.id)
    assert [message.id for message in db.conversation("s")] == stored
    with pytest.raises(LedgerUnavailable, match="full"):
        db.append("s", [user("x" * 100_000)])
    db.close()
    again = SessionDB.open(path)
    assert [message.id for message in again.conversation("s")] == stored
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    again.close()


def test_a_disk_without_room_for_a_ledger_is_an_error_at_opening(small_disk: Path) -> None:
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(b"x" * 2_000_000)
    with pytest.raises(LedgerUnavailable, match="full"):
        SessionDB.open(small_disk / "state.db")
