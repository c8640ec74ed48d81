"""The session tree: what each kind of edge means for the model, the editor, the list and deletion."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.errors import InvalidParams, SessionNotFound, TurnInProgress
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
from tests.ledger.conftest import answer, asks, change, new_session, result, rows, texts, user


def listed(db: SessionDB) -> list[str]:
    return [entry.id for entry in db.list_sessions().sessions]


def test_a_branch_has_the_history_up_to_a_message_and_both_live_on(db: SessionDB) -> None:
    new_session(db, "s", title="Plan", model_config={"mode": "ask", "provider": "p"}, system_prompt="Be kind.")
    history = [user("one"), answer("1", details={"k": "v"}), user("two"), answer("2")]
    db.append("s", history)
    row = db.branch("s", "b", upto_message_id=history[1].id)
    assert (row.edge, row.parent_session_id, row.fork_point) == ("branch", "s", history[1].id)
    assert (row.title, row.model, row.system_prompt, row.cwd) == ("Plan #2", "m-1", "Be kind.", "/work/project")
    assert (row.model_config["mode"], row.model_config["provider"]) == ("ask", "p")
    assert row.message_count == 2
    copied = db.conversation("b")
    assert [(m.id, m.text(), m.details) for m in copied] == [(m.id, m.text(), m.details) for m in history[:2]]
    db.append("b", [user("other")])
    db.append("s", [user("three")])
    assert texts(db.conversation("b")) == texts(db.replay("b")) == ["one", "1", "other"]
    assert texts(db.conversation("s")) == ["one", "1", "two", "2", "three"]
    assert db.session("s").ended_at is None


def test_a_branch_may_go_elsewhere_with_another_model(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("one")])
    row = db.branch("s", "b", cwd="/elsewhere", model="m-2", model_config={"mode": "plan"})
    assert (row.cwd, row.model, row.model_config["mode"]) == ("/elsewhere", "m-2", "plan")
    assert db.branch("b", "c").cwd == "/elsewhere"


def test_a_branch_at_an_unknown_message_is_refused(db: SessionDB) -> None:
    new_session(db, "s")
    with pytest.raises(InvalidParams, match="no message 'nope'"):
        db.branch("s", "b", upto_message_id="nope")
    with pytest.raises(SessionNotFound):
        db.session("b")


def test_compaction_gives_the_model_summary_and_tail_and_the_editor_everything(db: SessionDB) -> None:
    old = [user("one"), answer("1"), user("two"), answer("2")]
    db.append(new_session(db, "s", title="Plan"), old)
    row = db.continue_compressed("s", "s-2", user("so far: one"), db.conversation("s")[2:])
    assert (row.edge, row.parent_session_id, row.title) == ("compression", "s", "Plan #2")
    assert db.session("s").end_reason == "compression"
    db.append("s", [user("three")])
    assert texts(db.conversation("s")) == texts(db.conversation("s-2")) == ["so far: one", "two", "2", "three"]
    shown = db.replay("s")
    assert texts(shown) == ["one", "1", "two", "2", "so far: one", "three"]
    assert [m.text() for m in shown if (m.details or {}).get("summary")] == ["so far: one"]
    assert [m.id for m in shown[:4]] == [m.id for m in old]


def test_a_compacted_session_keeps_its_id_and_its_one_place_in_the_list(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("one"), answer("1")])
    for number in range(2, 5):
        db.continue_compressed("s", f"s-{number}", user("summary"), [])
        db.append("s", [user(f"in {number}")])
    [entry] = db.list_sessions().sessions
    assert (entry.id, entry.root_id, entry.session.id) == ("s", "s", "s-4")
    assert entry.message_count == 5
    assert db.current("s").id == "s-4"
    assert [row.id for row in db.chain("s-3")] == ["s", "s-2", "s-3", "s-4"]
    assert db.resolve("s") == "s"


@pytest.mark.parametrize("name", ["Plan", "Take #1", "x" * 100])
def test_a_compacted_conversation_keeps_its_name(db: SessionDB, name: str) -> None:
    db.append(new_session(db, "s", title=name), [user("one"), answer("1")])
    for node in ("s-2", "s-3"):
        db.continue_compressed("s", node, user("summary"), [])
    assert db.title("s") == db.list_sessions().sessions[0].title == name
    assert db.session("s-3").title != name, "titles of nodes are unique, as other programs need it"
    db.update_session("s", title="Another")
    db.continue_compressed("s", "s-4", user("summary"), [])
    assert db.title("s") == "Another"
    branch = db.branch("s", "b")
    assert db.title("b") == branch.title != "Another"


def test_what_is_changed_later_counts_for_the_whole_conversation(db: SessionDB) -> None:
    new_session(db, "s")
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.update_session("s", model="m-9", model_config={"mode": "plan"}, cwd="/moved")
    row = db.current("s")
    assert (row.id, row.model, row.model_config["mode"], row.cwd) == ("s-2", "m-9", "plan", "/moved")


def test_a_branch_may_leave_from_a_message_that_was_compacted_away(db: SessionDB) -> None:
    old = [user("one"), answer("1"), user("two")]
    db.append(new_session(db, "s"), old)
    db.continue_compressed("s", "s-2", user("summary"), [])
    row = db.branch("s", "b", upto_message_id=old[1].id)
    assert texts(db.conversation("b")) == ["one", "1"]
    assert row.fork_point == old[1].id


def test_a_branch_of_a_compacted_session_replays_what_it_was_given(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("one")])
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.append("s", [user("two")])
    db.branch("s", "b")
    assert texts(db.conversation("b")) == ["summary", "two"]


def test_explicit_edges_survive_what_another_program_does_to_the_parent(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user("one")])
    db.continue_compressed("s", "s-2", user("summary"), [])
    change(path, "UPDATE sessions SET end_reason = NULL, ended_at = NULL WHERE id = 's'")
    assert listed(db) == ["s"]
    assert texts(db.conversation("s")) == ["summary"]


def test_compaction_makes_no_continuation_of_children_that_an_older_program_left(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    change(
        path,
        "UPDATE sessions SET end_reason = 'branched', ended_at = 1 WHERE id = 's'",
        "INSERT INTO sessions(id, source, started_at, parent_session_id) VALUES ('old-branch', 'cli', 2, 's')",
        "INSERT INTO sessions(id, source, started_at, parent_session_id) VALUES ('helper', 'cli', 0.5, 's')",
    )
    assert db.session("old-branch").edge == "branch"
    db.continue_compressed("s", "s-2", user("summary"), [])
    assert db.session("old-branch").edge == "branch"
    assert db.session("helper").edge == "delegate"
    assert db.current("s").id == "s-2"
    assert set(listed(db)) == {"s", "old-branch"}


def test_of_several_continuations_the_living_one_counts(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    change(
        path,
        "UPDATE sessions SET end_reason = 'compression', ended_at = 5 WHERE id = 's'",
        """INSERT INTO sessions(id, source, started_at, parent_session_id, ended_at, end_reason)
           VALUES ('stale', 'cli', 9, 's', 10, 'orphaned')""",
        "INSERT INTO sessions(id, source, started_at, parent_session_id) VALUES ('live', 'cli', 4, 's')",
    )
    assert db.current("s").id == "live"
    change(
        path,
        """INSERT INTO sessions(id, source, started_at, parent_session_id, ended_at, end_reason)
           VALUES ('went-on', 'cli', 3, 's', 4, 'compression')""",
        "INSERT INTO sessions(id, source, started_at, parent_session_id) VALUES ('newest', 'cli', 5, 'went-on')",
    )
    assert db.current("s").id == "newest"


def test_a_loop_that_another_program_made_ends_every_walk(db: SessionDB, path: Path) -> None:
    new_session(db, "a")
    new_session(db, "b")
    change(
        path,
        "UPDATE sessions SET end_reason = 'compression', parent_session_id = 'b' WHERE id = 'a'",
        "UPDATE sessions SET end_reason = 'compression', parent_session_id = 'a' WHERE id = 'b'",
    )
    assert {row.id for row in db.chain("a")} == {"a", "b"}
    db.list_sessions()
    assert db.delete_session("a")


def test_sub_agents_are_hidden_from_the_list(db: SessionDB) -> None:
    new_session(db, "s")
    new_session(db, "helper", parent="s", model_config={"_delegate_from": "s"})
    assert db.session("helper").edge == "delegate"
    assert listed(db) == ["s"]


def test_undo_marks_messages_and_keeps_them(db: SessionDB, path: Path) -> None:
    history = [user("one"), answer("1"), user("two"), asks("c"), result("c"), answer("2")]
    db.append(new_session(db, "s"), history)
    db.save_draft("s", answer("partial"))
    undone = db.undo("s", history[2].id)
    assert [m.id for m in undone] == [m.id for m in history[2:]]
    assert texts(db.conversation("s")) == texts(db.replay("s")) == ["one", "1"]
    assert rows(path, "SELECT count(*), sum(active) FROM messages") == [(6, 2)]
    assert db.session("s").rewind_count == 1
    assert db.session("s").message_count == 6
    db.append("s", [user("other")])
    assert texts(db.conversation("s")) == ["one", "1", "other"]
    with pytest.raises(InvalidParams):
        db.undo("s", history[2].id)


def test_what_compaction_carried_over_is_undone_wherever_it_stands(db: SessionDB) -> None:
    history = [user("one"), answer("1"), user("zebra"), answer("2")]
    db.append(new_session(db, "s"), history)
    db.continue_compressed("s", "s-2", user("summary"), history[2:])
    db.undo("s", history[2].id)
    assert texts(db.conversation("s")) == ["summary"]
    assert texts(db.replay("s")) == ["one", "1", "summary"]
    assert db.search("zebra") == []
    with pytest.raises(InvalidParams, match="compacted"):
        db.undo("s", db.conversation("s")[0].id)


def test_archived_conversations_are_listed_on_demand_only(db: SessionDB) -> None:
    db.append(new_session(db, "s"), [user("one")])
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.archive("s")
    assert listed(db) == []
    assert [e.id for e in db.list_sessions(include_archived=True).sessions] == ["s"]
    db.archive("s-2", False)
    assert listed(db) == ["s"]


def test_deleting_takes_the_whole_chain_and_leaves_branches_whole(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s", title="Plan"), [user("zebra-42"), answer("1")])
    db.branch("s", "f")
    db.branch("f", "g")
    new_session(db, "helper", parent="s", model_config={"_delegate_from": "s"})
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.save_draft("s", answer("partial"))
    assert db.delete_session("s")
    assert set(listed(db)) == {"f", "g"}
    for gone in ("s", "s-2", "helper"):
        with pytest.raises(SessionNotFound):
            db.session(gone)
    assert texts(db.replay("f")) == texts(db.replay("g")) == ["zebra-42", "1"]
    assert db.session("f").edge == "branch"
    assert db.session("g").parent_session_id == "f"
    assert [hit.session_id for hit in db.search("zebra-42")] == ["f"]
    assert db.delete_session("f") and db.delete_session("g")
    assert not db.delete_session("g")
    for table in ("sessions", "messages", "message_details", "message_drafts", "session_activity", "session_leases"):
        assert rows(path, f"SELECT count(*) FROM {table}") == [(0,)]
    assert db.search("zebra-42") == []


def test_deleting_any_node_of_a_chain_deletes_the_conversation(db: SessionDB) -> None:
    new_session(db, "s")
    db.continue_compressed("s", "s-2", user("summary"), [])
    db.delete_session("s-2")
    assert listed(db) == []
    with pytest.raises(SessionNotFound):
        db.session("s")


def test_a_session_that_another_process_runs_is_not_deleted(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    other = SessionDB.open(path, program="other-editor")
    other.acquire("s")
    with pytest.raises(TurnInProgress, match="other-editor"):
        db.delete_session("s")
    other.close()
    assert db.delete_session("s")


def test_another_process_appended_rewound_or_compacted(db: SessionDB, path: Path) -> None:
    db.append(new_session(db, "s"), [user("one")])
    known = db.conversation("s")
    assert db.conversation_if_changed("s", known) is None
    other = SessionDB.open(path)
    appended: list[Message] = [answer("1")]
    other.append("s", appended)
    assert texts(db.conversation_if_changed("s", known) or []) == ["one", "1"]
    assert texts(db.messages_after("s", known[-1].row or 0)) == ["1"]
    other.undo("s", appended[0].id)
    assert db.conversation_if_changed("s", known) is None
    other.continue_compressed("s", "s-2", user("summary"), [])
    assert texts(db.conversation_if_changed("s", known) or []) == ["summary"]
    other.close()
