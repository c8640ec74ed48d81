"""What files were before and after: kept once, bounded, gone with the session, and in branches and exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from acp_adapter.ledger import file_edits
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.exchange import chosen, lossless
from acp_adapter.ledger.exchange.importing import import_file
from acp_adapter.ledger.file_edits import ABSENT, LARGEST, FileEdit, FileState
from acp_adapter.ledger.pruning import Prune
from acp_adapter.redaction import Redactor
from acp_adapter.transcript import Message
from tests.ledger.conftest import answer, asks, change, new_session, result, rows, user

FILE = Path("/work/project/a.txt")


def edit(db: SessionDB, session: str, before: bytes | None, after: bytes | None, call: str = "c1", **more: Any) -> int:
    states = [ABSENT if data is None else FileState.of(data, 0o644) for data in (before, after)]
    return db.record_edit(session, FILE, (states[0], states[1]), call_id=call, **more)


def turn(db: SessionDB, session: str, name: str, before: bytes, after: bytes) -> list[Message]:
    """A prompt, an edit with a call of that name, and an answer, as an agent stores them."""
    said = [user(f"prompt {name}"), asks(name)]
    db.append(session, said)
    edit(db, session, before, after, call=name)
    said += [result(name), answer(f"answer {name}")]
    db.append(session, said[2:])
    return said


def told(edits: list[FileEdit]) -> list[str]:
    return [edit.call_id for edit in edits]


def test_an_edit_belongs_to_the_last_prompt_and_its_contents_stand_once(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    prompt = turn(db, "s", "c1", b"a", b"b")[0]
    turn(db, "s", "c2", b"b", b"a")
    first, second = db.edits("s")
    assert (first.turn, first.path, first.before.mode) == (prompt.id, FILE, 0o644)
    assert (first.before.hash, first.after.hash) == (second.after.hash, second.before.hash)
    assert rows(path, "SELECT bytes FROM attachments ORDER BY bytes") == [(b"a",), (b"b",)]
    assert first.before.hash and db.content(first.before.hash) == b"a"


def test_after_compaction_the_turn_is_still_the_prompt_in_its_own_words(db: SessionDB) -> None:
    new_session(db, "s")
    prompt = turn(db, "s", "c1", b"a", b"b")[0]
    db.continue_compressed("s", "node", user("what was before", details={"summary": True}), [])
    edit(db, "s", b"b", b"c", call="c2")
    assert [(each.turn, each.session_id) for each in db.edits("s")] == [(prompt.id, "s"), (prompt.id, "node")]


def test_a_name_that_is_no_text_is_kept_as_it_is(db: SessionDB) -> None:
    new_session(db, "s")
    odd = Path("/work/project/caf\udce9")
    db.record_edit("s", odd, (ABSENT, FileState.of(b"a")))
    assert [each.path for each in db.edits_of(odd)] == [odd]


def test_what_is_too_large_is_known_by_its_hash_alone(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    edit(db, "s", b"x" * (LARGEST + 1), b"a")
    before = db.edits("s")[0].before
    assert before.hash and db.content(before.hash) is None
    assert rows(path, "SELECT bytes FROM attachments") == [(b"a",)]


def test_a_session_that_keeps_too_much_forgets_its_oldest_edits(
    db: SessionDB, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_edits, "KEPT", 2_000)
    new_session(db, "s")
    new_session(db, "other")
    edit(db, "other", b"shared", None)
    edit(db, "s", b"shared", b"0" * 100)
    for n in range(70):
        edit(db, "s", b"%03d" % n * 50, b"%03d" % (n + 1) * 50, call=f"c{n}")
    kept = db.edits("s")
    assert told(kept)[-1] == "c69" and 0 < len(kept) < 50
    assert rows(path, "SELECT sum(length(bytes)) FROM attachments")[0][0] < 2_000 + 33 * 150
    assert (b"shared",) in rows(path, "SELECT bytes FROM attachments")


def test_a_branch_has_what_led_to_its_message_and_nothing_later(db: SessionDB) -> None:
    new_session(db, "s")
    first = turn(db, "s", "c1", b"a", b"b")
    turn(db, "s", "c2", b"b", b"c")
    edit(db, "s", b"c", b"b", call="", kind="undo", turn="whatever")
    for upto, known in ((None, ["c1", "c2", ""]), (first[3].id, ["c1"]), (first[0].id, []), (first[1].id, [])):
        branch = f"branch at {upto}"
        db.branch("s", branch, upto_message_id=upto)
        assert told(db.edits(branch)) == known
        grandchild = f"branch of {branch}"
        db.branch(branch, grandchild)
        assert told(db.edits(grandchild)) == known


def test_a_branch_in_the_carried_tail_of_a_compacted_conversation_has_nothing_later(db: SessionDB) -> None:
    new_session(db, "s")
    first = turn(db, "s", "c1", b"a", b"b")
    second = turn(db, "s", "c2", b"b", b"c")
    db.continue_compressed("s", "node", user("sum", details={"summary": True}), [first[3], *second])
    turn(db, "s", "c3", b"c", b"d")
    db.branch("s", "early", upto_message_id=first[3].id)
    assert told(db.edits("early")) == ["c1"]
    db.branch("s", "late", upto_message_id=second[3].id)
    assert told(db.edits("late")) == ["c1", "c2"]


def test_the_last_session_that_knows_a_content_takes_it_along(db: SessionDB, path: Path) -> None:
    new_session(db, "s")
    turn(db, "s", "c1", b"zebra-42 before", b"zebra-42 after")
    db.branch("s", "branch")
    db.delete_session("s")
    assert told(db.edits("branch")) == ["c1"]
    db.delete_session("branch")
    assert rows(path, "SELECT count(*) FROM attachments") == [(0,)]
    db.close()
    assert b"zebra-42" not in path.read_bytes()


def test_a_program_that_knows_nothing_of_edits_may_delete_sessions(db: SessionDB, path: Path) -> None:
    """With foreign keys the rows go at once; without, they go when the file is mended, and contents then too."""
    for name in ("with", "without"):
        new_session(db, name)
        edit(db, name, name.encode(), None)
    change(path, "PRAGMA foreign_keys = ON", "DELETE FROM sessions WHERE id = 'with'")
    assert rows(path, "SELECT session_id FROM file_edits") == [("without",)]
    change(path, "DELETE FROM sessions WHERE id = 'without'")
    assert Care(db).verify()
    Care(db).mend()
    assert Care(db).verify() == []
    assert rows(path, "SELECT * FROM file_edits") == rows(path, "SELECT * FROM attachments") == []


def test_pruning_counts_what_edits_hold(db: SessionDB) -> None:
    new_session(db, "s")
    db.append("s", [user("short")])
    edit(db, "s", b"x" * 1_000_000, None)
    (gone,) = Care(db).prune(Prune(max_bytes=0), dry_run=True)
    assert gone.bytes > 500_000
    Care(db).prune(Prune(max_bytes=0))
    assert (Care(db).stats().attachments, Care(db).stats().file_edits) == (0, 0)


def test_edits_travel_with_an_export_and_a_second_import_knows_them(db: SessionDB, tmp_path: Path) -> None:
    new_session(db, "s")
    turn(db, "s", "c1", b"a\0\xff", b"b")
    db.branch("s", "branch")
    file = exported(db, tmp_path)
    other = SessionDB.open(tmp_path / "other.db")
    assert import_file(other, file).sessions == 2
    assert import_file(other, file).skipped == 2
    for session in ("s", "branch"):
        (ours,), (theirs,) = db.edits(session), other.edits(session)
        assert evolve(ours, id=0) == evolve(theirs, id=0)
        assert theirs.before.hash and other.content(theirs.before.hash) == b"a\0\xff"
    assert Care(other).verify() == []
    other.close()


def test_an_export_without_secrets_tells_of_edits_and_leaves_the_contents_out(db: SessionDB, tmp_path: Path) -> None:
    new_session(db, "s")
    turn(db, "s", "c1", b"key = sk-abcdefghijklmnopqrstuvwxyz123456", b"b")
    file = exported(db, tmp_path, Redactor())
    other = SessionDB.open(tmp_path / "other.db")
    import_file(other, file)
    (theirs,) = other.edits("s")
    assert theirs.before.hash and other.content(theirs.before.hash) is None
    other.close()


def exported(db: SessionDB, folder: Path, redactor: Redactor | None = None) -> Path:
    file = folder / "sessions.jsonl"
    with file.open("w", encoding="utf-8", newline="\n") as out:
        lossless.write(db, chosen.all_nodes(db), out.write, redactor.text if redactor else None)
    return file


def test_in_another_programs_ledger_edits_are_kept_and_deleted_alike(hermes_path: Path) -> None:
    with_edits = SessionDB.open(hermes_path)
    session = with_edits.list_sessions().sessions[0].id
    edit(with_edits, session, b"a", b"b")
    assert told(with_edits.edits(session)) == ["c1"]
    with_edits.delete_session(session)
    assert rows(hermes_path, "SELECT * FROM file_edits") == rows(hermes_path, "SELECT * FROM attachments") == []
    with_edits.close()
