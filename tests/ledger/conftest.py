"""A real ledger in a fresh folder, and messages to put into it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, ToolCall

SHARED = Path(__file__).parents[2].parent / "shared" / "hermes"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state.db"


@pytest.fixture
def db(path: Path) -> Iterator[SessionDB]:
    ledger = SessionDB.open(path)
    yield ledger
    ledger.close()


@pytest.fixture
def hermes_path(tmp_path: Path) -> Path:
    """A copy of a ledger that another program of this family wrote."""
    if not (SHARED / "state.db").is_file():
        pytest.skip("the other program's ledger is not on this machine")
    return Path(shutil.copy(SHARED / "state.db", tmp_path / "state.db"))


@pytest.fixture
def hermes_expected() -> dict[str, Any]:
    if not (SHARED / "state.db.expected.json").is_file():
        pytest.skip("the other program's ledger is not on this machine")
    expected: dict[str, Any] = json.loads((SHARED / "state.db.expected.json").read_text("utf-8"))
    return expected


def new_session(db: SessionDB, session_id: str, **values: Any) -> str:
    db.create_session(session_id, **{"model": "m-1", "model_config": {}, "cwd": "/work/project", **values})
    return session_id


def user(text: str, **values: Any) -> Message:
    return Message(role="user", content=text, **values)


def answer(text: str, **values: Any) -> Message:
    return Message(role="assistant", content=text, **{"finish_reason": "stop", **values})


def asks(*call_ids: str, name: str = "run_command") -> Message:
    calls = [ToolCall(call_id, name, '{"command": "ls"}').raw() for call_id in call_ids]
    return Message(role="assistant", content="", tool_calls=calls, finish_reason="tool_calls")


def result(call_id: str, text: str = "done", **values: Any) -> Message:
    return Message(role="tool", content=text, tool_call_id=call_id, tool_name="run_command", **values)


def texts(messages: list[Message]) -> list[str]:
    return [message.text() for message in messages]


def rows(path: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """What another program sees in the file."""
    sql = sqlite3.connect(path)
    try:
        return sql.execute(query, values).fetchall()
    finally:
        sql.close()


def change(path: Path, *statements: str) -> None:
    """What another program does to the file."""
    sql = sqlite3.connect(path)
    try:
        for statement in statements:
            sql.execute(statement)
        sql.commit()
    finally:
        sql.close()
