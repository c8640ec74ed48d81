"""The session list: newest activity first, every session reachable, folders under any spelling."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger import listing
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.listing import ListedSession
from tests.ledger.conftest import answer, change, new_session, texts, user


def everything(db: SessionDB, limit: int = 7, **filters: object) -> list[ListedSession]:
    found: list[ListedSession] = []
    cursor: str | None = None
    while True:
        page = db.list_sessions(cursor=cursor, limit=limit, **filters)  # type: ignore[arg-type]
        assert len(page.sessions) <= limit
        found += page.sessions
        cursor = page.next_cursor
        if cursor is None:
            return found


def ids(entries: list[ListedSession]) -> list[str]:
    return [entry.id for entry in entries]


def test_newest_activity_comes_first_whoever_wrote_it(db: SessionDB, path: Path) -> None:
    for name in "abc":
        new_session(db, name)
    db.append("a", [user("hi")])
    assert ids(everything(db)) == ["a", "c", "b"]
    change(path, "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('b', 'user', 'x', 4e9)")
    [first, *_] = everything(db)
    assert (first.id, first.session.last_active) == ("b", 4e9)


def test_activity_never_goes_back_with_the_clock(db: SessionDB) -> None:
    new_session(db, "s")
    started = db.session("s").last_active
    db.append("s", [user("by a clock that was set back", timestamp=5.0)])
    assert db.session("s").last_active == started


def test_pages_reach_every_session_once(db: SessionDB) -> None:
    wanted = [new_session(db, f"s{number:03}") for number in range(50)]
    assert ids(everything(db)) == wanted[::-1]
    assert ids(everything(db, limit=50)) == wanted[::-1]
    assert ids(everything(db, limit=1)) == wanted[::-1]


def test_sessions_of_one_moment_are_not_lost_between_pages(db: SessionDB, path: Path) -> None:
    wanted = {new_session(db, f"s{number:03}") for number in range(30)}
    change(path, "UPDATE session_activity SET last_active = 7")
    found = ids(everything(db))
    assert set(found) == wanted and len(found) == 30


def test_a_session_that_becomes_active_meanwhile_moves_no_other(db: SessionDB) -> None:
    for number in range(10):
        new_session(db, f"s{number}")
    page = db.list_sessions(limit=3)
    db.append("s0", [user("now")])
    new_session(db, "new")
    rest = ids(db.list_sessions(limit=50, cursor=page.next_cursor).sessions)
    assert rest == ["s6", "s5", "s4", "s3", "s2", "s1"]


def test_paging_goes_on_when_sessions_are_deleted_meanwhile(db: SessionDB) -> None:
    for number in range(6):
        new_session(db, f"s{number}")
    page = db.list_sessions(limit=2)
    for gone in ("s0", "s4", "s2"):
        db.delete_session(gone)
    assert ids(db.list_sessions(cursor=page.next_cursor).sessions) == ["s3", "s1"]


def test_the_same_folder_is_found_under_any_spelling(db: SessionDB, tmp_path: Path) -> None:
    real, link = tmp_path / "real folder", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    new_session(db, "a", cwd=str(real))
    new_session(db, "b", cwd=f"{link}/")
    new_session(db, "c", cwd=f"{real}/../{real.name}/.")
    new_session(db, "d", cwd=str(tmp_path))
    for spelling in (str(real), f"{real}/", str(link), f"{link}/.", f"{tmp_path}/./link"):
        assert ids(everything(db, cwd=spelling, limit=2)) == ["c", "b", "a"]
    assert ids(everything(db, cwd=str(tmp_path))) == ["d"]


def test_a_folder_that_is_gone_is_found_by_its_name(db: SessionDB) -> None:
    new_session(db, "a", cwd="/no/such/place")
    new_session(db, "b", cwd="/no/such/place/")
    new_session(db, "c", cwd="/no/such")
    assert ids(everything(db, cwd="/no/such/../such/place//")) == ["b", "a"]
    assert everything(db, cwd="/no/such/other") == []


def test_a_moved_session_is_listed_where_it_is_now(db: SessionDB, path: Path) -> None:
    new_session(db, "a", cwd="/one")
    db.update_session("a", cwd="/two")
    assert (ids(everything(db, cwd="/one")), ids(everything(db, cwd="/two"))) == ([], ["a"])
    change(path, """UPDATE sessions SET model_config = '{"cwd": "/three/"}'""")
    assert ids(everything(db, cwd="/three")) == ["a"]
    change(path, "UPDATE sessions SET model_config = 'no json', cwd = '/four'")
    assert ids(everything(db, cwd="/four")) == ["a"]


def test_sources_can_be_chosen(db: SessionDB) -> None:
    for number in range(9):
        new_session(db, f"s{number}", source=("acp", "cli", "telegram")[number % 3])
    assert ids(everything(db, sources=["cli"], limit=2)) == ["s7", "s4", "s1"]
    assert len(everything(db, sources=["cli", "acp"])) == 6
    assert everything(db, sources=[]) == []


def test_a_listed_branch_names_its_parent_and_fork_point(db: SessionDB) -> None:
    spoken = [user("q"), answer("a")]
    db.append(new_session(db, "s", title="Plan"), spoken)
    db.branch("s", "b", upto_message_id=spoken[0].id)
    branch, parent = everything(db)
    assert (branch.id, branch.parent, branch.session.fork_point) == ("b", "s", spoken[0].id)
    assert (parent.id, parent.parent, parent.branch_count) == ("s", None, 1)
    assert (branch.message_count, parent.message_count) == (1, 2)


def test_a_cursor_is_bound_to_its_filter_its_ledger_and_its_day(
    db: SessionDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        new_session(db, f"s{number}")
    cursor = db.list_sessions(limit=1).next_cursor
    assert cursor is not None
    with pytest.raises(InvalidParams, match="another list"):
        db.list_sessions(cursor=cursor, cwd="/work/project")
    with pytest.raises(InvalidParams, match="another list"):
        db.list_sessions(cursor=cursor, sources=["acp"])
    other = SessionDB.open(tmp_path / "other.db")
    new_session(other, "s0")
    with pytest.raises(InvalidParams, match="another list"):
        other.list_sessions(cursor=cursor)
    other.close()
    monkeypatch.setattr(listing, "CURSOR_SECONDS", -1)
    with pytest.raises(InvalidParams, match="too old"):
        db.list_sessions(cursor=cursor)


def _packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "garbage",
    ["x", "%%%", "ü", "\x00", "a" * 9999, _packed([]), _packed({}), _packed(["s", 1, "x", 2]), _packed([1, 2, [], 4])],
)
def test_a_cursor_that_nobody_made_is_an_error(db: SessionDB, garbage: str) -> None:
    new_session(db, "s")
    with pytest.raises(InvalidParams):
        db.list_sessions(cursor=garbage)


def test_a_cursor_works_for_the_same_folder_in_another_spelling(db: SessionDB, tmp_path: Path) -> None:
    for number in range(3):
        new_session(db, f"s{number}", cwd=str(tmp_path))
    page = db.list_sessions(cwd=str(tmp_path), limit=1)
    rest = db.list_sessions(cwd=str(tmp_path) + os.sep, cursor=page.next_cursor)
    assert ids(rest.sessions) == ["s1", "s0"]


def test_a_long_row_of_hidden_sessions_hides_no_other(db: SessionDB) -> None:
    new_session(db, "old")
    new_session(db, "parent")
    for number in range(40):
        new_session(db, f"helper{number}", parent="parent", model_config={"_delegate_from": "parent"})
        db.continue_compressed(f"helper{number}", f"helper{number}-2", user("summary"), [])
    db.archive(new_session(db, "archived"))
    assert ids(everything(db, limit=1)) == ["parent", "old"]
    assert texts(db.replay("helper3")) == ["summary"]


def test_a_folder_with_hidden_sessions_lists_each_visible_one_once(db: SessionDB) -> None:
    new_session(db, "parent", cwd="/p")
    new_session(db, "helper", cwd="/p", parent="parent", model_config={"_delegate_from": "parent"})
    db.archive(new_session(db, "archived", cwd="/p"))
    assert ids(db.list_sessions(cwd="/p").sessions) == ["parent"]
