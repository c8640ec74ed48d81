"""Search finds what was typed: literally, by words, phrases, and in any script."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import query, search
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message, Part, new_id
from tests.ledger.conftest import answer, asks, change, new_session, texts, user


def found(db: SessionDB, text: str, **filters: object) -> list[str]:
    """The rows' texts, in the order of the hits."""
    hits = db.search(text, **filters)  # type: ignore[arg-type]
    return [texts(db.around(hit.row, 0, 0))[0] for hit in hits]


def stored(db: SessionDB, *contents: str, session: str = "s") -> None:
    if session not in [entry.id for entry in db.list_sessions().sessions]:
        new_session(db, session)
    db.append(session, [user(content) for content in contents])


LITERAL = [
    "gateway/run.py",
    "it's C++",
    "foo-bar",
    '"unbalanced',
    "a:b",
    "x^2",
    "f(x)",
    "NEAR",
    "NOT",
    "AND",
    "OR",
    "col*",
    "{a}",
    "50%",
    "snake_case",
    "--flag",
    "$HOME",
    "C:\\temp",
    "@user",
    "1.2.3",
    "''",
    "*",
    "(",
    "→",
    "😀",
    "é",
]


@pytest.mark.parametrize("text", LITERAL)
def test_every_sign_means_itself(db: SessionDB, text: str) -> None:
    stored(db, "nothing of the kind", f"before {text} after", text, "near not and or gateway run py foo bar a b")
    assert set(found(db, text)) >= {f"before {text} after", text}
    if not text.isalpha():
        assert set(found(db, text)) == {f"before {text} after", text}


def test_words_are_joined_by_and_in_any_order(db: SessionDB) -> None:
    stored(db, "the quick brown fox", "the brown dog", "a quick dog")
    assert set(found(db, "brown quick")) == {"the quick brown fox"}
    assert set(found(db, "QUICK")) == {"the quick brown fox", "a quick dog"}
    assert found(db, "quick cat") == []


def test_a_quoted_phrase_is_a_phrase(db: SessionDB) -> None:
    stored(db, "the brown quick fox", "the quick brown fox")
    assert found(db, '"quick brown"') == ["the quick brown fox"]
    assert found(db, 'fox "brown quick"') == ["the brown quick fox"]


def test_accents_and_case_do_not_matter(db: SessionDB) -> None:
    stored(db, "Café Ångström", "straße")
    assert found(db, "cafe") == found(db, "ÅNGSTRÖM") == ["Café Ångström"]
    assert found(db, "café-") == []


CJK = "上次我们怎么修的那个数据库迁移问题？"


@pytest.mark.parametrize("piece", ["上", "迁", "？", "数据", "问题", "题？", "数据库", "我们怎么修的那个数据库迁移"])
def test_chinese_is_found_by_any_part_of_it(db: SessionDB, piece: str) -> None:
    stored(db, CJK, "数一数 据说", "english only")
    assert CJK in found(db, piece)
    if len(piece) > 1:
        assert found(db, piece) == [CJK]


@pytest.mark.parametrize("piece", ["履歴", "履", "日本語の履歴", "できますか", "が", "カタ", "한국", "글", "ไทย", "ภา"])
def test_other_scripts_without_blanks_too(db: SessionDB, piece: str) -> None:
    stored(db, "日本語の履歴も検索できますか が カタカナ", "한국어 글", "ภาษาไทย", "か")
    assert len(found(db, piece)) == 1


def test_pieces_are_joined_by_and_with_each_other_and_with_words(db: SessionDB) -> None:
    stored(db, "数据 migration 迁移", "数据 only", "迁移 migration")
    assert found(db, "迁移 数据") == ["数据 migration 迁移"]
    assert found(db, "数据 migration") == ["数据 migration 迁移"]
    assert set(found(db, "迁移 migration")) == {"数据 migration 迁移", "迁移 migration"}
    assert found(db, "数据only") == []
    stored(db, "が", "か", "が か")
    assert found(db, "が か") == ["が か"]


def test_tool_names_and_calls_are_found(db: SessionDB) -> None:
    call = asks("c1", name="deploy_zeppelin")
    call.tool_calls[0]["function"]["arguments"] = '{"path": "src/日本.py"}'  # type: ignore[index]
    new_session(db, "s")
    db.append("s", [call])
    for text in ("deploy_zeppelin", "src/日本.py", "日本"):
        assert [hit.message_id for hit in db.search(text)] == [call.id]


def test_the_text_of_parts_is_found_and_image_data_is_not(db: SessionDB) -> None:
    parts: list[Part] = [
        {"type": "text", "text": "look at 日本"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUFBQUFB"}},
        {"type": "resource", "resource": {"uri": "file:///w/notes.md", "text": "hidden treasure"}},
        {"type": "resource_link", "uri": "file:///w/a%20b.py", "name": "a b.py"},
    ]
    new_session(db, "s")
    db.append("s", [Message(role="user", content=parts)])
    for text in ("look", "日本", "treasure", "notes.md", '"a b.py"'):
        assert len(db.search(text)) == 1, text
    assert db.search("QUFBQUFB") == []


def test_rewound_messages_are_not_found_and_compacted_ones_are_marked(db: SessionDB, path: Path) -> None:
    gone = user("rewound zebra")
    new_session(db, "s")
    db.append("s", [user("kept zebra"), gone])
    db.undo("s", gone.id)
    assert found(db, "zebra") == ["kept zebra"]
    change(path, "UPDATE messages SET active = 0, compacted = 1 WHERE content = 'kept zebra'")
    assert [hit.compacted for hit in db.search("zebra")] == [True]


def test_copies_of_a_message_are_one_hit(db: SessionDB) -> None:
    new_session(db, "s")
    db.append("s", [user("zebra"), answer("stripes")])
    db.branch("s", "b")
    db.continue_compressed("s", "s-2", user("about animals"), db.conversation("s"))
    [hit] = db.search("zebra")
    assert (hit.session_id, hit.node_id) == ("s", "s")
    assert [hit.session_id for hit in db.search("zebra", session_id="b")] == ["b"]


def test_a_hit_tells_where_it_is(db: SessionDB) -> None:
    new_session(db, "s", title="Plan", source="cli", cwd="/w")
    db.append("s", [user("q")])
    message = answer(f"{'long ' * 100}the zebra-42 stands\nhere {'and on ' * 100}", timestamp=1234.5)
    db.append("s", [message])
    db.continue_compressed("s", "s-2", user("summary"), [])
    [hit] = db.search("zebra-42")
    assert (hit.session_id, hit.message_id, hit.role, hit.source) == ("s", message.id, "assistant", "cli")
    assert (hit.title, hit.timestamp, hit.compacted) == ("Plan #2", 1234.5, False)
    assert len(hit.snippet) < 220
    assert "\n" not in hit.snippet
    assert [hit.snippet[a:b] for a, b in hit.spans] == ["zebra-42"]


def test_filters_narrow_the_search(db: SessionDB, tmp_path: Path) -> None:
    new_session(db, "a", source="acp", cwd=str(tmp_path))
    new_session(db, "b", source="cli", cwd="/w")
    db.append("a", [user("zebra 1", timestamp=100.0), answer("zebra 2", timestamp=200.0)])
    db.append("b", [user("zebra 3 数据", timestamp=300.0)])
    assert found(db, "zebra", role="assistant") == ["zebra 2"]
    assert found(db, "zebra", source="cli") == ["zebra 3 数据"]
    assert set(found(db, "zebra", cwd=f"{tmp_path}/.")) == {"zebra 1", "zebra 2"}
    assert set(found(db, "zebra", since=200.0)) == {"zebra 2", "zebra 3 数据"}
    assert found(db, "zebra", since=9e9) == []
    assert found(db, "数据", session_id="b", since=200.0) == ["zebra 3 数据"]
    assert found(db, "数据", session_id="a") == []
    db.continue_compressed("a", "a-2", user("summary"), [])
    db.append("a", [user("zebra 4", timestamp=400.0)])
    assert set(found(db, "zebra", session_id="a")) == {"zebra 1", "zebra 2", "zebra 4"}


def test_the_best_come_first_or_the_newest(db: SessionDB) -> None:
    stored(db, "zebra zebra zebra", f"zebra {'and much else ' * 30}", "a zebra of some kind")
    assert found(db, "zebra")[0] == "zebra zebra zebra"
    assert found(db, "zebra", newest_first=True)[0] == "a zebra of some kind"
    assert len(found(db, "zebra", limit=2)) == len(found(db, "zebra", newest_first=True, limit=2)) == 2


def test_an_old_hit_is_found_behind_thousands_of_near_ones(db: SessionDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "RANKED", 10)
    stored(db, "foo-bar")
    stored(db, *[f"foo bar {number}" for number in range(500)])
    assert found(db, "foo-bar") == ["foo-bar"]


def test_long_and_odd_queries_are_answered(db: SessionDB) -> None:
    stored(db, "some words")
    assert found(db, "x" * 10_000) == []
    assert found(db, "word " * 2_000) == []
    assert found(db, " ".join(f"w{number}" for number in range(2_000))) == []
    assert found(db, "some\x00words") == ["some words"]
    for nothing in ("", "   ", "\x00"):
        with pytest.raises(InvalidParams, match="nothing to search"):
            db.search(nothing)


def test_all_words_of_a_very_long_query_count(db: SessionDB) -> None:
    many = [f"w{number}" for number in range(60)]
    stored(db, " ".join(many), " ".join(many[:-1]))
    assert found(db, " ".join(many)) == [" ".join(many)]


def test_passages_come_by_session_with_their_neighbours(db: SessionDB) -> None:
    stored(db, "one", "two", "zebra here", "four", "five", session="a")
    stored(db, "zebra zebra zebra", "after", session="b")
    sessions = db.passages(db.search("zebra"), context=1)
    assert [(s.session_id, len(s.passages)) for s in sessions] == [("b", 1), ("a", 1)]
    assert texts(sessions[1].passages[0].messages) == ["two", "zebra here", "four"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.data())
def test_any_part_cut_at_blanks_of_any_text_finds_it(db: SessionDB, data: st.DataObject) -> None:
    alphabet = st.sampled_from("ab1 -_/.'\"*()日本語é→😀\n\t:{}%")
    text = data.draw(st.text(alphabet, min_size=1, max_size=30))
    words = [word for word in text.split() if query.terms(word)]
    if not words:
        return
    marker = f"mark{new_id().replace('-', '')}"
    stored(db, f"{marker} {text}")
    word = data.draw(st.sampled_from(words))
    assert len(db.search(f"{marker} {word}")) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(max_size=40))
def test_no_query_is_a_syntax_error(db: SessionDB, text: str) -> None:
    try:
        db.search(text)
    except InvalidParams as fault:
        assert "nothing to search" in fault.message


def test_a_search_of_yesterday_is_no_search_of_tomorrow(db: SessionDB) -> None:
    stored(db, "zebra")
    assert len(db.search("zebra", since=time.time() - 60)) == 1
    assert db.search("zebra", since=time.time() + 60) == []
