"""read_file: what a model gets of a file, and what it is told where it can't have it."""

from __future__ import annotations

import codecs
import os

import pytest

from acp_adapter.tools.files import BYTES, LINES
from tests.tools.bench import Bench, FakeEditor


async def test_a_file_is_read_as_it_is(bench: Bench) -> None:
    (bench.cwd / "a.py").write_text("x = 1\n\nprint(x)")
    assert await bench.text("read_file", path="a.py") == "x = 1\n\nprint(x)"


async def test_the_intent_names_the_file_and_its_place(bench: Bench) -> None:
    intent = await bench.intent("read_file", path="src/../a.py", line=7)
    assert (intent.title, intent.kind, intent.action) == ("Read a.py from line 7", "read", "read")
    assert list(intent.paths) == [bench.cwd / "a.py"]
    assert (intent.locations[0].path, intent.locations[0].line) == (str(bench.cwd / "a.py"), 7)


async def test_a_long_file_comes_in_parts_that_join_to_the_whole(bench: Bench) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 2 * LINES + 100))
    (bench.cwd / "long.txt").write_text(text)
    first = await bench.text("read_file", path="long.txt")
    assert first.endswith(f"[Lines 1 to {LINES} of {2 * LINES + 99}; go on with line={LINES + 1}.]")
    parts, line = [], 1
    while True:
        part = await bench.text("read_file", path="long.txt", line=line)
        body, bracket, _ = part.partition("[Lines ")
        parts.append(body)
        if not bracket:
            break
        line += LINES
    assert "".join(parts) == text


async def test_limit_and_line_choose_the_part(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("1\n2\n3\n4\n")
    assert (
        await bench.text("read_file", path="a.txt", line=2, limit=2) == "2\n3\n[Lines 2 to 3 of 4; go on with line=4.]"
    )


async def test_a_line_beyond_the_end_is_told(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("1\n2\n")
    assert await bench.refused("read_file", path="a.txt", line=3) == "The file has 2 lines, so there is no line 3."


async def test_one_endless_line_is_cut(bench: Bench) -> None:
    (bench.cwd / "min.js").write_text("é" * BYTES)
    text = await bench.text("read_file", path="min.js")
    assert len(text.encode()) < BYTES + 100
    assert text.endswith(f"\n[Line 1 is too long and was cut at {BYTES:,} bytes.]")


async def test_an_empty_file_is_told_to_be_empty(bench: Bench) -> None:
    (bench.cwd / "empty").touch()
    assert await bench.text("read_file", path="empty") == "[The file is empty.]"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (codecs.BOM_UTF8 + "é\n".encode(), "é\n"),
        (codecs.BOM_UTF16_LE + "é\n".encode("utf-16-le"), "é\n[The file's encoding is utf-16-le.]"),
        (codecs.BOM_UTF16_BE + "日本".encode("utf-16-be"), "日本\n[The file's encoding is utf-16-be.]"),
        (codecs.BOM_UTF32_LE + "é\n".encode("utf-32-le"), "é\n[The file's encoding is utf-32-le.]"),
        ("na\u00efve \u201cquote\u201d\n".encode("cp1252"), "naïve “quote”\n[The file's encoding is cp1252.]"),
        (b"odd \x81\n", "odd \x81\n[The file's encoding is latin-1.]"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\x0cb\n", "a\x0cb\n"),
    ],
)
async def test_text_is_read_in_its_encoding(bench: Bench, data: bytes, text: str) -> None:
    (bench.cwd / "a.txt").write_bytes(data)
    assert await bench.text("read_file", path="a.txt") == text


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "it is a PNG file (10 bytes)"),
        (b"\xff\xd8\xff\xe0\0\0", "it is a JPEG file (6 bytes)"),
        (b"\x7fELF\x02\0\0\0", "it is binary (8 bytes)"),
        (b"\xfe\x01\x02\x03", "it is binary (4 bytes)"),
        (codecs.BOM_UTF16_LE + b"a", "it begins like UTF-16-LE text but is not (truncated data) (3 bytes)"),
    ],
)
async def test_what_is_no_text_is_refused_by_its_kind_and_size(bench: Bench, data: bytes, what: str) -> None:
    (bench.cwd / "x").write_bytes(data)
    assert await bench.refused("read_file", path="x") == f"{bench.cwd / 'x'} can't be read as text: {what}."


async def test_a_folder_is_refused_and_the_right_tool_named(bench: Bench) -> None:
    assert await bench.refused("read_file", path=".") == f"{bench.cwd} is a folder. Use list_directory."


async def test_a_missing_file_is_told(bench: Bench) -> None:
    assert (await bench.refused("read_file", path="no.txt")).startswith("There is no file no.txt.")


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
async def test_a_pipe_does_not_hold_the_tool(bench: Bench) -> None:
    os.mkfifo(bench.cwd / "pipe")
    assert "not a regular file" in await bench.refused("read_file", path="pipe")


async def test_a_huge_file_is_refused_with_what_to_use_instead(bench: Bench) -> None:
    with (bench.cwd / "huge.log").open("wb") as file:
        file.truncate(30 * 1024 * 1024)
    assert "too large to read whole (31,457,280 bytes). Use grep" in await bench.refused("read_file", path="huge.log")


async def test_the_editors_unsaved_buffer_counts(bench: Bench) -> None:
    path = bench.cwd / "a.txt"
    path.write_text("saved")
    bench.editor = FakeEditor(buffers={path: "unsaved"})
    assert await bench.text("read_file", path="a.txt") == "unsaved"


async def test_a_file_that_the_editor_does_not_know_comes_from_disk(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("on disk")
    bench.editor = FakeEditor()
    assert await bench.text("read_file", path="a.txt") == "on disk"


async def test_an_editor_that_does_not_answer_is_not_worked_around(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("on disk")
    bench.editor = FakeEditor(silent=True)
    assert "The editor did not answer" in await bench.refused("read_file", path="a.txt")


async def test_an_editor_that_gives_nothing_for_a_missing_file_does_not_make_it_exist(bench: Bench) -> None:
    bench.editor = FakeEditor(buffers={bench.cwd / "no.txt": ""})
    assert (await bench.refused("read_file", path="no.txt")).startswith("There is no file")


@pytest.mark.skipif(os.name != "posix", reason="symlinks")
async def test_the_editor_is_asked_by_its_own_spelling_of_the_folder(bench: Bench) -> None:
    real, link = bench.cwd, bench.cwd.with_name("link")
    link.symlink_to(real)
    (real / "a.txt").write_text("saved")
    bench.cwd = link
    bench.editor = FakeEditor(buffers={link / "a.txt": "unsaved"})
    assert await bench.text("read_file", path="a.txt") == "unsaved"
    intent = await bench.intent("read_file", path=str(real / "a.txt"))
    assert list(intent.paths) == [real / "a.txt"]
    assert (intent.title, intent.locations[0].path) == ("Read a.txt", str(link / "a.txt"))
