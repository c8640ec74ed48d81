"""The other program's own class reads and writes what we wrote. Runs where that program is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, Usage
from tests.ledger.conftest import answer, asks, new_session, result, rows, texts, user

pytestmark = pytest.mark.filterwarnings("ignore")
hermes_state = pytest.importorskip("hermes_state")


def filled(path: Path) -> None:
    db = SessionDB.open(path)
    spoken = [user("find 日本 zebra"), asks("c1"), result("c1", "out"), answer("done", reasoning="r")]
    new_session(db, "s", title="Plan")
    db.append("s", spoken, Usage(10, 5, cost=0.1))
    db.append("s", [Message(role="user", content=[{"type": "text", "text": "parts"}])])
    db.branch("s", "b", upto_message_id=spoken[0].id)
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.append("s", [user("went on")])
    db.close()


def test_it_reads_our_file_and_goes_on_in_it(path: Path) -> None:
    filled(path)
    triggers = rows(path, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
    theirs: Any = hermes_state.SessionDB(path)
    assert theirs.get_messages_as_conversation("s")[0]["content"] == "find 日本 zebra"
    assert theirs.get_compression_tip("s") == "s-2"
    assert {row["id"] for row in theirs.list_sessions_rich()} == {"s-2", "b"}
    assert {hit["session_id"] for hit in theirs.search_messages("zebra")} == {"s", "b"}
    theirs.append_message("s-2", "user", "from the other program, 海象")
    theirs.create_session("theirs", "cli", model="m")
    theirs.append_message("theirs", "user", "walrus")
    theirs.close()
    assert rows(path, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name") == triggers
    db = SessionDB.open(path)
    assert texts(db.conversation("s")) == ["summary", "went on", "from the other program, 海象"]
    assert [entry.id for entry in db.list_sessions().sessions] == ["theirs", "s", "b"]
    assert [hit.session_id for hit in db.search("walrus")] == ["theirs"]
    assert [hit.session_id for hit in db.search("海象")] == ["s"]
    db.close()


def test_it_deletes_and_rewinds_in_our_file(path: Path) -> None:
    filled(path)
    theirs: Any = hermes_state.SessionDB(path)
    theirs.delete_session("b")
    theirs.rewind_to_message("s-2", rows(path, "SELECT max(id) FROM messages")[0][0])
    theirs.close()
    db = SessionDB.open(path)
    assert [entry.id for entry in db.list_sessions().sessions] == ["s"]
    assert texts(db.conversation("s")) == ["summary"]
    db.close()


def test_both_write_at_the_same_time(path: Path) -> None:
    filled(path)
    theirs: Any = hermes_state.SessionDB(path)
    ours = SessionDB.open(path)
    for number in range(20):
        theirs.append_message("s-2", "user", f"theirs {number}")
        ours.append("s", [user(f"ours {number}")])
    assert len(texts(ours.conversation("s"))) == 42
    assert theirs.get_session("s-2")["message_count"] == 42
    theirs.close()
    ours.close()


def test_it_reads_a_text_in_the_place_of_a_picture_and_rewriting_the_conversation_keeps_the_picture(path: Path) -> None:
    db = SessionDB.open(path)
    picture = [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "AAAA" * 1000}}]
    db.append(new_session(db, "s"), [Message(role="user", content=[{"type": "text", "text": "look"}, *picture])])
    theirs: Any = hermes_state.SessionDB(path)
    read = theirs.get_messages_as_conversation("s")
    assert [part["type"] for part in read[0]["content"]] == ["text", "text"]
    assert read[0]["content"][1]["text"].startswith("[attachment: image/png, 2 KB; sha256 ")
    theirs.replace_messages("s", [*read, {"role": "assistant", "content": "a black square"}])
    assert db.conversation("s")[0].content == [{"type": "text", "text": "look"}, *picture]
    theirs.delete_session("s")
    theirs.close()
    assert rows(path, "SELECT count(*) FROM message_attachments") == [(0,)]
    assert Care(db).verify() == ["1 attachments belong to nothing."]
    Care(db).mend()
    assert rows(path, "SELECT count(*) FROM attachments") == [(0,)]
    db.close()
