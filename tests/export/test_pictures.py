"""Pictures that the ledger keeps apart are in every export, and come back with an import."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.errors import InvalidParams
from acp_adapter.export import html, markdown, trajectories
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.exchange.importing import import_file
from acp_adapter.transcript import Message
from tests.export.conftest import fill
from tests.export.test_formats import written
from tests.export.test_round_trip import contents, exported
from tests.ledger.conftest import change, rows
from tests.ledger.test_attachments import data, image, text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "sessions.jsonl"


def fill_with_pictures(db: SessionDB) -> None:
    """Sessions in which `first`, its branch and `other` hold the same picture, and `first` another one."""
    fill(db)
    shown = {"title": "Shot", "content": [{"type": "image", "data": data(1), "mimeType": "image/png"}]}
    db.append("first", [Message("user", [text("look"), image(1), image(2)], id="look", details=shown)])
    db.append("other", [Message("user", [text("the same"), image(1)])])
    db.branch("first", "branch-2")


def test_each_picture_is_in_the_file_once_and_comes_back(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill_with_pictures(db)
    lines = exported(db, file).read_text("utf-8").split("\n")
    assert len([line for line in lines if line.startswith('{"table":"attachments"')]) == 2
    import_file(empty, file)
    assert contents(empty) == contents(db)
    assert import_file(empty, file).skipped == 5
    assert Care(empty).verify() == []


def test_a_ledger_that_has_the_picture_already_shares_it(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill_with_pictures(db)
    empty.create_session("mine", model="m", model_config={}, cwd="/w")
    mine = Message("user", [image(1)])
    empty.append("mine", [mine])
    import_file(empty, exported(db, file))
    assert rows(empty.connection.path, "SELECT count(*) FROM attachments") == [(2,)]
    for name in ("first", "branch-2", "other"):
        assert [(m.content, m.details) for m in empty.replay(name)] == [(m.content, m.details) for m in db.replay(name)]
    assert empty.conversation("mine")[0].content == mine.content
    assert Care(empty).verify() == []


def test_one_session_alone_brings_its_pictures_along(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill_with_pictures(db)
    import_file(empty, exported(db, file, "other"))
    assert empty.replay("other")[-1].content == [text("the same"), image(1)]
    assert rows(empty.connection.path, "SELECT count(*) FROM attachments") == [(1,)]


@pytest.mark.parametrize("without", [True, False])
def test_a_picture_that_is_missing_or_another_is_refused(
    db: SessionDB, empty: SessionDB, file: Path, without: bool
) -> None:
    fill_with_pictures(db)
    lines = exported(db, file, "other").read_text("utf-8").splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith('{"table":"attachments"'))
    lines[at] = "" if without else lines[at].replace(data(1)[:8], data(9)[:8])
    count = len([line for line in lines if line]) - 2
    lines[-1] = f'{{"end":{{"sessions":1,"rows":{count}}}}}\n'
    file.write_text("".join(lines), "utf-8")
    with pytest.raises(InvalidParams, match="FOREIGN KEY" if without else "does not belong"):
        import_file(empty, file)
    assert contents(empty)["sessions"] == []


def test_another_picture_under_the_same_message_is_noticed(db: SessionDB, empty: SessionDB, file: Path) -> None:
    fill_with_pictures(db)
    import_file(empty, exported(db, file))
    other = hashlib.sha256(b"x").hexdigest()
    change(
        empty.connection.path,
        f"INSERT INTO attachments VALUES ('{other}', x'78')",
        f"UPDATE message_attachments SET hash = '{other}' WHERE message_id = "
        "(SELECT max(id) FROM messages WHERE session_id = 'other')",
    )
    with pytest.raises(InvalidParams, match="with another hash in message_attachments"):
        import_file(empty, file)


@pytest.mark.parametrize("write", [html.write, markdown.write, trajectories.write_openai, trajectories.write_sharegpt])
def test_people_and_training_get_the_picture(db: SessionDB, write: Any) -> None:
    fill_with_pictures(db)
    assert f"data:image/png;base64,{data(1)}" in written(write, db, "other")
