"""Files go through the editor where it offers that: unsaved buffers count, and its refusals are the tool's."""

from __future__ import annotations

import pytest

from tests.clients import editor
from tests.clients.editor import Editor, capabilities
from tests.clients.lab import Lab
from tests.stub_model import READ, WRITE, C, T


async def test_an_unsaved_buffer_is_what_the_model_reads(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("on disk\n")
    lab.model.add(C("c1", READ, {"path": "a.txt"}), T("done"))
    client = await lab.start(Editor(offers=capabilities(fs=True), buffers={str(path): "unsaved\n"}))
    await client.prompt(await client.new(lab.project), "go")
    (told,) = lab.model.requests[-1].texts("tool")
    assert "unsaved" in told and "on disk" not in told


async def test_an_edit_changes_the_buffer_and_not_the_disk_behind_it(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("on disk\n")
    lab.model.add(
        C("c1", READ, {"path": "a.txt"}),
        C("c2", "edit_file", {"path": "a.txt", "old_text": "unsaved", "new_text": "edited"}),
        T("done"),
    )
    client = await lab.start(Editor(offers=capabilities(fs=True), buffers={str(path): "unsaved\n"}))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.call("c2")["status"] == "completed"
    assert client.editor.buffers[str(path)] == "edited\n"
    assert path.read_text() == "on disk\n"
    (diff,) = [shown for shown in turn.call("c2")["content"] if shown["type"] == "diff"]
    assert (diff["path"], diff["oldText"], diff["newText"]) == (str(path), "unsaved\n", "edited\n")
    await lab.assert_replay_equals_live(client, session)


async def test_a_new_file_is_written_through_the_editor(lab: Lab) -> None:
    lab.model.add(C("c1", WRITE, {"path": "sub/new.txt", "content": "hello\n"}), T("done"))
    client = await lab.start(Editor(offers=capabilities(fs=True)))
    turn = await client.prompt(await client.new(lab.project), "go")
    assert turn.call("c1")["status"] == "completed"
    assert client.editor.buffers == {str(lab.project / "sub/new.txt"): "hello\n"}


async def test_a_buffer_that_changed_since_it_was_read_is_not_overwritten(lab: Lab) -> None:
    path = str(lab.project / "a.txt")
    edit = C("c2", "edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"})
    lab.model.add(C("c1", READ, {"path": "a.txt"}), T("read"), edit, T("refused"))
    client = await lab.start(Editor(offers=capabilities(fs=True), buffers={path: "one\n"}))
    session = await client.new(lab.project)
    await client.prompt(session, "read")
    client.editor.buffers[path] = "one, and the user typed on\n"
    turn = await client.prompt(session, "edit")
    assert turn.call("c2")["status"] == "failed"
    assert client.editor.buffers[path] == "one, and the user typed on\n"


async def test_a_file_that_the_editor_says_it_can_not_give_is_read_from_disk(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("on disk")
    lab.model.add(C("c1", READ, {"path": "a.txt"}), T("ok"))
    refusal = editor.refuse(-32603, "not in this project")
    client = await lab.start(Editor(offers=capabilities(fs=True), overrides={"fs/read_text_file": refusal}))
    turn = await client.prompt(await client.new(lab.project), "go")
    assert turn.call("c1")["status"] == "completed"
    assert "on disk" in lab.model.requests[-1].texts("tool")[0]


@pytest.mark.parametrize("nonsense", [None, {"content": 5}, "text", [], {}], ids=repr)
async def test_an_editor_that_answers_nonsense_fails_the_call_and_the_turn_goes_on(lab: Lab, nonsense: object) -> None:
    (lab.project / "a.txt").write_text("x")
    lab.model.add(C("c1", READ, {"path": "a.txt"}), T("pity"))
    overrides = {"fs/read_text_file": editor.answer(nonsense)}
    client = await lab.start(Editor(offers=capabilities(fs=True), overrides=overrides))
    turn = await client.prompt(await client.new(lab.project), "go")
    assert (turn.stop_reason, turn.text, turn.call("c1")["status"]) == ("end_turn", "pity", "failed")


async def test_a_turn_that_waits_for_a_silent_editor_can_be_cancelled(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("x")
    lab.model.add(C("c1", READ, {"path": "a.txt"}))
    client = await lab.start(Editor(offers=capabilities(fs=True), overrides={"fs/read_text_file": editor.never}))
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await client.until(lambda: client.received("fs/read_text_file"), "the question for the file")
    assert await turn.cancel(2) == "cancelled"


async def test_only_reading_offered_means_writing_goes_to_the_disk(lab: Lab) -> None:
    offers = {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": False}
    path = lab.project / "a.txt"
    lab.model.add(C("c1", WRITE, {"path": "a.txt", "content": "hello\n"}), T("done"))
    client = await lab.start(Editor(offers=offers))
    await client.prompt(await client.new(lab.project), "go")
    assert path.read_text() == "hello\n"


async def test_without_the_editor_files_keep_line_ends_encoding_and_mode(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_bytes("caf\u00e9 one\r\ntwo\r\n".encode("latin-1"))
    path.chmod(0o640)
    lab.model.add(
        C("c1", READ, {"path": "a.txt"}),
        C("c2", "edit_file", {"path": "a.txt", "old_text": "two", "new_text": "three"}),
        T("done"),
    )
    client = await lab.start()
    turn = await client.prompt(await client.new(lab.project), "go")
    assert turn.call("c2")["status"] == "completed"
    assert path.read_bytes() == "caf\u00e9 one\r\nthree\r\n".encode("latin-1")
    assert path.stat().st_mode & 0o777 == 0o640


async def test_a_file_that_changed_on_disk_since_it_was_read_is_not_overwritten(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("one\n")
    edit = C("c2", "edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"})
    lab.model.add(C("c1", READ, {"path": "a.txt"}), T("read"), edit, T("refused"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "read")
    path.write_text("one, and somebody typed on\n")
    turn = await client.prompt(session, "edit")
    assert turn.call("c2")["status"] == "failed"
    assert path.read_text() == "one, and somebody typed on\n"
