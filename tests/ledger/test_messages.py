"""A message reads back as it was written, is counted once, and is stored once however often it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.errors import SessionNotFound
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, Usage, new_id
from tests.ledger.conftest import answer, asks, new_session, result, rows, texts, user

_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)
_parts = st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": _text}, optional={"more": _json}), max_size=3)
_list = st.none() | st.lists(_json, min_size=1, max_size=3)
_message = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=st.none() | _text | _parts | _text.map("\x00json:".__add__),
    id=st.uuids().map(str),
    tool_calls=st.none() | st.lists(st.dictionaries(_text, _json, max_size=3), min_size=1, max_size=2),
    tool_call_id=st.none() | _text,
    tool_name=st.none() | _text,
    finish_reason=st.none() | _text,
    reasoning=st.none() | _text,
    reasoning_content=st.none() | _text,
    reasoning_details=_list,
    codex_reasoning_items=_list,
    codex_message_items=_list,
    api_content=st.none() | _text | _parts,
    timestamp=st.floats(0, 4e9),
    token_count=st.none() | st.integers(0, 10**6),
    details=st.none() | st.dictionaries(_text, _json, min_size=1, max_size=3),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(_message, max_size=4, unique_by=lambda message: message.id))
def test_every_message_reads_back_whole(db: SessionDB, messages: list[Message]) -> None:
    session = new_session(db, new_id())
    stored = db.append(session, messages)
    assert db.messages(session) == [evolve(m, row=row) for m, row in zip(messages, stored, strict=True)]


def test_a_lone_surrogate_becomes_a_replacement_character_everywhere(db: SessionDB) -> None:
    new_session(db, "s", title="t\ud800", system_prompt="\udfff")
    broken = Message(role="assistant", content="a\ud800b", reasoning="\udc00", details={"k\ud800": "v\ud800"})
    parts = Message(role="user", content=[{"type": "text", "text": "\ud83d"}])
    db.append("s", [broken, parts, evolve(asks("c"), tool_name="\ud800")])
    db.save_draft("s", user("\ud800"))
    read = db.messages("s")
    assert (read[0].content, read[0].reasoning, read[0].details) == ("a\ufffdb", "\ufffd", {"k\ufffd": "v\ufffd"})
    assert read[1].content == [{"type": "text", "text": "\ufffd"}]
    assert db.session("s").title == "t\ufffd"


def test_a_pair_of_surrogates_is_the_character_it_stands_for(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("\ud83d\ude00")])
    assert texts(db.messages("s")) == ["😀"]


def test_content_is_text_or_marked_ascii_json_in_the_file(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user("plain"), Message(role="user", content=[{"type": "text", "text": "日"}])])
    assert rows(path, "SELECT content FROM messages") == [
        ("plain",),
        ('\x00json:[{"type": "text", "text": "\\u65e5"}]',),
    ]


def test_order_is_that_of_storing_whatever_the_clock_said(db: SessionDB) -> None:
    new_session(db, "s")
    db.append("s", [user("first", timestamp=2e9)])
    db.append("s", [answer("second", timestamp=1e9)])
    assert texts(db.messages("s")) == texts(db.replay("s")) == ["first", "second"]


def test_an_append_that_is_repeated_stores_and_counts_once(db: SessionDB) -> None:
    new_session(db, "s")
    batch = [user("q"), answer("a")]
    once = db.append("s", batch, Usage(input_tokens=5))
    assert db.append("s", batch, Usage(input_tokens=5)) == once
    assert db.append("s", [batch[0], batch[0]]) == [once[0], once[0]]
    row = db.session("s")
    assert (row.message_count, row.api_call_count, row.input_tokens) == (2, 1, 5)


def test_a_repeated_append_is_known_after_a_compaction_too(db: SessionDB) -> None:
    new_session(db, "s")
    old = user("q")
    row = db.append("s", [old])
    db.continue_compressed("s", "s-2", user("summary"), [])
    assert db.append("s", [old]) == row
    assert texts(db.conversation("s")) == ["summary"]


def test_counters_are_kept_with_the_messages(db: SessionDB, path: Path) -> None:
    new_session(db, "s", model_config={"provider": "p", "base_url": "http://x"})
    db.append("s", [user("q")])
    db.append("s", [asks("c1", "c2")], Usage(10, 20, 3, 4, 5, cost=0.25))
    db.append("s", [result("c1"), result("c2")])
    db.append("s", [answer("a")], Usage(1, 2), model="other", provider="p2")
    row = db.session("s")
    assert (row.message_count, row.tool_call_count, row.api_call_count) == (5, 2, 2)
    assert (row.input_tokens, row.output_tokens, row.reasoning_tokens) == (11, 22, 5)
    assert (row.cache_read_tokens, row.cache_write_tokens, row.estimated_cost_usd) == (3, 4, 0.25)
    assert rows(
        path,
        """SELECT model, billing_provider, billing_base_url, api_call_count, input_tokens, estimated_cost_usd
           FROM session_model_usage ORDER BY model""",
    ) == [("m-1", "p", "http://x", 1, 3, 0.25), ("other", "p2", "", 1, 1, 0.0)]


def test_messages_of_an_unknown_session_are_refused(db: SessionDB) -> None:
    with pytest.raises(SessionNotFound):
        db.append("nope", [user("q")])
    with pytest.raises(SessionNotFound):
        db.save_draft("nope", user("q"))
    with pytest.raises(SessionNotFound):
        db.conversation("nope")


def test_a_failed_append_leaves_nothing_behind(db: SessionDB) -> None:
    new_session(db, "s")
    with pytest.raises(TypeError):
        db.append("s", [user("good"), user("bad", details={"no": object()})])
    assert db.messages("s") == []
    assert db.session("s").message_count == 0
    db.append("s", [user("next")])
    assert texts(db.messages("s")) == ["next"]
