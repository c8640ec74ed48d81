"""edit_file: the right place, once, and not a byte elsewhere."""

from __future__ import annotations

import codecs
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.errors import ToolError
from acp_adapter.tools.replace import replaced
from acp_adapter.tools.text import Text, decode
from tests.tools.bench import Bench


async def test_the_text_is_replaced_and_the_place_told(bench: Bench) -> None:
    (bench.cwd / "a.py").write_text("a = 1\nb = 2\n")
    result = await bench.call("edit_file", path="a.py", old_text="b = 2", new_text="b = 3")
    assert (bench.cwd / "a.py").read_text() == "a = 1\nb = 3\n"
    assert result.text == "Edited a.py at line 2."
    assert [(at.path, at.line) for at in result.locations] == [(str(bench.cwd / "a.py"), 2)]
    assert result.shown[0] == {
        "type": "diff",
        "path": str(bench.cwd / "a.py"),
        "oldText": "a = 1\nb = 2\n",
        "newText": "a = 1\nb = 3\n",
    }


async def test_an_ambiguous_text_is_refused_with_its_places(bench: Bench) -> None:
    (bench.cwd / "a.py").write_text("x\ny\nx\n")
    said = await bench.refused("edit_file", path="a.py", old_text="x", new_text="z")
    assert said.startswith("old_text is in the file 2 times (at lines 1, 3).")
    await bench.call("edit_file", path="a.py", old_text="x", new_text="z", replace_all=True)
    assert (bench.cwd / "a.py").read_text() == "z\ny\nz\n"


async def test_a_text_that_is_not_there_is_refused_with_the_nearest_lines(bench: Bench) -> None:
    (bench.cwd / "a.py").write_text("def area(width, height):\n    return width * height\n")
    said = await bench.refused("edit_file", path="a.py", old_text="  return width*height", new_text="x")
    assert "not in the file" in said
    assert "line 2" in said
    assert said.endswith("\n    return width * height")


def test_a_hint_is_found_in_bounded_time() -> None:
    began = time.process_time()
    with pytest.raises(ToolError, match="not in the file"):
        replaced(Text("ab" * 1_000_000 + "\n" + ("ab" * 60 + "\n") * 20_000), "ba" * 1_000_000, "x")
    assert time.process_time() - began < 10


async def test_a_missing_file_is_not_made(bench: Bench) -> None:
    said = await bench.refused("edit_file", path="no.py", old_text="a", new_text="b")
    assert said == "There is no file no.py. Use write_file to make one."


@pytest.mark.parametrize(("old", "new", "said"), [("", "x", "old_text is empty"), ("a\r\n", "a\n", "the same")])
def test_an_edit_without_a_change_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        replaced(Text("a\n"), old, new)


async def test_a_hopeless_edit_fails_before_anyone_is_asked(bench: Bench) -> None:
    (bench.cwd / "a.py").write_text("x\n")
    with pytest.raises(ToolError, match="not in the file"):
        await bench.intent("edit_file", path="a.py", old_text="y", new_text="z")


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x\ny", "x\r\ny\r\n"),
        ("a\nb\nc\r\n", "a\nb", "x\ny", "x\ny\nc\r\n"),
        ("a\r\nb\r\nc\n", "c", "x\ny", "a\r\nb\r\nx\r\ny\n"),
        ("a\r\nb", "\n", "-", "a-b"),
        ("a\r\n\r\nb\r\n", "\n\nb", "\nb", "a\r\nb\r\n"),
        ("a\nb\n", "b\n", "b", "a\nb"),
    ],
)
def test_line_ends_are_those_of_the_file(before: str, old: str, new: str, after: str) -> None:
    assert replaced(Text(before), old, new)[0].text == after


ENCODINGS = {
    "utf-8": b"",
    "utf-8 with mark": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "cp1252": b"",
}
words = st.text(alphabet="ab \t\f\x85\u2028é€x", max_size=8)
newlines = st.sampled_from(["\n", "\r\n"])
files = st.lists(st.tuples(words, newlines), max_size=6).map(lambda lines: "".join(w + n for w, n in lines))


@given(
    encoding=st.sampled_from(sorted(ENCODINGS)),
    before=files,
    after=files,
    old=st.lists(words, min_size=1, max_size=3),
    new=st.lists(words, min_size=1, max_size=3),
    newline=newlines,
)
def test_all_bytes_around_an_edit_stay(
    encoding: str, before: str, after: str, old: list[str], new: list[str], newline: str
) -> None:
    codec, mark = encoding.removesuffix(" with mark"), ENCODINGS[encoding]
    if codec == "cp1252":
        before, after = (
            "é" + before.replace("\x85", "").replace("\u2028", ""),
            after.replace("\x85", "").replace("\u2028", ""),
        )
        old, new = ([word.replace("\x85", "").replace("\u2028", "") for word in each] for each in (old, new))
    # The markers make the old text unique, and its own line end tells which the new one gets.
    old, new = ["<", *old, ">"], ["[", *new, "]"]
    data = mark + (before + newline.join(old) + after).encode(codec)
    edited, lines = replaced(decode(data), "\n".join(old), "\n".join(new))
    assert edited.encode() == mark + (before + newline.join(new) + after).encode(codec)
    assert lines == [before.count("\n") + 1]


@given(st.binary(max_size=200))
def test_every_text_that_is_read_is_written_back_as_it_was(data: bytes) -> None:
    from acp_adapter.tools.text import NotText

    try:
        text = decode(data)
    except NotText:
        return
    assert text.encode() == data
