"""`acp-adapter chat` as a person uses it: in a real terminal, with keys."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

if sys.platform == "win32":
    pytest.skip("a pseudo-terminal needs POSIX", allow_module_level=True)

from tests.cli.conftest import Run
from tests.cli.pty_session import PtySession

Script = Callable[..., Path]
Terminal = Callable[..., PtySession]

WRITE = {"name": "write_file", "arguments": {"path": "note.txt", "content": "hello\n"}}
SLEEP = {"name": "run_command", "arguments": {"command": "sleep 300"}}


@pytest.fixture
def terminal(env: dict[str, str], project: Path) -> Terminal:
    def start(*words: str) -> PtySession:
        return PtySession([sys.executable, "-m", "acp_adapter", *words], env, project)

    return start


@pytest.mark.parametrize(("key", "written", "remembered"), [("y", True, False), ("a", True, True), ("n", False, False)])
def test_a_key_answers_a_permission(
    terminal: Terminal, script: Script, project: Path, home: Path, key: str, written: bool, remembered: bool
) -> None:
    script({"tool_calls": [WRITE]}, {"text": "All done."})
    with terminal("chat", "write a note") as screen:
        shown = screen.expect("[N]")
        assert "+hello" in shown
        screen.send(key)
        screen.expect("All done.")
        assert screen.wait() == 0
    assert (project / "note.txt").exists() is written
    assert bool(list(home.glob("permissions/*"))) is remembered


def test_a_command_of_several_lines_is_shown_whole_before_it_is_allowed(terminal: Terminal, script: Script) -> None:
    lines = "\n".join(["echo hi", *[f"echo {n}" for n in range(20)], "rm -rf \u202eall"])
    script({"tool_calls": [{"name": "run_command", "arguments": {"command": lines}}]}, {"text": "All done."})
    with terminal("chat", "go") as screen:
        assert "rm -rf \\u202eall" in screen.expect("[N]")
        screen.send("n")
        screen.expect("All done.")


def test_a_key_that_means_nothing_is_no_answer(terminal: Terminal, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "All done."})
    with terminal("chat", "write a note") as screen:
        screen.expect("[N]")
        screen.send("xq\n ")
        screen.send("n")
        screen.expect("All done.")
    assert not (project / "note.txt").exists()


def test_ctrl_c_cancels_the_turn_and_the_conversation_goes_on(terminal: Terminal, script: Script) -> None:
    script({"text": "Slow", "tool_calls": [SLEEP]}, {"text": "Here again."})
    with terminal("chat", "--mode", "bypass") as screen:
        screen.expect("› ")
        screen.send("do it\n")
        screen.expect("sleep 300")
        screen.send("\x03")
        screen.expect("Cancelled.")
        screen.send("again\n")
        screen.expect("Here again.")
        screen.expect("› ")
        screen.send("\x04")
        assert screen.wait() == 0


def test_ctrl_c_at_a_question_cancels_the_turn_and_runs_nothing(
    terminal: Terminal, script: Script, project: Path
) -> None:
    script({"tool_calls": [WRITE]}, {"text": "All done."})
    with terminal("chat", "write a note") as screen:
        screen.expect("[N]")
        screen.send("\x03")
        screen.expect("Cancelled.")
        assert screen.wait() == 128 + signal.SIGINT
    assert not (project / "note.txt").exists()


def test_an_interactive_continuation_shows_where_it_was(terminal: Terminal, script: Script, cli: Run) -> None:
    script({"text": "The first answer."}, {"text": "The second answer."})
    cli("chat", "the first question")
    with terminal("chat", "--continue") as screen:
        screen.expect("› the first question")
        screen.expect("The first answer.")
        screen.expect("› ")
        screen.send("and now\n")
        screen.expect("The second answer.")
        screen.expect("› ")
        screen.send("\x04")
        screen.expect("--resume")


def test_an_error_ends_the_turn_and_not_the_conversation(terminal: Terminal, script: Script) -> None:
    script({"error": {"status": 400, "message": "no such model"}})
    with terminal("chat") as screen:
        screen.expect("› ")
        screen.send("hi\n")
        screen.expect("no such model")
        screen.expect("› ")
        screen.interrupt("Ctrl-C again")
        screen.interrupt()
        assert screen.wait() == 0


def test_the_history_of_lines_is_private(terminal: Terminal, script: Script, home: Path) -> None:
    script({"text": "Hello."})
    with terminal("chat") as screen:
        screen.expect("› ")
        screen.send("my secret\n")
        screen.expect("Hello.")
        screen.expect("› ")
        screen.send("\x04")
        screen.wait()
    history = home / "chat_history"
    assert "my secret" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("extra", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_and_never_with_no_color(
    terminal: Terminal, script: Script, env: dict[str, str], extra: dict[str, str], coloured: bool
) -> None:
    env |= extra
    script({"text": "Hi.", "tool_calls": [{"name": "read_file", "arguments": {"path": "a"}}]}, {"text": "Bye."})
    with terminal("chat", "hi") as screen:
        screen.expect("Bye.")
        screen.wait()
        assert (b"\x1b[31m" in screen.raw) is coloured


def test_nothing_is_left_running_when_the_terminal_is_gone(terminal: Terminal, script: Script) -> None:
    script({"tool_calls": [SLEEP]}, {"text": "x"})
    with terminal("chat", "--mode", "bypass", "go") as screen:
        screen.expect("sleep 300")
        children = psutil.Process(screen.process.pid).children(recursive=True)
        assert children
    assert psutil.wait_procs(children, timeout=20)[1] == []
