"""What a turn did to files is shown, taken back and brought back; what somebody else did since is not overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.editor import Editor, capabilities, never, refuse
from tests.clients.lab import Lab
from tests.clients.raw import RawClient, RpcError
from tests.stub_model import READ, WRITE, C, Step, T

PATCH = """*** Begin Patch
*** Update File: a.txt
*** Move to: moved.txt
@@
-one
+two
*** Delete File: gone.txt
*** Add File: sub/new.txt
+hello
*** End Patch"""


def replace(call: str, path: str, old: str, new: str) -> Step:
    return C(call, "edit_file", {"path": path, "old_text": old, "new_text": new})


async def changed(lab: Lab, client: RawClient) -> str:
    """A session whose only turn moved, deleted and made a file."""
    (lab.project / "a.txt").write_text("one\n")
    (lab.project / "gone.txt").write_text("keep me\n")
    (lab.project / "gone.txt").chmod(0o750)
    lab.model.add(C("c1", "apply_patch", {"patch": PATCH}), T("done"))
    session = await client.new(lab.project)
    await client.prompt(session, "patch it")
    assert files(lab.project) == {"moved.txt": "two\n", "sub/new.txt": "hello\n"}
    return session


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


BEFORE = {"a.txt": "one\n", "gone.txt": "keep me\n"}
AFTER = {"moved.txt": "two\n", "sub/new.txt": "hello\n"}


async def test_undo_shows_first_what_it_would_do_and_does_nothing(lab: Lab) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    told = (await client.prompt(session, "/undo")).text
    assert "“patch it”" in told and "/undo both" in told
    assert "`a.txt` is there again (+1 −0)" in told
    assert "`gone.txt` is there again (+1 −0)" in told
    assert "`moved.txt` is deleted again" in told and "`sub/new.txt` is deleted again" in told
    assert files(lab.project) == AFTER
    assert lab.query("SELECT count(*) FROM messages WHERE active = 0") == [(0,)]


async def test_files_go_back_and_come_again_and_the_conversation_stays(lab: Lab) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    await client.prompt(session, "/undo files")
    assert files(lab.project) == BEFORE
    assert (lab.project / "gone.txt").stat().st_mode & 0o777 == 0o750
    await client.prompt(session, "/redo")
    assert files(lab.project) == AFTER
    await client.prompt(session, "/undo files")
    assert files(lab.project) == BEFORE
    lab.model.add(T("and?"))
    await client.prompt(session, "go on")
    assert lab.model.requests[-1].texts("user") == ["patch it", "go on"]


async def test_both_takes_back_the_prompt_with_its_files_also_after_a_restart(lab: Lab) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    client = await lab.restart(client)
    await client.load(session, lab.project)
    await client.prompt(session, "/undo both")
    assert files(lab.project) == BEFORE
    lab.model.add(T("hi"))
    await client.prompt(session, "anew")
    assert lab.model.requests[-1].texts("user") == ["anew"]


async def test_the_conversation_alone_goes_back_as_ever(lab: Lab) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    assert "Files stay" in (await client.prompt(session, "/undo conversation")).text
    assert files(lab.project) == AFTER
    await client.prompt(session, "/undo files")
    assert files(lab.project) == BEFORE


async def test_what_somebody_else_changed_since_is_overwritten_on_the_word_only(lab: Lab) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    (lab.project / "moved.txt").write_text("two\nby hand\n")
    assert (
        "`moved.txt` is deleted again; **changed since by somebody else**"
        in (await client.prompt(session, "/undo")).text
    )
    await client.prompt(session, "/undo files")
    assert files(lab.project) == {**BEFORE, "moved.txt": "two\nby hand\n"}
    await client.prompt(session, "/redo")
    assert files(lab.project) == {"moved.txt": "two\nby hand\n", "sub/new.txt": "hello\n"}
    await client.prompt(session, "/undo files overwrite")
    assert files(lab.project) == BEFORE
    await client.prompt(session, "/redo")
    assert files(lab.project) == {"moved.txt": "two\nby hand\n", "sub/new.txt": "hello\n"}


async def test_turns_go_back_one_after_the_other_and_a_new_change_ends_the_way_forward(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("0\n")
    client = await lab.start()
    session = await client.new(lab.project)
    for n in range(3):
        lab.model.add(replace(f"c{n}", "a.txt", f"{n}\n", f"{n + 1}\n"), T("done"))
        await client.prompt(session, f"turn {n}")
    assert "“turn 2”" in (await client.prompt(session, "/undo files")).text
    assert "“turn 1”" in (await client.prompt(session, "/undo files")).text
    assert path.read_text() == "1\n"
    await client.prompt(session, "/redo")
    assert path.read_text() == "2\n"
    lab.model.add(replace("c9", "a.txt", "2\n", "new\n"), T("done"))
    await client.prompt(session, "otherwise")
    with pytest.raises(RpcError, match="nothing to bring back"):
        await client.prompt(session, "/redo")
    await client.prompt(session, "/undo files")
    assert path.read_text() == "2\n"


async def test_files_go_back_through_the_editor_where_it_offers_them(lab: Lab) -> None:
    path = str(lab.project / "a.txt")
    Path(path).write_text("on disk\n")
    lab.model.add(
        replace("c1", "a.txt", "unsaved", "edited"),
        C("c2", WRITE, {"path": "new.txt", "content": "hello\n"}),
        T("done"),
    )
    client = await lab.start(Editor(offers=capabilities(fs=True), buffers={path: "unsaved\n"}))
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    assert client.editor.buffers[path] == "edited\n"
    await client.prompt(session, "/undo files")
    assert client.editor.buffers == {path: "unsaved\n", str(lab.project / "new.txt"): ""}
    assert Path(path).read_text() == "on disk\n"
    client.editor.buffers[path] += "typed on\n"
    await client.prompt(session, "/redo")
    assert client.editor.buffers == {path: "unsaved\ntyped on\n", str(lab.project / "new.txt"): "hello\n"}


async def test_the_model_reads_a_restored_file_anew_before_it_writes_it(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("one\n")
    lab.model.add(C("c1", READ, {"path": "a.txt"}), C("c2", WRITE, {"path": "a.txt", "content": "two\n"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "write")
    await client.prompt(session, "/undo files")
    lab.model.add(C("c3", WRITE, {"path": "a.txt", "content": "three\n"}), T("refused"))
    turn = await client.prompt(session, "write again")
    assert turn.call("c3")["status"] == "failed"
    assert (lab.project / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("words", ["/undo everything", "/undo files please", "/undo overwrite", "/redo files"])
async def test_words_that_mean_nothing_are_refused(lab: Lab, words: str) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    with pytest.raises(RpcError, match="Type `/"):
        await client.prompt(session, words)
    assert files(lab.project) == AFTER


async def test_who_opens_a_session_is_told_once_which_files_are_not_as_it_left_them(lab: Lab) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    (lab.project / "moved.txt").write_text("by hand\n")
    client = await lab.restart(client)
    await client.load(session, lab.project)
    lab.model.add(T("one"), T("two"))
    first, second = [(await client.prompt(session, text)).text for text in ("go on", "and on")]
    assert "Files are not as the conversation left them: moved.txt" in first and "new.txt" not in first
    assert "not as the conversation" not in second


async def test_files_that_are_as_the_session_left_them_are_not_worth_a_word(lab: Lab) -> None:
    client = await lab.start()
    session = await changed(lab, client)
    client = await lab.restart(client)
    await client.load(session, lab.project)
    lab.model.add(T("one"))
    assert (await client.prompt(session, "go on")).text == "one"


async def test_a_branch_knows_the_files_of_the_message_where_it_begins(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("0\n")
    client = await lab.start()
    session = await client.new(lab.project)
    for n in range(2):
        lab.model.add(replace(f"c{n}", "a.txt", f"{n}\n", f"{n + 1}\n"), T(f"done {n}"))
        await client.prompt(session, f"turn {n}")
    at = lab.query("SELECT platform_message_id FROM messages WHERE content = 'done 0'")[0][0]
    assert "left them: a.txt" in (await client.prompt(session, f"/branch {at}")).text
    assert "left them" not in (await client.prompt(session, "/branch")).text

    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": [], "_meta": {"messageId": at}}
    fork = (await client.request("session/fork", params))["sessionId"]
    lab.model.add(T("hi"))
    assert "left them: a.txt" in (await client.prompt(fork, "hello")).text
    await client.prompt(fork, "/undo conversation")
    told = (await client.prompt(fork, "/undo")).text
    assert "`a.txt` goes back (+1 −1); **changed since by somebody else**" in told


async def test_two_sessions_that_change_one_file_do_not_undo_each_other(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("0\n")
    client = await lab.start()
    one, two = [await client.new(lab.project) for _ in range(2)]
    for session, old, new in ((one, "0\n", "0\none\n"), (two, "one\n", "one\ntwo\n")):
        lab.model.add(replace("c1", "a.txt", old, new), T("done"))
        await client.prompt(session, "edit")
    assert "changed since by somebody else" in (await client.prompt(one, "/undo files")).text
    assert path.read_text() == "0\none\ntwo\n"
    await client.prompt(two, "/undo files")
    assert path.read_text() == "0\none\n"
    await client.prompt(one, "/undo files")
    assert path.read_text() == "0\n"


async def test_a_deleted_session_leaves_nothing_of_the_files_it_changed(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("zebra-42\n")
    lab.model.add(replace("c1", "a.txt", "zebra-", "horse-"), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "edit")
    params = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
    fork = (await client.request("session/fork", params))["sessionId"]
    await client.request("session/delete", {"sessionId": session})
    assert lab.count("file_edits") == 1
    await client.request("session/delete", {"sessionId": fork})
    assert (lab.count("file_edits"), lab.count("attachments")) == (0, 0)
    client.eof()
    await client.ended()
    for file in lab.home.glob("state.db*"):
        assert b"zebra-42" not in file.read_bytes() and b"horse-42" not in file.read_bytes()


async def test_killed_between_snapshot_and_edit_the_file_is_as_it_was_and_earlier_turns_go_back(lab: Lab) -> None:
    """The editor never answers the write, so the process is killed exactly there."""
    path = str(lab.project / "a.txt")
    Path(path).write_text("0\n")
    client = await lab.start(Editor(offers=capabilities(fs=True), buffers={path: "0\n"}))
    session = await client.new(lab.project)
    lab.model.add(replace("c0", "a.txt", "0\n", "1\n"), T("done"))
    await client.prompt(session, "first")
    client.editor.overrides["fs/write_text_file"] = never
    lab.model.add(replace("c1", "a.txt", "1\n", "2\n"))
    await client.begin_prompt(session, "second")
    await client.until(lambda: len(client.received("fs/write_text_file")) == 2, "the write")
    assert lab.count("file_edits") == 2
    client = await lab.restart(client, Editor(offers=capabilities(fs=True), buffers={path: "1\n"}))
    await client.load(session, lab.project)
    assert "`a.txt` is already as it was" in (await client.prompt(session, "/undo")).text
    await client.prompt(session, "/undo both")
    await client.prompt(session, "/undo both")
    assert client.editor.buffers == {path: "0\n"}


async def test_an_edit_that_the_editor_refuses_is_not_on_record(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("0\n")
    offers = capabilities(fs=True)
    client = await lab.start(Editor(offers=offers, buffers={str(path): "unsaved\n"}))
    client.editor.overrides["fs/write_text_file"] = refuse(-32603, "not now")
    lab.model.add(replace("c1", "a.txt", "unsaved\n", "edited\n"), T("pity"))
    session = await client.new(lab.project)
    turn = await client.prompt(session, "edit")
    assert turn.call("c1")["status"] == "failed"
    assert lab.count("file_edits") == 0


async def test_a_large_file_is_changed_with_a_word_that_it_can_not_be_taken_back(lab: Lab) -> None:
    path = lab.project / "large.txt"
    path.write_bytes(b"first\n" + b"x" * (11 * 1024 * 1024))
    lab.model.add(replace("c1", "large.txt", "first\n", "second\n"), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    assert "can't be taken back" in (await client.prompt(session, "edit")).text
    assert "stays as it is: what it was is not kept" in (await client.prompt(session, "/undo")).text
    await client.prompt(session, "/undo files overwrite")
    assert path.read_bytes().startswith(b"second\n")


async def test_line_ends_encoding_and_mode_come_back_to_the_byte(lab: Lab) -> None:
    path = lab.project / "a.txt"
    old = "café one\r\ntwo\r\n".encode("latin-1")
    path.write_bytes(old)
    path.chmod(0o640)
    lab.model.add(replace("c1", "a.txt", "two", "three"), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "edit")
    new = path.read_bytes()
    path.chmod(0o600)
    await client.prompt(session, "/undo files")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (old, 0o640)
    await client.prompt(session, "/redo")
    assert path.read_bytes() == new


async def test_a_file_that_became_read_only_is_left_and_said(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("0\n")
    lab.model.add(replace("c1", "a.txt", "0\n", "1\n"), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "edit")
    path.chmod(0o444)
    assert "read-only" in (await client.prompt(session, "/undo files")).text
    assert path.read_text() == "1\n"
    path.chmod(0o644)
    await client.prompt(session, "/undo files")
    assert path.read_text() == "0\n"
