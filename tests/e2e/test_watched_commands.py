"""What a command does to files that the session has read or changed can be taken back too."""

from __future__ import annotations

from tests.clients.lab import Lab
from tests.stub_model import READ, SHELL, C, Step, T


def shell(call: str, command: str) -> Step:
    return C(call, SHELL, {"command": command})


async def test_a_command_that_changes_files_that_the_session_knows_is_taken_back(lab: Lab) -> None:
    for name in ("read.txt", "edited.txt", "unknown.txt"):
        (lab.project / name).write_text("0\n")
    edit = {"path": "edited.txt", "old_text": "0", "new_text": "1"}
    lab.model.add(C("c1", READ, {"path": "read.txt"}), C("c2", "edit_file", edit), T("known"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "look")
    lab.model.add(shell("c3", "echo 2 > read.txt; rm edited.txt; echo 2 > unknown.txt"), T("done"))
    await client.prompt(session, "run it")
    told = (await client.prompt(session, "/blame read.txt:1")).text
    assert "“run it”" in told
    told = (await client.prompt(session, "/undo")).text
    assert "`read.txt` goes back" in told and "`edited.txt` is there again" in told and "unknown" not in told
    await client.prompt(session, "/undo files")
    assert [(lab.project / name).read_text() for name in ("read.txt", "edited.txt", "unknown.txt")] == [
        "0\n",
        "1\n",
        "2\n",
    ]


async def test_a_binary_file_goes_back_to_the_byte(lab: Lab) -> None:
    path = lab.project / "a.bin"
    path.write_text("text\n")
    lab.model.add(C("c1", READ, {"path": "a.bin"}), shell("c2", "printf 'a\\0b\\377' > a.bin"), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "make it binary")
    assert path.read_bytes() == b"a\0b\xff"
    await client.prompt(session, "/undo files")
    assert path.read_bytes() == b"text\n"
    await client.prompt(session, "/redo")
    assert path.read_bytes() == b"a\0b\xff"


async def test_a_link_that_a_command_put_in_the_place_of_a_file_goes_back_to_the_file_and_the_link_comes_again(
    lab: Lab,
) -> None:
    path, other = lab.project / "a.txt", lab.project / "other.txt"
    path.write_text("0\n")
    other.write_text("other\n")
    lab.model.add(C("c1", READ, {"path": "a.txt"}), shell("c2", "ln -sf other.txt a.txt"), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "link it")
    await client.prompt(session, "/undo files")
    assert (path.is_symlink(), path.read_text(), other.read_text()) == (False, "0\n", "other\n")
    await client.prompt(session, "/redo")
    assert (path.is_symlink(), path.read_text()) == (True, "other\n")


async def test_an_edit_beside_a_command_is_the_edits_alone(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("0\n")
    edit = C("c2", "edit_file", {"path": "a.txt", "old_text": "0", "new_text": "1"})
    wait = "until grep -q 1 a.txt; do sleep 0.05; done"
    lab.model.add(C("c0", READ, {"path": "a.txt"}), shell("c1", wait) + edit, T("done"))
    client = await lab.start()
    await client.prompt(await client.new(lab.project), "both")
    assert lab.query("SELECT call_id, kind FROM file_edits") == [("c2", "edit")]


async def test_a_cancelled_command_is_kept_as_far_as_it_came(lab: Lab) -> None:
    path = lab.project / "a.txt"
    path.write_text("0\n")
    lab.model.add(C("c1", READ, {"path": "a.txt"}), shell("c2", "echo 1 > a.txt; touch there; sleep 60"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await client.until((lab.project / "there").exists, "the command being half done")
    assert await turn.cancel(5) == "cancelled"
    await client.prompt(session, "/undo files")
    assert path.read_text() == "0\n"


async def test_a_mode_that_a_command_changed_goes_back(lab: Lab) -> None:
    path = lab.project / "run.sh"
    path.write_text("echo hi\n")
    path.chmod(0o640)
    lab.model.add(C("c1", READ, {"path": "run.sh"}), C("c2", SHELL, {"command": "chmod 755 run.sh"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    await client.prompt(session, "go")
    assert path.stat().st_mode & 0o777 == 0o755
    await client.prompt(session, "/undo files")
    assert path.stat().st_mode & 0o777 == 0o640
    await client.prompt(session, "/redo")
    assert path.stat().st_mode & 0o777 == 0o755
