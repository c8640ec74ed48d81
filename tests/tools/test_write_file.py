"""write_file: nothing is lost, neither what others wrote nor the old file when the disk is full."""

from __future__ import annotations

import asyncio
import codecs
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from acp_adapter.errors import ToolError
from acp_adapter.tools import disk
from tests.tools.bench import Bench, FakeEditor

POSIX = pytest.mark.skipif(os.name != "posix", reason="POSIX file modes and links")


async def test_a_new_file_is_made_with_its_folders(bench: Bench) -> None:
    result = await bench.call("write_file", path="src/deep/a.py", content="x = 1\n")
    path = bench.cwd / "src/deep/a.py"
    assert path.read_bytes() == b"x = 1\n"
    assert result.text == "Created src/deep/a.py (1 lines)."
    assert result.shown == [{"type": "diff", "path": str(path), "oldText": None, "newText": "x = 1\n"}]


async def test_the_intent_shows_the_diff_and_changes_nothing(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("old\n")
    await bench.call("read_file", path="a.txt")
    intent = await bench.intent("write_file", path="a.txt", content="new\n")
    assert (intent.kind, intent.action, list(intent.paths)) == ("edit", "edit", [bench.cwd / "a.txt"])
    assert intent.preview[0]["oldText"] == "old\n"
    assert intent.preview[0]["newText"] == "new\n"
    assert (bench.cwd / "a.txt").read_text() == "old\n"


async def test_an_existing_file_must_have_been_read(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("precious\n")
    assert "Read it before you write it" in await bench.refused("write_file", path="a.txt", content="x")
    await bench.call("read_file", path="a.txt")
    await bench.call("write_file", path="a.txt", content="x\n")
    assert (bench.cwd / "a.txt").read_text() == "x\n"


async def test_a_file_that_changed_since_it_was_read_is_not_overwritten(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_text("one\n")
    await bench.call("read_file", path="a.txt")
    path.write_text("the user's\n")
    said = await bench.refused("write_file", path="a.txt", content="mine\n")
    assert said == f"{path} has changed since it was read. Read it again before you write it."
    assert path.read_text() == "the user's\n"
    path.unlink()
    assert "was removed since it was read" in await bench.refused("write_file", path="a.txt", content="mine\n")


async def test_a_change_between_permission_and_writing_is_seen(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_text("one\n")
    await bench.call("read_file", path="a.txt")
    tool, context = bench.tools["write_file"], bench.context()
    args = {"path": "a.txt", "content": "mine\n"}
    await tool.intent(args, context)
    path.write_text("saved by the user while asked\n")
    with pytest.raises(ToolError, match="has changed since it was read"):
        await tool.run(args, context)
    assert path.read_text() == "saved by the user while asked\n"


async def test_own_writes_are_known(bench: Bench) -> None:
    for content in ("one\n", "two\n", "three\n"):
        await bench.call("write_file", path="a.txt", content=content)
    assert (bench.cwd / "a.txt").read_text() == "three\n"


async def test_a_part_changed_in_an_unseen_file_leaves_it_unseen(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("one\nunseen\n")
    await bench.call("edit_file", path="a.txt", old_text="one", new_text="two")
    assert "Read it before you write it" in await bench.refused("write_file", path="a.txt", content="x")


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"a\rb\r", "c\nd\n", b"c\rd\r"),
        (b"a\n", "c\r\nd\r\n", b"c\r\nd\r\n"),
        (b"a\n", "no final end", b"no final end\n"),
        (b"a", "no final end", b"no final end"),
        (b"a\n", "", b""),
        (codecs.BOM_UTF8 + b"a\n", "é\n", codecs.BOM_UTF8 + "é\n".encode()),
        (codecs.BOM_UTF16_LE + "a\r\n".encode("utf-16-le"), "é\n", codecs.BOM_UTF16_LE + "é\r\n".encode("utf-16-le")),
        ("ä\n".encode("cp1252"), "ö\n", "ö\n".encode("cp1252")),
    ],
)
async def test_a_file_keeps_its_encoding_mark_line_ends_and_final_end(
    bench: Bench, before: bytes, content: str, after: bytes
) -> None:
    path = bench.cwd / "a.txt"
    path.write_bytes(before)
    await bench.call("read_file", path="a.txt")
    await bench.call("write_file", path="a.txt", content=content)
    assert path.read_bytes() == after


async def test_a_character_that_the_encoding_lacks_is_named_and_nothing_is_written(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_bytes("ä\n".encode("cp1252"))
    await bench.call("read_file", path="a.txt")
    said = await bench.refused("write_file", path="a.txt", content="→\n")
    assert said == "The file is cp1252 and can't hold '→' (U+2192). Leave that character out."
    assert path.read_bytes() == "ä\n".encode("cp1252")


@POSIX
async def test_mode_bits_stay_and_new_files_follow_the_umask(bench: Bench) -> None:
    path = bench.cwd / "run.sh"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o750)
    await bench.call("read_file", path="run.sh")
    await bench.call("write_file", path="run.sh", content="#!/bin/sh\necho\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    old = os.umask(0o027)
    try:
        await bench.call("write_file", path="new.txt", content="x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((bench.cwd / "new.txt").stat().st_mode) == 0o640


@POSIX
async def test_a_read_only_file_is_refused_even_where_the_folder_would_allow_it(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_text("x\n")
    path.chmod(0o444)
    await bench.call("read_file", path="a.txt")
    assert "is read-only" in await bench.refused("write_file", path="a.txt", content="y\n")
    assert path.read_text() == "x\n"


@POSIX
async def test_a_symlink_stays_and_its_target_is_written(bench: Bench) -> None:
    (bench.cwd / "real.txt").write_text("x\n")
    (bench.cwd / "link.txt").symlink_to("real.txt")
    await bench.call("read_file", path="link.txt")
    await bench.call("write_file", path="link.txt", content="y\n")
    assert (bench.cwd / "link.txt").is_symlink()
    assert (bench.cwd / "real.txt").read_text() == "y\n"


@POSIX
async def test_a_path_that_leads_elsewhere_after_the_permission_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    (bench.cwd / "inside.txt").write_text("")
    link = bench.cwd / "link.txt"
    link.symlink_to("inside.txt")
    tool, context = bench.tools["write_file"], bench.context()
    args = {"path": "link.txt", "content": "evil\n"}
    await tool.intent(args, context)
    link.unlink()
    link.symlink_to(outside)
    with pytest.raises(ToolError, match="leads to another place now"):
        await tool.run(args, context)
    assert not outside.exists()


async def test_nothing_but_the_file_is_left_in_the_folder(bench: Bench) -> None:
    await bench.call("write_file", path="a.txt", content="x\n")
    assert [path.name for path in bench.cwd.iterdir()] == ["a.txt"]


@POSIX
def test_a_full_disk_leaves_the_old_file_and_no_other(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("old\n")
    program = (
        "import resource, signal, sys, pathlib; from acp_adapter.tools import disk\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "disk.write(pathlib.Path(sys.argv[1]), b'x' * 1000)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, bench.cwd / "a.txt"], capture_output=True, text=True, timeout=30
    )
    assert "can't be written: File too large. It is unchanged." in ran.stderr
    assert [(path.name, path.read_text()) for path in bench.cwd.iterdir()] == [("a.txt", "old\n")]


async def test_a_write_that_is_cancelled_on_the_way_is_done_and_known(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_the_way, go_on, write = threading.Event(), threading.Event(), disk.write

    def slow_write(path: Path, data: bytes) -> None:
        on_the_way.set()
        assert go_on.wait(10)
        write(path, data)

    monkeypatch.setattr(disk, "write", slow_write)
    task = asyncio.create_task(bench.call("write_file", path="a.txt", content="new\n"))
    await asyncio.to_thread(on_the_way.wait, 10)
    task.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert (bench.cwd / "a.txt").read_text() == "new\n"
    await bench.call("write_file", path="a.txt", content="next\n")


async def test_a_reader_never_sees_a_part(bench: Bench) -> None:
    path, contents, seen = bench.cwd / "a.txt", ("a" * 3_000_000, "b" * 3_000_000), set()
    path.write_text(contents[0])
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add(path.read_text())

    looking = asyncio.create_task(asyncio.to_thread(look))
    for n in range(10):
        await asyncio.to_thread(disk.write, path, contents[n % 2].encode())
    done.set()
    await looking
    assert seen <= set(contents)


@POSIX
async def test_a_hard_link_keeps_the_old_content(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("old\n")
    (bench.cwd / "copy.txt").hardlink_to(bench.cwd / "a.txt")
    await bench.call("edit_file", path="a.txt", old_text="old", new_text="new")
    assert (bench.cwd / "copy.txt").read_text() == "old\n"


async def test_edits_of_one_file_at_once_all_arrive(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("".join(f"<{n}>\n" for n in range(20)))
    edits = [bench.call("edit_file", path="a.txt", old_text=f"<{n}>", new_text=f"[{n}]") for n in range(20)]
    await asyncio.gather(*edits)
    assert (bench.cwd / "a.txt").read_text() == "".join(f"[{n}]\n" for n in range(20))


async def test_the_editor_gets_what_it_takes(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_text("saved\n")
    editor = bench.editor = FakeEditor(buffers={path: "unsaved\n"})
    await bench.call("read_file", path="a.txt")
    result = await bench.call("write_file", path="a.txt", content="new\n")
    assert editor.buffers[path] == "new\n"
    assert path.read_text() == "saved\n"
    assert result.shown[0]["oldText"] == "unsaved\n"


async def test_a_buffer_that_the_user_changed_since_is_not_overwritten(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_text("one\n")
    editor = bench.editor = FakeEditor(buffers={path: "one\n"})
    await bench.call("read_file", path="a.txt")
    editor.buffers[path] = "the user types\n"
    assert "has changed since it was read" in await bench.refused("write_file", path="a.txt", content="new\n")
    assert editor.buffers[path] == "the user types\n"


async def test_a_new_file_goes_to_the_editor(bench: Bench) -> None:
    editor = bench.editor = FakeEditor()
    await bench.call("write_file", path="new.txt", content="x\n")
    assert editor.buffers == {bench.cwd / "new.txt": "x\n"}


async def test_an_existing_file_that_the_editor_does_not_know_is_written_on_disk(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_bytes(b"a\r\n")
    editor = bench.editor = FakeEditor()
    await bench.call("edit_file", path="a.txt", old_text="a\n", new_text="b\nc\n")
    assert (path.read_bytes(), editor.written) == (b"b\r\nc\r\n", [])


async def test_an_editor_that_only_reads_does_not_lose_its_unsaved_changes(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_bytes(b"saved\r\n")
    editor = bench.editor = FakeEditor(can_write=False, buffers={path: "unsaved\n"})
    await bench.call("read_file", path="a.txt")
    assert "has unsaved changes in the editor" in await bench.refused("write_file", path="a.txt", content="new\n")
    assert path.read_bytes() == b"saved\r\n"
    editor.buffers[path] = "saved\n"
    await bench.call("read_file", path="a.txt")
    await bench.call("write_file", path="a.txt", content="new\n")
    assert path.read_bytes() == b"new\r\n"


async def test_a_long_diff_is_told_in_words(bench: Bench) -> None:
    result = await bench.call("write_file", path="a.txt", content="x" * 200_001)
    assert result.shown[0]["type"] == "content"
    assert "too long to show as a diff" in result.shown[0]["content"]["text"]


async def test_no_preview_tells_of_a_file_outside_before_that_is_permitted(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret\n")
    intent = await bench.intent("edit_file", path=str(outside), old_text="guess", new_text="x")
    assert (list(intent.paths), list(intent.preview)) == ([outside], [])
