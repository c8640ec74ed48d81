"""A ledger with one conversation of everything: tools, a diff, an image, a summary, a branch, secrets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, ToolCall, Usage
from tests.ledger.conftest import hermes_path as hermes_path

PIXEL = "data:image/png;base64,\
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
KEY = "sk-proj-4fJ9kQ2mX7vB1nT8cW5z"
DIFF = {"type": "diff", "path": "/w/rose.py", "oldText": "a = 1\nb = <2>\n", "newText": "a = 1\nb = <3>\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def db(home: Path) -> Iterator[SessionDB]:
    with closing(SessionDB.open(home / "state.db")) as opened:
        yield opened


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[SessionDB]:
    with closing(SessionDB.open(tmp_path / "empty" / "state.db")) as opened:
        yield opened


def fill(db: SessionDB) -> None:
    """Sessions `first` (compacted into `second`), `branch` of it, and `other`, which has nothing to do with them."""
    for name in ("first", "other"):
        db.create_session(
            name, model="m", model_config={"mode": "ask"}, cwd="/w", title=f"The {name} one", system_prompt="Be kind."
        )
    db.append("first", [Message("user", [{"type": "text", "text": f"My key is {KEY}"}, picture()], id="ask")])
    db.append("first", [_asks("read", "edit")], Usage(10, 5, cost=0.25))
    db.append(
        "other", [Message("user", "<script>alert('x')</script> [x](javascript:alert(1))"), Message("assistant", "ö")]
    )
    db.append("first", [_result("edit", details={"title": "Edit rose.py", "content": [DIFF], "duration": 0.5})])
    db.append("first", [_result("read", "```\n<b>bold</b>\n```", details={"status": "failed"})])
    db.append(
        "first", [Message("assistant", "Done, **rose**.", reasoning="I <think>", finish_reason="stop", id="told")]
    )
    db.branch("first", "branch", upto_message_id="told")
    db.append("first", [Message("user", "take this back", id="oops")])
    db.undo("first", "oops")
    db.continue_compressed("first", "second", Message("user", "It was about roses."), db.messages("first")[-1:])
    db.append("second", [Message("user", "海象 again"), Message("assistant", "Here.", finish_reason="stop")])
    db.save_draft("other", Message("assistant", "half a"))


def picture() -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": PIXEL}}


def _asks(*names: str) -> Message:
    calls = [ToolCall(f"c-{name}", name, f'{{"path": "{name}.py"}}').raw() for name in names]
    return Message("assistant", "", tool_calls=calls, finish_reason="tool_calls")


def _result(name: str, text: str = "ok", **values: object) -> Message:
    return Message("tool", text, tool_call_id=f"c-{name}", tool_name=name, **values)  # type: ignore[arg-type]
