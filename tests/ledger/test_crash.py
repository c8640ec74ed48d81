"""Killed at any moment: what was acknowledged is there, once, in order, and the file is sound."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.pairing import paired
from tests.ledger.conftest import rows
from tests.ledger.processes import Writer
from tests.ledger.writer import picture


def crash(path: Path, rounds: int, writers: int = 4) -> None:
    """In each round four processes start on the ledger, and are killed one after the other while all write."""
    seed = random.Random(7)
    for round_number in range(rounds):
        started = {
            f"r{round_number}w{number}": Writer("turns", path, f"r{round_number}w{number}") for number in range(writers)
        }
        for writer in started.values():
            writer.wait_for_lines(2)
        for session in seed.sample(sorted(started), len(started)):
            time.sleep(seed.uniform(0, 0.05))
            started[session].kill()
        assert_sound(path, {session: acknowledged(writer) for session, writer in started.items()})


def acknowledged(writer: Writer) -> list[str]:
    """What the ledger said was stored. The last line may be cut off by the kill."""
    whole = [line.split() for line in writer.lines[1:]]
    return [message_id for _, *ids in whole for message_id in ids if len(message_id) == 36]


def assert_sound(path: Path, stored: dict[str, list[str]]) -> None:
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []
    by_day = rows(path, "SELECT sum(tokens), sum(cost) FROM daily_usage")
    assert by_day == rows(
        path, "SELECT sum(input_tokens + output_tokens), sum(estimated_cost_usd) FROM session_model_usage"
    )
    db = SessionDB.open(path)
    for session, ids in stored.items():
        kept = [message.id for message in db.replay(session)]
        assert [message_id for message_id in kept if message_id in set(ids)] == ids
        assert len(kept) == len(set(kept))
        node = db.current(session)
        assert node.message_count == len(db.messages(node.id))
        for told in (message for message in db.replay(session) if isinstance(message.content, list)):
            assert told.content == [picture(int(str(told.tool_call_id)[1:])), picture(-1)]
        db.recover(session)
        whole = db.conversation(session)
        assert whole == [m for m in paired(whole) if m.row is not None]
        assert db.recover(session) == []
    db.close()


def test_killed_writers_lose_and_double_nothing(path: Path) -> None:
    SessionDB.open(path).close()
    crash(path, rounds=4)
    db = SessionDB.open(path)
    assert Care(db).verify() == []
    db.close()


@pytest.mark.heavy
def test_hundreds_of_killed_writers_lose_and_double_nothing(path: Path) -> None:
    SessionDB.open(path).close()
    crash(path, rounds=75)
    db = SessionDB.open(path)
    assert Care(db).verify() == []
    db.close()
