"""What was deleted is gone from the disk, not only from view."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
from tests.ledger.conftest import answer, new_session, user

SECRET = "quetzalcoatlus northropi 翼龙化石"


def on_disk(path: Path, text: str) -> list[str]:
    """The files beside the ledger that hold the text, whole or one of its words."""
    words = [text.encode(), *(word.encode() for word in text.split())]
    files = [file for file in path.parent.iterdir() if file.is_file()]
    return [file.name for file in files if any(word in file.read_bytes() for word in words)]


@pytest.mark.parametrize("others", [0, 120])
def test_the_text_of_a_deleted_session_is_gone_from_every_file(db: SessionDB, path: Path, others: int) -> None:
    new_session(db, "kept")
    for number in range(others):
        db.append("kept", [user(f"something else entirely {number}")])
    new_session(db, "s", title="quetzalcoatlus", system_prompt=f"about {SECRET}", model_config={"k": SECRET})
    db.append("s", [user(SECRET)])
    for length in range(1, 60):
        db.save_draft("s", Message(role="assistant", id="draft", content=f"{SECRET} " * length))
    db.append("s", [answer(f"{SECRET} " * 60, id="draft", details={"title": SECRET}, reasoning=SECRET)])
    assert on_disk(path, SECRET)
    db.delete_session("s")
    assert on_disk(path, SECRET) == []
    for number in range(others):
        db.append("kept", [user(f"and more {number}")])
    assert on_disk(path, SECRET) == []


def test_the_log_is_emptied_as_soon_as_a_reader_is_done_with_it(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user(SECRET)])
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM messages").fetchone() == (1,)
    done = threading.Timer(0.3, lambda: reader.execute("COMMIT"))
    done.start()
    db.delete_session("s")
    done.join()
    reader.close()
    assert on_disk(path, SECRET) == []


def test_it_stays_where_a_branch_still_has_it(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user(SECRET)])
    db.branch("s", "b")
    db.delete_session("s")
    assert on_disk(path, SECRET)
    db.delete_session("b")
    assert on_disk(path, SECRET) == []
