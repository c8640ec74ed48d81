"""apply_patch: what a patch may say, where its hunks are found, and that a patch which does not fit changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.errors import ToolError
from acp_adapter.tools.patch import Hunk, applied, parse
from tests.tools.bench import Bench

THREE = """*** Begin Patch
*** Add File: new/a.txt
+one
+
+three
*** Update File: b.py
@@ def f():
 def g():
-    return 1
+    return 2
*** Delete File: old.txt
*** End Patch"""


async def test_files_are_added_changed_and_deleted_in_one_call(bench: Bench) -> None:
    (bench.cwd / "b.py").write_text("def f():\n    return 1\n\ndef g():\n    return 1\n")
    (bench.cwd / "old.txt").write_text("gone\n")
    result = await bench.call("apply_patch", patch=THREE)
    assert result.text.splitlines() == ["Created new/a.txt.", "Edited b.py.", "Deleted old.txt."]
    assert (bench.cwd / "new" / "a.txt").read_text() == "one\n\nthree\n"
    assert (bench.cwd / "b.py").read_text() == "def f():\n    return 1\n\ndef g():\n    return 2\n"
    assert not (bench.cwd / "old.txt").exists()
    assert [shown["type"] for shown in result.shown] == ["diff"] * 3


async def test_the_intent_names_every_file_and_shows_every_diff(bench: Bench) -> None:
    (bench.cwd / "b.py").write_text("def f():\ndef g():\n    return 1\n")
    (bench.cwd / "old.txt").write_text("gone\n")
    intent = await bench.intent("apply_patch", patch=THREE)
    assert (intent.kind, intent.action) == ("edit", "edit")
    assert [path.name for path in intent.paths] == ["a.txt", "b.py", "old.txt"]
    assert len(intent.preview) == 3
    assert not (bench.cwd / "new").exists()


async def test_a_patch_of_which_one_part_does_not_fit_changes_nothing(bench: Bench) -> None:
    (bench.cwd / "b.py").write_text("something else\n")
    (bench.cwd / "old.txt").write_text("stays\n")
    told = await bench.refused("apply_patch", patch=THREE)
    assert "does not hold the line 'def f():'" in told
    assert not (bench.cwd / "new").exists()
    assert (bench.cwd / "old.txt").read_text() == "stays\n"


async def test_a_file_is_moved_and_changed_at_once_and_nothing_is_overwritten(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("one\ntwo\n")
    move = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b/c.txt\n@@\n-two\n+zwei\n*** End Patch"
    await bench.call("apply_patch", patch=move)
    assert (bench.cwd / "b" / "c.txt").read_text() == "one\nzwei\n"
    assert not (bench.cwd / "a.txt").exists()
    (bench.cwd / "a.txt").write_text("one\ntwo\n")
    assert "exists already" in await bench.refused("apply_patch", patch=move)
    assert (bench.cwd / "a.txt").read_text() == "one\ntwo\n"


async def test_two_files_are_not_moved_to_one_place(bench: Bench) -> None:
    for name in ("a", "b"):
        (bench.cwd / name).write_text(f"one {name}\n")
    move = "*** Update File: {0}\n*** Move to: c\n@@\n-one {0}\n+two {0}\n"
    patch = f"*** Begin Patch\n{move.format('a')}{move.format('b')}*** End Patch"
    assert "makes c twice" in await bench.refused("apply_patch", patch=patch)
    assert sorted(path.name for path in bench.cwd.iterdir()) == ["a", "b"]


async def test_a_file_that_changed_since_it_was_read_is_not_patched(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("one\ntwo\n")
    await bench.call("read_file", path="a.txt")
    (bench.cwd / "a.txt").write_text("one\ntwo\nthree\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"
    assert "has changed since it was read" in await bench.refused("apply_patch", patch=patch)


async def test_adding_over_a_file_and_changing_or_deleting_none_is_refused(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("one\n")
    for section, told in {
        "*** Add File: a.txt\n+x": "exists already",
        "*** Update File: none.txt\n@@\n-x": "There is no file none.txt",
        "*** Delete File: none.txt": "There is no file none.txt",
    }.items():
        patch = f"*** Begin Patch\n{section}\n*** End Patch"
        assert told in await bench.refused("apply_patch", patch=patch)


async def test_line_ends_stay_as_they_are_and_new_lines_get_the_files_own(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\nfour\r\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+zwei\n+drei\n three\n*** End Patch"
    await bench.call("apply_patch", patch=patch)
    assert (bench.cwd / "a.txt").read_bytes() == b"one\r\nzwei\r\ndrei\r\nthree\nfour\r\n"


@pytest.mark.parametrize(
    ("patch", "told"),
    [
        ("", "begins with the line"),
        ("*** Begin Patch\n+x", "ends with"),
        ("*** Begin Patch\n*** End Patch", "changes no file"),
        ("*** Begin Patch\nstray\n*** End Patch", "Line 2 of the patch makes no sense"),
        ("*** Begin Patch\n*** Add File: a\nno plus\n*** End Patch", "Line 3"),
        ("*** Begin Patch\n*** Update File: a\n@@\n?x\n*** End Patch", "Line 4"),
        ("*** Begin Patch\n*** Add File: \n+x\n*** End Patch", "Line 2"),
    ],
)
def test_a_patch_that_makes_no_sense_is_told_where(patch: str, told: str) -> None:
    with pytest.raises(ToolError, match=told.replace("(", r"\(")):
        parse(patch)


def hunk(*lines: str, above: str = "", at_end: bool = False) -> Hunk:
    return Hunk(above, [(line[0], line[1:]) for line in lines], at_end)


def test_hunks_are_found_one_after_the_other() -> None:
    text = "a\nx\nb\nx\nc\nx\n"
    assert applied(text, [hunk(" b", "-x", "+y"), hunk("-x", "+z")]) == "a\nx\nb\ny\nc\nz\n"
    with pytest.raises(ToolError, match="does not hold these lines"):
        applied(text, [hunk(" c", "-x", "+y"), hunk(" a", "-x", "+z")])


def test_a_hunk_at_the_end_is_found_from_there() -> None:
    assert applied("x\ny\nx\n", [hunk("-x", "+z", at_end=True)]) == "x\ny\nz\n"
    assert applied("x\n", [hunk("+y", at_end=True)]) == "x\ny\n"
    assert applied("x\nz\n", [hunk("+y", above="x")]) == "x\ny\nz\n"


def test_lines_that_a_model_remembers_a_little_wrong_are_found_and_kept_as_they_are() -> None:
    text = "  say(‘hi’)  \nnext\n"
    assert applied(text, [hunk(" say('hi')", "-next", "+last")]) == "  say(‘hi’)  \nlast\n"


@given(st.lists(st.text("ab ", max_size=3), min_size=1, max_size=8), st.data())
def test_a_hunk_made_of_the_files_own_lines_always_fits(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(start + 1, len(lines)))
    text = "\n".join(lines) + "\n"
    made = hunk(*(f"-{line}" for line in lines[start:end]), "+NEW")
    result = applied(text, [made]).split("\n")
    assert result.count("NEW") == 1
    assert len(result) == len(lines) + 1 - (end - start) + 1
