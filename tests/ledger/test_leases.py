"""A session that one process runs is not run by another, and a dead holder holds nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from acp_adapter.errors import SessionNotFound, TurnInProgress
from acp_adapter.ledger import leases
from acp_adapter.ledger.db import SessionDB
from tests.ledger.conftest import change, new_session, rows, user
from tests.ledger.processes import running


@pytest.fixture
def other(db: SessionDB, path: Path) -> SessionDB:
    del db
    return SessionDB.open(path, program="other-editor")


def test_the_second_is_told_who_holds_it(db: SessionDB, other: SessionDB) -> None:
    new_session(db, "s")
    db.acquire("s")
    with pytest.raises(TurnInProgress, match=r"being run by acp-adapter \(process \d+ on .*, since \d\d:"):
        other.acquire("s")
    held = other.holder("s")
    assert held is not None and held.program == "acp-adapter"
    db.release("s")
    assert other.holder("s") is None
    assert other.acquire("s").program == "other-editor"
    other.close()


def test_a_holder_may_take_it_again_and_nobody_else_gives_it_back(db: SessionDB, other: SessionDB) -> None:
    new_session(db, "s")
    first = db.acquire("s")
    again = db.renew("s")
    assert (again.since, again.heartbeat >= first.heartbeat) == (first.since, True)
    other.release("s")
    assert db.holder("s") == again
    other.close()


def test_the_whole_chain_is_leased(db: SessionDB, other: SessionDB) -> None:
    new_session(db, "s")
    db.acquire("s")
    db.continue_compressed("s", "s-2", user("summary"), [])
    with pytest.raises(TurnInProgress):
        other.acquire("s-2")
    db.release("s-2")
    assert other.holder("s") is None
    other.close()


def test_closing_gives_everything_back(db: SessionDB, other: SessionDB) -> None:
    new_session(db, "s")
    db.acquire("s")
    db.close()
    assert other.acquire("s")
    other.close()


def test_a_killed_holder_is_taken_over(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    with running("lease", path, "s") as holder:
        holder.wait_for_lines(1)
        with pytest.raises(TurnInProgress, match="a-busy-editor"):
            db.acquire("s")
        holder.kill()
    assert db.acquire("s").program == "acp-adapter"


def test_another_process_with_the_dead_ones_number_is_not_the_holder(
    db: SessionDB, other: SessionDB, path: Path
) -> None:
    new_session(db, "s")
    other.acquire("s")
    change(path, "UPDATE session_leases SET pid_started = 'long ago'")
    assert db.acquire("s").program == "acp-adapter"
    other.close()


def test_a_silent_holder_elsewhere_is_taken_over(db: SessionDB, other: SessionDB, path: Path) -> None:
    new_session(db, "s")
    other.acquire("s")
    change(path, "UPDATE session_leases SET pid_space = 'another machine', pid = 1")
    with pytest.raises(TurnInProgress):
        db.acquire("s")
    change(path, f"UPDATE session_leases SET heartbeat = {time.time() - leases.EXPIRES_AFTER - 1}")
    assert db.acquire("s")
    with pytest.raises(TurnInProgress):
        other.renew("s")
    other.close()


def test_a_clock_that_was_set_back_takes_no_lease_from_the_living(db: SessionDB, other: SessionDB, path: Path) -> None:
    new_session(db, "s")
    other.acquire("s")
    change(path, f"UPDATE session_leases SET heartbeat = {time.time() + 86_400}")
    with pytest.raises(TurnInProgress):
        db.acquire("s")
    other.close()


def test_a_machine_that_slept_takes_no_lease_from_the_living(db: SessionDB, other: SessionDB, path: Path) -> None:
    new_session(db, "s")
    other.acquire("s")
    change(path, f"UPDATE session_leases SET heartbeat = {time.time() - leases.EXPIRES_AFTER - 60}")
    with pytest.raises(TurnInProgress):
        db.acquire("s")
    change(path, f"UPDATE session_leases SET heartbeat = {time.time() - leases.HUNG_AFTER - 60}")
    assert db.acquire("s")
    other.close()


def test_an_unknown_session_can_not_be_leased(db: SessionDB, path: Path) -> None:
    with pytest.raises(SessionNotFound):
        db.acquire("nope")
    assert db.holder("nope") is None
    assert rows(path, "SELECT count(*) FROM session_leases") == [(0,)]
