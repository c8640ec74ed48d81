"""Files that are open in Neovim: what is unsaved counts, what is written is seen, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.editors.neovim.conftest import Start
from tests.editors.neovim.driver import Nvim

Script = Callable[..., Path]

LINES = "vim.fn.getbufline(vim.fn.bufnr('notes.txt'), 1, '$')"
MODIFIED = "vim.bo[vim.fn.bufnr('notes.txt')].modified"


def edit(old: str, new: str) -> dict[str, Any]:
    return {"name": "edit_file", "arguments": {"path": "notes.txt", "old_text": old, "new_text": new}}


READ = {"name": "read_file", "arguments": {"path": "notes.txt"}}


@pytest.fixture
def notes(project: Path) -> Path:
    path = project / "notes.txt"
    path.write_text("one\ntwo\nthree\n")
    return path


def allowed(editor: Nvim, prompt: str, answer: str) -> None:
    editor.write(prompt)
    editor.sees("[y] Allow once")
    editor.keys("<Tab>y")
    editor.sees(answer)


def test_the_model_reads_and_edits_what_is_not_saved_yet(nvim: Start, script: Script, notes: Path) -> None:
    script({"tool_calls": [READ]}, {"tool_calls": [edit("unsaved", "edited")]}, {"text": "Edited."})
    editor = nvim(notes)
    editor.keys("ounsaved<Esc>")
    editor.until(MODIFIED)
    allowed(editor, "edit it", "Edited.")
    assert "    unsaved" in editor.page()
    assert editor.lua(LINES) == ["one", "edited", "two", "three"]
    assert notes.read_text() == "one\nedited\ntwo\nthree\n"
    assert not editor.lua(MODIFIED)


def test_what_the_model_wrote_can_be_undone_in_the_buffer(nvim: Start, script: Script, notes: Path) -> None:
    script({"tool_calls": [edit("two", "2")]}, {"text": "Edited."})
    editor = nvim(notes)
    allowed(editor, "edit it", "Edited.")
    assert editor.lua(LINES) == ["one", "2", "three"]
    editor.keys("<Esc>:AcpAdapter close<CR>u")
    editor.until(f"{LINES}[2] == 'two'")


def test_an_open_file_that_changed_on_disk_is_read_anew(nvim: Start, script: Script, notes: Path) -> None:
    script({"tool_calls": [READ]}, {"text": "Read."})
    editor = nvim(notes)
    notes.write_text("changed elsewhere\n")
    editor.write("read it")
    editor.sees("Read.")
    assert "    changed elsewhere" in editor.page()
    assert editor.lua(LINES) == ["changed elsewhere"]


def test_changes_on_disk_and_in_the_buffer_are_never_merged_blindly(nvim: Start, script: Script, notes: Path) -> None:
    script({"tool_calls": [edit("mine", "ours")]}, {"text": "Tried."})
    editor = nvim(notes)
    editor.keys("omine<Esc>")
    editor.until(MODIFIED)
    notes.write_text("theirs, and longer than before\n")
    allowed(editor, "edit it", "Tried.")
    assert notes.read_text() == "theirs, and longer than before\n"
    assert editor.lua(LINES) == ["one", "mine", "two", "three"]
    assert editor.lua(MODIFIED)
    assert "✘ Edit notes.txt" in editor.page()
    assert "unsaved changes" in editor.page()
    editor.keys("<Esc>:bufdo if bufname() =~ 'notes' | edit! | endif<CR>")
    editor.until(f"{LINES}[1]:find('theirs')")


def test_a_read_only_buffer_with_changes_is_left_alone(nvim: Start, script: Script, notes: Path) -> None:
    script({"tool_calls": [edit("mine", "ours")]}, {"text": "Tried."})
    editor = nvim(notes)
    editor.keys(":set readonly<CR>omine<Esc>")
    editor.until(MODIFIED)
    allowed(editor, "edit it", "Tried.")
    assert notes.read_text() == "one\ntwo\nthree\n"
    assert editor.lua(LINES)[1] == "mine"


@pytest.mark.parametrize(
    "before",
    [b"one\r\ntwo\r\n", b"one\ntwo", b"one\ntwo\n\n", "\ufeffone\ntwo\n".encode(), "ünö\ntwo\n".encode()],
    ids=["dos", "no end", "blank end", "mark", "umlaut"],
)
def test_a_file_keeps_its_line_ends_and_its_own_end(nvim: Start, script: Script, notes: Path, before: bytes) -> None:
    notes.write_bytes(before)
    script({"tool_calls": [edit("two", "2")]}, {"text": "Edited."})
    editor = nvim(notes)
    allowed(editor, "edit it", "Edited.")
    assert "✔ Edit notes.txt" in editor.page()
    assert notes.read_bytes() == before.replace(b"two", b"2")
    editor.until(f"not {MODIFIED} and vim.tbl_contains({LINES}, '2')")


def test_a_file_that_is_not_open_is_written_by_the_agent(nvim: Start, script: Script, notes: Path) -> None:
    notes.write_bytes("gr\xfcn\ntwo\n".encode("latin-1"))
    script({"tool_calls": [edit("two", "2")]}, {"text": "Edited."})
    allowed(nvim(), "edit it", "Edited.")
    assert notes.read_bytes() == "gr\xfcn\n2\n".encode("latin-1")


def test_a_file_of_another_encoding_keeps_it(nvim: Start, script: Script, notes: Path) -> None:
    notes.write_bytes("gr\xfcn\ntwo\n".encode("latin-1"))
    script({"tool_calls": [edit("two", "2")]}, {"text": "Edited."})
    allowed(nvim(notes), "edit it", "Edited.")
    assert notes.read_bytes() == "gr\xfcn\n2\n".encode("latin-1")


def test_formatters_do_not_touch_what_was_written(nvim: Start, script: Script, notes: Path) -> None:
    script({"tool_calls": [edit("two", "2  ")]}, {"text": "Edited."})
    editor = nvim(notes)
    editor.keys(":autocmd BufWritePre * %s/ *$//<CR>:autocmd BufWritePost * let g:saved = expand('<lt>afile>')<CR>")
    allowed(editor, "edit it", "Edited.")
    assert notes.read_text() == "one\n2  \nthree\n"
    assert str(editor.lua("vim.g.saved")).endswith("notes.txt")


def test_what_a_command_changed_is_seen_in_open_buffers(nvim: Start, script: Script, notes: Path) -> None:
    run = {"name": "run_command", "arguments": {"command": "echo more >> notes.txt"}}
    script({"tool_calls": [run]}, {"text": "Appended."})
    editor = nvim(notes)
    allowed(editor, "append", "Appended.")
    editor.until(f"{LINES}[4] == 'more'")


def test_a_file_and_lines_of_it_are_linked_by_a_mention(nvim: Start, script: Script, notes: Path, home: Path) -> None:
    script({"text": "I see."})
    editor = nvim(notes)
    editor.keys(":2,3AcpAdapter<CR>")
    editor.until("require('acp_adapter.current').session ~= nil")
    editor.write("what is this?")
    editor.sees("I see.")
    assert "❯ @notes.txt#L2-3 what is this?\n  [notes.txt#L2-3]" in editor.page()
