"""Sessions over restarts of Neovim and deaths of the agent, the picker, and what can be set."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.editors.neovim.conftest import Start

Script = Callable[..., Path]

WRITE = {"name": "write_file", "arguments": {"path": "note.txt", "content": "hello\n"}}
SESSION = "require('acp_adapter.current').session"


def test_the_session_of_the_folder_goes_on_after_a_restart(nvim: Start, script: Script) -> None:
    script({"text": "One."}, {"text": "Two."})
    editor = nvim()
    editor.write("first")
    editor.sees("One.")
    editor.quit()
    again = nvim()
    again.open()
    again.sees("❯ first\n\nOne.")
    again.write("second")
    again.sees("Two.")


def test_without_resume_each_neovim_begins_anew(nvim: Start, script: Script) -> None:
    script({"text": "One."})
    editor = nvim()
    editor.write("first")
    editor.sees("One.")
    editor.quit()
    again = nvim(resume=False)
    again.open()
    assert "first" not in again.page()


def test_quitting_in_the_middle_of_a_turn_leaves_no_process_and_loses_no_prompt(nvim: Start, script: Script) -> None:
    script({"when": "think", "hang": True}, {"when": "now", "text": "Here again."})
    editor = nvim()
    editor.write("think")
    editor.until(f"{SESSION} and {SESSION}.title")
    agent = psutil.Process(editor.agent())
    editor.quit()
    agent.wait(10)
    again = nvim()
    again.open()
    again.sees("❯ think")
    again.write("and now?")
    again.sees("Here again.")


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_an_agent_that_is_killed_is_told_of_and_the_next_prompt_goes_on(nvim: Start, script: Script) -> None:
    script({"text": "One."}, {"text": "Two."})
    editor = nvim()
    editor.write("first")
    editor.sees("One.")
    session = editor.lua(f"{SESSION}.id")
    os.kill(editor.agent(), signal.SIGKILL)
    editor.sees("The agent was ended by signal 9.")
    editor.sees(":AcpAdapter restart goes on")
    editor.write("second")
    editor.sees("Two.")
    assert editor.page().strip() == "❯ first\n\nOne.\n\n❯ second\n\nTwo."
    assert editor.lua(f"{SESSION}.id") == session


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_an_agent_killed_in_a_turn_leaves_what_it_said_and_what_waited(
    nvim: Start, script: Script, project: Path
) -> None:
    script({"text": "I write.", "tool_calls": [WRITE]}, {"text": "Going on."})
    editor = nvim()
    editor.write("write a note")
    editor.sees("[y] Allow once")
    editor.write("and then this")
    editor.sees("⧗ and then this")
    os.kill(editor.agent(), signal.SIGKILL)
    editor.sees("The agent was ended by signal 9.")
    assert "Allow once" not in editor.page()
    assert "⧗ and then this" in editor.page()
    editor.keys("<Esc>:AcpAdapter restart<CR>")
    editor.sees("❯ and then this")
    assert "I write.\n\n✘ " in editor.page()
    assert editor.lua("require('acp_adapter.prompt').text()") == ""
    editor.write("go on")
    editor.sees("Going on.")
    assert not (project / "note.txt").exists()


def test_an_agent_that_is_not_installed_is_said_clearly_and_the_prompt_is_kept(nvim: Start) -> None:
    editor = nvim(command=["acp-adapter-that-is-not-there"])
    editor.lua("require('acp_adapter').open()")
    editor.sees('The agent "acp-adapter-that-is-not-there" is not installed')
    assert "setup({ command" in editor.page()
    editor.keys("hello<CR>")
    editor.until("require('acp_adapter.prompt').text() == 'hello'")
    assert editor.messages() == ""


def test_an_agent_that_ends_at_once_is_quoted(nvim: Start) -> None:
    editor = nvim(command=[sys.executable, "-c", "raise SystemExit('no way today')"])
    editor.lua("require('acp_adapter').open()")
    editor.sees("no way today")


def test_two_neovims_share_one_session(nvim: Start, script: Script) -> None:
    script({"text": "One."}, {"text": "Two."}, {"text": "Three."})
    first = nvim()
    first.write("from the first")
    first.sees("One.")
    second = nvim()
    second.open()
    second.sees("One.")
    assert first.lua(f"{SESSION}.id") == second.lua(f"{SESSION}.id")
    second.write("from the second")
    second.sees("Two.")
    first.write("first again")
    first.sees("Three.")
    for text in ("❯ from the second", "Two.", "❯ first again"):
        assert text in first.page()
    third = nvim()
    third.open()
    third.sees("Three.")
    assert third.page().split() == ("❯ from the first One. ❯ from the second Two. ❯ first again Three.".split())


def test_a_session_is_picked_from_the_list(nvim: Start, script: Script) -> None:
    script({"when": "cats", "text": "About cats."}, {"when": "dogs", "text": "About dogs."})
    editor = nvim()
    editor.write("cats")
    editor.sees("About cats.")
    editor.keys("<Esc>:AcpAdapter new<CR>")
    editor.until(f"{SESSION}.title == nil")
    editor.write("dogs")
    editor.idle()
    assert "cats" not in editor.page()
    editor.keys("<Esc>:AcpSessions<CR>")
    editor.until("vim.fn.getcmdline and vim.api.nvim_get_mode().mode:sub(1, 1) == 'c'")
    editor.keys("3<CR>")
    editor.sees("❯ cats\n\nAbout cats.")
    assert "dogs" not in editor.page()


def test_a_session_is_found_by_what_was_said_in_it_in_whatever_folder(
    nvim: Start, script: Script, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    script({"text": "The moon is made of marzipan."})
    editor = nvim(cwd=elsewhere)
    editor.write("what is the moon made of?")
    editor.sees("marzipan")
    editor.quit()
    again = nvim()
    again.keys(":AcpSessions marzipan<CR>")
    again.until("vim.api.nvim_get_mode().mode:sub(1, 1) == 'c'")
    again.keys("1<CR>")
    again.until(f"{SESSION} ~= nil")
    again.sees("❯ what is the moon made of?")
    assert again.lua(f"{SESSION}.cwd") == str(elsewhere)


def test_a_search_that_finds_nothing_says_so(nvim: Start, script: Script) -> None:
    script({"text": "One."})
    editor = nvim()
    editor.write("first")
    editor.sees("One.")
    editor.keys("<Esc>:AcpSessions nowhere to be found<CR>")
    editor.until("vim.fn.execute('messages'):find('Nothing was found')")


def test_the_mode_is_set_by_name_and_picked_from_a_list(nvim: Start, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Written."})
    editor = nvim()
    editor.open()
    mode = f"require('acp_adapter.options').current({SESSION}, 'mode')"
    editor.keys("<Esc>:AcpAdapter mode plan<CR>")
    editor.until(f"{mode} == 'Plan'")
    editor.keys("<Esc>:AcpAdapter mode<CR>")
    editor.until("vim.api.nvim_get_mode().mode:sub(1, 1) == 'c'")
    editor.keys("2<CR>")
    editor.until(f"{mode} == 'Accept edits'")
    editor.write("write a note")
    editor.sees("Written.")
    assert (project / "note.txt").exists()


def test_a_mode_that_is_not_there_is_said(nvim: Start, script: Script) -> None:
    script({"text": "One."})
    editor = nvim()
    editor.open()
    editor.keys("<Esc>:AcpAdapter mode yolo<CR>")
    editor.until("vim.fn.execute('messages'):find('There is no mode')")


def test_commands_and_files_are_completed(nvim: Start, script: Script) -> None:
    script({"text": "One."})
    editor = nvim()
    editor.open()
    editor.until(f"#{SESSION}.commands > 5")
    editor.keys("/us<Tab>")
    editor.until("vim.fn.pumvisible() == 1")
    editor.keys("<C-n><CR>")
    editor.until("require('acp_adapter.prompt').text() == '/usage'")
    editor.keys(" @pyp<Tab>")
    editor.until("vim.fn.pumvisible() == 1")
    editor.keys("<C-n><CR>")
    editor.until("require('acp_adapter.prompt').text() == '/usage @pyproject.toml'")


def test_the_health_check_finds_the_agent(nvim: Start, script: Script) -> None:
    script({"text": "One."})
    editor = nvim()
    editor.keys(":checkhealth acp_adapter<CR>")
    editor.until("vim.bo.filetype == 'checkhealth' and table.concat(vim.fn.getline(1, '$')):find('initialize')", 60)
    report = "\n".join(editor.lua("vim.fn.getline(1, '$')"))
    assert "Neovim is new enough" in report
    assert "ERROR" not in report.partition("the agent (acp-adapter doctor)")[0]


def test_a_setting_that_does_not_exist_is_named(nvim: Start) -> None:
    editor = nvim()
    fault = editor.lua("select(2, pcall(require('acp_adapter').setup, { colour = 'red' }))")
    assert fault == 'acp_adapter: there is no setting "colour" (:help acp_adapter-settings)'
