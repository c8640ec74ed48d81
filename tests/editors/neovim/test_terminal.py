"""The main job in a terminal, by a person's keys: what is on the screen at each step."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.editors.neovim.driver import TmuxNvim

Script = Callable[..., Path]
Terminal = Callable[..., TmuxNvim]

EDIT = {"name": "edit_file", "arguments": {"path": "pyproject.toml", "old_text": "sunflower", "new_text": "rose"}}
WRITE = {"name": "write_file", "arguments": {"path": "note.txt", "content": "hello\n"}}


def test_the_main_job_by_keys(terminal: Terminal, script: Script, project: Path) -> None:
    script(
        {"when": "Rename", "reasoning": "A small edit.", "text": "I rename it.", "tool_calls": [EDIT]},
        {"when": "Rename", "text": "It is **rose** now."},
        {"text": ""},
        {"text": "Goodbye is in the file."},
    )
    screen = terminal(project / "pyproject.toml")
    screen.press("o", "# unsaved", "Escape")
    screen.press(":AcpAdapter", "Enter")
    screen.shows("New session")
    screen.press("Rename the project to rose", "Enter")
    asked = screen.shows("[y] Allow once")
    for text in ("❯ Rename the project to rose", "✻ A small edit.", "I rename it.", '-name = "sunflower"'):
        assert text in asked
    assert "asks you" in asked
    assert "<Tab> to answer" in asked
    screen.press("Tab")
    screen.press("y")
    done = screen.shows("It is **rose** now.")
    assert "✔ Edit pyproject.toml" in done
    assert (project / "pyproject.toml").read_text() == '[project]\n# unsaved\nname = "rose"\n'
    assert 'name = "rose"' in done.split("│")[0] + done
    screen.shows("-- INSERT --")
    screen.press("Escape", ":qa!", "Enter")
    screen.close()
    again = terminal(project / "pyproject.toml")
    again.press(":AcpAdapter", "Enter")
    shown = again.shows("It is **rose** now.")
    assert "❯ Rename the project to rose" in shown
    assert "✔ Edit pyproject.toml" in shown


def test_rejecting_stopping_and_an_agent_that_dies(terminal: Terminal, script: Script, project: Path) -> None:
    script(
        {"when": "note", "tool_calls": [WRITE]},
        {"when": "note", "text": "As you like."},
        {"when": "think", "text": ""},
        {"when": "think", "text": ""},
        {"when": "think", "hang": True},
    )
    screen = terminal()
    screen.press(":AcpAdapter", "Enter")
    screen.shows("New session")
    screen.press("write a note", "Enter")
    screen.shows("[n] Reject once")
    screen.press("Tab")
    screen.press("n")
    screen.shows("As you like.")
    assert not (project / "note.txt").exists()
    screen.shows("-- INSERT --")
    screen.press("think", "Enter")
    screen.shows("working…")
    screen.press("C-c")
    screen.shows("ℹ Stopped.")
    os.kill(screen.agent(), signal.SIGKILL)
    screen.shows("The agent was ended by signal 9.")
    screen.shows("the agent is gone")
    screen.press("Escape", ":AcpAdapter restart", "Enter")
    screen.until("not require('acp_adapter.current').session.lost")
    assert "As you like." in screen.shows("❯ think")


def test_without_any_setup_the_panel_opens(terminal: Terminal, script: Script) -> None:
    """The program is found on PATH, as after an installation by pip."""
    script({"text": "Hello."})
    screen = terminal(command=None)
    screen.press(":AcpAdapter", "Enter")
    screen.shows("New session")
    screen.press("hi", "Enter")
    screen.shows("Hello.")
