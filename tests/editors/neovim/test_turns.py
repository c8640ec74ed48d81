"""A turn in the panel: what streams, what is asked, what is stopped, and that a reload shows the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.editors.neovim.conftest import Start

Script = Callable[..., Path]

READ = {"name": "read_file", "arguments": {"path": "pyproject.toml"}}
EDIT = {
    "name": "edit_file",
    "arguments": {"path": "pyproject.toml", "old_text": "sunflower", "new_text": "rose"},
}
WRITE = {"name": "write_file", "arguments": {"path": "note.txt", "content": "hello\n"}}
RUN = {"name": "run_command", "arguments": {"command": "seq 30"}}
PLAN = {
    "name": "update_plan",
    "arguments": {
        "entries": [
            {"content": "Look", "status": "completed", "priority": "high"},
            {"content": "Write", "status": "in_progress", "priority": "high"},
        ]
    },
}


def test_an_answer_streams_with_thoughts_and_tools(nvim: Start, script: Script) -> None:
    script({"reasoning": "Look first.", "text": "Let me look.", "tool_calls": [READ]}, {"text": "It is *sunflower*."})
    editor = nvim()
    editor.write("What is the project's name?")
    editor.sees("It is *sunflower*.")
    assert editor.page().strip() == (
        "❯ What is the project's name?\n\n✻ Look first.\n\nLet me look.\n\n"
        '✔ Read pyproject.toml\n    [project]\n    name = "sunflower"\n\nIt is *sunflower*.'
    )


def test_what_is_allowed_by_a_key_runs(nvim: Start, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Written."})
    editor = nvim()
    editor.write("write a note")
    editor.sees("[y] Allow once")
    assert not (project / "note.txt").exists()
    editor.keys("<Tab>y")
    editor.sees("Written.")
    assert "Allow once" not in editor.page()
    assert (project / "note.txt").read_text() == "hello\n"


def test_what_is_rejected_by_a_key_does_not_run_and_the_turn_goes_on(
    nvim: Start, script: Script, project: Path
) -> None:
    script({"tool_calls": [WRITE]}, {"text": "As you like."})
    editor = nvim()
    editor.write("write a note")
    editor.sees("[n] Reject once")
    editor.keys("<Tab>n")
    editor.sees("As you like.")
    assert "✘ Write note.txt" in editor.page()
    assert not (project / "note.txt").exists()


def test_typing_in_the_prompt_answers_no_question(nvim: Start, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Written."})
    editor = nvim()
    editor.write("write a note")
    editor.sees("[y] Allow once")
    editor.keys("yes any of these")
    editor.until("require('acp_adapter.prompt').text() == 'yes any of these'")
    assert "[y] Allow once" in editor.page()
    assert not (project / "note.txt").exists()


def test_a_question_may_be_asked_by_vim_ui_select(nvim: Start, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Written."})
    editor = nvim(permissions="select")
    editor.write("write a note")
    editor.sees("[y] Allow once")
    editor.keys("1<CR>")
    editor.sees("Written.")
    assert (project / "note.txt").exists()


def test_two_calls_that_ask_are_asked_one_after_the_other(nvim: Start, script: Script, project: Path) -> None:
    other = {"name": "write_file", "arguments": {"path": "other.txt", "content": "other\n"}}
    script({"tool_calls": [WRITE, other]}, {"text": "One of two."})
    editor = nvim()
    editor.write("write both")
    editor.sees("(and 1 more after it)")
    editor.keys("<Tab>y")
    editor.sees("? Write other.txt")
    editor.keys("n")
    editor.sees("One of two.")
    assert (project / "note.txt").exists()
    assert not (project / "other.txt").exists()


def test_the_turn_stops_when_asked_to(nvim: Start, script: Script) -> None:
    script({"when": "think", "hang": True}, {"when": "now", "text": "Here again."})
    editor = nvim()
    editor.write("think")
    editor.until("require('acp_adapter.current').session.running == 1")
    editor.keys("<C-c>")
    editor.sees("Stopped.")
    editor.write("and now?")
    editor.sees("Here again.")


def test_stopping_at_a_question_runs_nothing(nvim: Start, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Never mind."})
    editor = nvim()
    editor.write("write a note")
    editor.sees("[y] Allow once")
    editor.keys("<C-c>")
    editor.sees("Stopped.")
    assert "Allow once" not in editor.page()
    assert "✘ Write note.txt" in editor.page()
    assert not (project / "note.txt").exists()


def test_a_plan_is_shown_below_the_conversation(nvim: Start, script: Script) -> None:
    script({"tool_calls": [PLAN]}, {"text": "Under way."})
    editor = nvim()
    editor.write("plan it")
    editor.sees("Under way.")
    assert editor.page().rstrip().endswith("Under way.\n\nPlan: 1 of 2 done\n  ✔ Look\n  ▸ Write")


def test_a_second_prompt_waits_visibly_and_is_shown_where_its_turn_begins(nvim: Start, script: Script) -> None:
    script({"tool_calls": [WRITE]}, {"text": "First done."}, {"text": "Second done."})
    editor = nvim()
    editor.write("first")
    editor.sees("[y] Allow once")
    editor.write("second")
    editor.sees("⧗ second")
    editor.keys("<Tab>y")
    editor.sees("Second done.")
    assert editor.page().rstrip().endswith("First done.\n\n❯ second\n\nSecond done.")


def test_long_output_is_cut_and_shown_whole_on_demand(nvim: Start, script: Script) -> None:
    script({"tool_calls": [RUN]}, {"text": "Counted."})
    editor = nvim()
    editor.write("count")
    editor.sees("[y] Allow once")
    editor.keys("<Tab>y")
    editor.sees("Counted.")
    assert "… 22 more lines (<Tab>)" in editor.page()
    editor.keys("<Esc><C-w>kgg/seq<CR><Tab>")
    editor.sees("    30\n")
    editor.keys("<Tab>")
    editor.sees("… 22 more lines (<Tab>)")


def test_a_diff_opens_in_diff_mode(nvim: Start, script: Script) -> None:
    script({"tool_calls": [EDIT]}, {"text": "Renamed."})
    editor = nvim()
    editor.write("rename")
    editor.sees("[y] Allow once")
    editor.keys("<Tab>gg/Edit<CR><CR>")
    editor.until("#vim.api.nvim_list_tabpages() == 2 and vim.wo.diff")
    texts = "vim.tbl_map(function(w) return vim.fn.getbufline(vim.api.nvim_win_get_buf(w), 1, '$') end, " + (
        "vim.api.nvim_tabpage_list_wins(0))"
    )
    assert editor.lua(texts) == [["[project]", 'name = "sunflower"'], ["[project]", 'name = "rose"']]
    assert editor.lua("vim.bo.filetype") == "toml"
    editor.keys("q")
    editor.until("#vim.api.nvim_list_tabpages() == 1")
    editor.keys("y")
    editor.sees("Renamed.")


def test_the_model_asks_and_gets_its_answer(nvim: Start, script: Script) -> None:
    asked = {"name": "ask_user", "arguments": {"question": "Which colour?", "options": ["red", "blue"]}}
    script({"tool_calls": [asked]}, {"text": "Blue it is."})
    editor = nvim()
    editor.write("paint it")
    editor.sees("[y] Answer")
    editor.keys("<Tab>y")
    editor.keys("2<CR>")
    editor.sees("Blue it is.")
    assert "blue" in editor.page()


def test_a_model_that_fails_is_said_and_the_session_goes_on(nvim: Start, script: Script) -> None:
    script({"error": {"status": 400, "message": "no such model"}}, {"text": "Better now."})
    editor = nvim()
    editor.write("hello")
    editor.sees("no such model")
    script({"text": "Better now."})
    editor.write("again")
    editor.idle()
    assert "Better now." in editor.page()


def test_a_reload_shows_what_was_shown_live(nvim: Start, script: Script) -> None:
    script(
        {"reasoning": "One\ntwo\nthree\nfour", "text": "Let me look.\n\n- a\n- b\n\n", "tool_calls": [READ, PLAN]},
        {"text": "Now I edit.", "tool_calls": [EDIT]},
        {"tool_calls": [WRITE]},
        {"reasoning": "Nearly\nthere", "text": "I count.", "tool_calls": [RUN]},
        {"text": "All **done**.\n"},
        {"text": "Second\nanswer."},
    )
    editor = nvim()
    editor.write("do <it> all @pyproject.toml")
    for question, key in (("? Edit pyproject.toml", "y"), ("? Write note.txt", "n"), ("? seq 30", "y")):
        editor.sees(question)
        editor.keys("<Tab>" + key)
    editor.sees("All **done**.")
    editor.idle()
    editor.write("more")
    editor.sees("answer.")
    editor.idle()
    live = editor.page()
    assert "✻ One\n    … 3 more lines (<Tab>)" in live
    editor.quit()
    again = nvim()
    again.open()
    again.sees("answer.")
    assert again.page() == live
