"""Images, audio and blobs are in the file once, come back byte for byte, are never searched, and go for good."""

from __future__ import annotations

import base64
import functools
import json
import random
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.ledger import attachments
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.pruning import Prune
from acp_adapter.transcript import Message, Part, new_id
from tests.ledger.conftest import answer, change, new_session, result, rows, texts, user


@functools.cache
def data(seed: int, size: int = 3000) -> str:
    return base64.b64encode(random.Random(seed).randbytes(size)).decode()


def text(words: str) -> Part:
    return {"type": "text", "text": words}


def image(seed: int, size: int = 3000) -> Part:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data(seed, size)}", "detail": "high"}}


def audio(seed: int) -> Part:
    return {"type": "input_audio", "input_audio": {"data": data(seed), "format": "wav"}}


def blob(seed: int, uri: str) -> Part:
    return {"type": "resource", "resource": {"uri": uri, "blob": data(seed), "mimeType": "application/pdf"}}


def with_parts(*parts: Part, **values: Any) -> Message:
    return Message(role="user", content=list(parts), **values)


def on_disk(path: Path, raw: bytes) -> list[str]:
    """The files beside the ledger that hold a piece of the data, as bytes or as base64."""
    pieces = [raw[600:640], base64.b64encode(raw)[900:960]]
    files = [file for file in path.parent.iterdir() if file.is_file()]
    return [file.name for file in files if any(piece in file.read_bytes() for piece in pieces)]


# As it was written

_odd = st.sampled_from(
    [
        data(1),
        data(2, 1023),
        data(3)[:-1],
        data(4) + "\n",
        data(5).replace("A", "-"),
        data(6, 4) + "=" * 2000,
        "data:image/png;base64," + data(7),
        "data:text/plain;charset=utf-8;base64," + data(7),
        "data:image/png," + data(7),
        "data:;base64,",
        "x" * 5000,
        "[attachment: image/png, 2 KB; sha256 " + "0" * 64 + "]",
    ]
)
_keys = st.sampled_from(["type", "text", "url", "image_url", "data", "blob", "uri", "name", "resource", "caf\u00e9"])
_parts = st.lists(
    st.dictionaries(
        _keys, st.recursive(_odd, lambda inner: st.lists(inner) | st.dictionaries(_keys, inner)), max_size=4
    )
    | _odd,
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(_parts, st.none() | _parts, st.none() | st.dictionaries(_keys, _parts, min_size=1, max_size=2))
def test_whatever_parts_hold_reads_back_byte_for_byte(db: SessionDB, content: Any, sent: Any, details: Any) -> None:
    message = Message(role="user", content=content, api_content=sent, details=details)
    written = json.dumps([content, sent, details])
    [row] = db.append(new_session(db, new_id()), [message])
    read = db.replay(db.list_sessions(limit=1).sessions[0].id)
    assert read == [evolve(message, row=row)]
    assert json.dumps([read[0].content, read[0].api_content, read[0].details]) == written
    assert json.dumps([content, sent, details]) == written


def test_base64_that_others_write_in_another_way_comes_back_in_their_way(db: SessionDB, path: Path) -> None:
    """Of the last character but the padding four bits say nothing (RFC 4648, section 3.5)."""
    odd = data(1, 3001)[:-3] + "B=="
    assert base64.b64encode(base64.b64decode(odd)).decode() != odd
    message = with_parts({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{odd}"}})
    db.append(new_session(db, "s"), [message])
    assert db.conversation("s")[0].content == message.content


def test_small_data_stays_in_the_message(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [with_parts(image(1, size=200))])
    assert rows(path, "SELECT count(*) FROM attachments") == [(0,)]
    assert "data:image/png;base64," in rows(path, "SELECT content FROM messages")[0][0]


def test_a_text_that_looks_like_what_stands_for_an_attachment_stays_a_text(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [with_parts(image(1))])
    [(digest,)] = rows(path, "SELECT hash FROM attachments")
    quoted = with_parts(text(f"[attachment: image/png, 2 KB; sha256 {digest}]"))
    db.append("s", [quoted])
    assert db.conversation("s")[1].content == quoted.content


# Once


def test_the_same_data_is_in_the_file_once_however_often_it_is_copied(db: SessionDB, path: Path) -> None:
    picture = with_parts(text("look"), image(1), api_content=[text("look"), image(1)])
    shown = result("c1", details={"content": [{"type": "image", "data": data(1), "mimeType": "image/png"}]})
    db.append(new_session(db, "s"), [picture, shown])
    db.branch("s", "b")
    db.continue_compressed("s", "s-2", user("summary"), db.conversation("s"))
    db.append("s", [with_parts(image(1))])
    assert rows(path, "SELECT count(*), sum(length(bytes)) FROM attachments") == [(1, 3000)]
    assert db.conversation("b")[0].content == picture.content
    assert db.conversation("s")[1].api_content == picture.api_content
    assert db.conversation("s")[2].details == shown.details
    assert db.replay("s")[0].content == picture.content
    assert db.recover("s") == []


def test_data_in_many_messages_is_in_memory_once(db: SessionDB) -> None:
    new_session(db, "s")
    size = 400_000
    db.append("s", [with_parts(text(str(number)), image(1, size)) for number in range(20)])
    tracemalloc.start()
    read = db.conversation("s")
    held, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len({id(message.content[1]["image_url"]["url"]) for message in read if message.content}) == 1  # type: ignore[index]
    assert held < 2.5 * size
    assert most < 7 * size


# Not searched


def test_search_sees_the_words_of_a_message_and_nothing_of_its_data(db: SessionDB, path: Path) -> None:
    parts = [text("zebra 海象の写真"), image(1), blob(2, "file:///walrus.pdf"), audio(3)]
    message = with_parts(*parts, details={"content": [{"type": "image", "data": data(4)}]})
    db.append(new_session(db, "s"), [message])
    for words in ("zebra", "海象", "象", "walrus.pdf", '"zebra 海象の写真"'):
        assert [hit.message_id for hit in db.search(words)] == [message.id], words
    [(digest, *_), *_] = rows(path, "SELECT hash FROM attachments")
    for noise in ("attachment", "sha256", "png", "KB", digest, digest[:10], data(1)[:12], "image"):
        assert db.search(noise) == [], noise
    assert "attachment" not in db.search("zebra")[0].snippet
    db.rebuild_index()
    assert db.search("attachment") == []
    assert [hit.message_id for hit in db.search("walrus.pdf")] == [message.id]
    assert Care(db).verify() == []


def test_another_program_finds_a_text_in_the_place_of_the_picture(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [with_parts(text("look"), image(1), blob(2, "file:///walrus.pdf"))])
    [(content,)] = rows(path, "SELECT content FROM messages")
    hashes = [attachments.of_parts([part])[1][0].hash for part in (image(1), blob(2, ""))]
    assert json.loads(content.removeprefix("\x00json:")) == [
        text("look"),
        text(f"[attachment: image/png, 2 KB; sha256 {hashes[0]}]"),
        text(f"file:///walrus.pdf [attachment: application/pdf, 2 KB; sha256 {hashes[1]}]"),
    ]


def test_a_picture_survives_that_another_program_writes_the_conversation_anew(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [with_parts(text("look"), image(1)), answer("a cat")])
    found = rows(path, "SELECT role, content, timestamp FROM messages ORDER BY id")
    sql = db.connection.sql
    sql.execute("DELETE FROM messages")
    for role, content, timestamp in found:
        sql.execute(
            "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('s', ?, ?, ?)",
            (role, content, timestamp),
        )
    read = db.conversation("s")
    assert read[0].content == [
        text("look"),
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data(1)}"}},
    ]
    assert texts(read)[1] == "a cat"
    assert Care(db).verify() == []


# Gone


@pytest.mark.parametrize("way", ["delete", "prune"])
def test_deletion_leaves_no_byte_of_the_data(db: SessionDB, path: Path, way: str) -> None:
    raw = base64.b64decode(data(1, 50_000))
    db.append(new_session(db, "kept"), [user("something else")])
    db.append(new_session(db, "s"), [with_parts(text("look"), image(1, 50_000), blob(2, "file:///secret-name.pdf"))])
    assert on_disk(path, raw)
    assert b"secret-name" in path.read_bytes() + Path(f"{path}-wal").read_bytes()
    if way == "delete":
        db.delete_session("s")
    else:
        change(path, "UPDATE session_activity SET last_active = 1 WHERE session_id = 's'")
        Care(db).prune(Prune(older_than=1000))
    assert on_disk(path, raw) == []
    assert [file.name for file in path.parent.iterdir() if b"secret-name" in file.read_bytes()] == []
    assert rows(path, "SELECT count(*) FROM attachments") == [(0,)]


def test_data_stays_as_long_as_one_message_holds_it(db: SessionDB) -> None:
    picture = with_parts(image(1))
    db.append(new_session(db, "s"), [picture])
    db.branch("s", "b")
    db.delete_session("s")
    assert db.conversation("b")[0].content == picture.content


def test_a_trimmed_message_lets_go_of_what_the_model_was_sent(db: SessionDB, path: Path) -> None:
    message = user("link", api_content=[text("the picture:"), image(1)])
    db.append(new_session(db, "s"), [message])
    db.trim("s", {message.id: "[picture]"})
    assert db.conversation("s")[0].api_content == "[picture]"
    assert rows(path, "SELECT count(*) FROM attachments") == [(0,)]


def test_care_finds_and_drops_what_another_program_left_behind(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [with_parts(image(1)), with_parts(image(2))])
    change(path, "PRAGMA foreign_keys = ON", "DELETE FROM messages WHERE id = 1")
    assert Care(db).verify() == ["1 attachments belong to nothing."]
    change(path, "DELETE FROM messages WHERE id = 2")
    assert any("message_attachments" in problem for problem in Care(db).verify())
    Care(db).mend()
    assert Care(db).verify() == []
    assert Care(db).stats().attachments == 0


def test_a_damaged_picture_is_found_and_a_missing_one_breaks_nothing(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [with_parts(text("look"), image(1))])
    change(path, "UPDATE attachments SET bytes = x'00'")
    assert ["is damaged" in problem for problem in Care(db).verify()] == [True]
    change(path, "DELETE FROM attachments")
    assert db.conversation("s")[0].text().startswith("look[attachment: image/png")


# The rest of the ledger


def test_backup_vacuum_and_reading_only_keep_the_picture(db: SessionDB, path: Path, tmp_path: Path) -> None:
    picture = with_parts(text("look"), image(1))
    db.append(new_session(db, "s"), [picture])
    Care(db).vacuum()
    copy = Care(db).backup(tmp_path / "copy.db")
    with closing(SessionDB.open(copy, read_only=True)) as other:
        assert other.conversation("s")[0].content == picture.content
        assert Care(other).stats().attachment_bytes == 3000


def test_salvage_keeps_the_pictures_that_are_whole(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [with_parts(text("one"), image(1)), with_parts(text("two"), image(2, 50_000))])
    db.close()
    raw = path.read_bytes()
    at = raw.index(base64.b64decode(data(2, 50_000))[20_000:20_100])
    with path.open("r+b") as file:
        file.seek(0)
        file.write(b"\0" * 100)
        file.seek(at)
        file.write(b"?" * 100)
    with closing(SessionDB.open(path)) as mended:
        one, two = mended.conversation("s")
        assert one.content == [text("one"), image(1)]
        assert two.text().startswith("two[attachment: image/png")
        assert Care(mended).verify() == []


def test_what_stood_inline_before_stays_readable(db: SessionDB, path: Path) -> None:
    parts = [text("old"), image(1)]
    new_session(db, "s")
    db.connection.sql.execute(
        "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('s', 'user', ?, 1.0)",
        ("\x00json:" + json.dumps(parts),),
    )
    assert db.conversation("s")[0].content == parts
    db.branch("s", "b")
    assert db.conversation("b")[0].content == parts
    assert rows(path, "SELECT count(*) FROM attachments") == [(1,)]
