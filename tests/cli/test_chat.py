"""`acp-adapter chat` with the real agent on a scripted model: without a terminal, as in a pipe or a script."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_adapter.cli.conversation import last_turns
from tests.cli.conftest import Run

Script = Callable[..., Path]

READ = {"name": "read_file", "arguments": {"path": "pyproject.toml"}}
WRITE = {"name": "write_file", "arguments": {"path": "note.txt", "content": "hello\n"}}


def session_of(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.rpartition("--resume ")[2].strip()


def test_the_answer_is_on_stdout_and_the_work_on_stderr(program: Run, script: Script) -> None:
    script({"text": "Let me look.", "tool_calls": [READ]}, {"text": "It is sunflower."})
    done = program("chat", "What is the project's name?")
    assert done.returncode == 0
    assert done.stdout == "Let me look.\nIt is sunflower.\n"
    assert '● Read pyproject.toml\n  │ [project]\n  │ name = "sunflower"\n' in done.stderr


def test_without_a_terminal_a_permission_is_refused_and_that_is_said(cli: Run, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "You did not let me."})
    done = cli("chat", "write a note")
    assert done.returncode == 0
    assert "Refused: Write note.txt" in done.stderr
    assert "--yes" in done.stderr
    assert not (project / "note.txt").exists()


def test_yes_allows_what_is_asked(cli: Run, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Written."})
    assert cli("chat", "--yes", "write a note").returncode == 0
    assert (project / "note.txt").read_text() == "hello\n"


def test_yes_remembers_nothing(cli: Run, script: Script, home: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Written."})
    cli("chat", "--yes", "write a note")
    assert not list(home.glob("permissions/*"))


def test_a_pipe_is_appended_to_the_prompt(program: Run, script: Script, home: Path) -> None:
    script({"text": "An error."})
    done = program("chat", "What", "is", "this?", stdin="Traceback: boom\n")
    assert done.returncode == 0
    shown = program("sessions", "show", session_of(done)).stdout
    assert "› What is this?\n  \n  Traceback: boom\n" in shown


def test_a_pipe_alone_is_the_prompt(program: Run, script: Script) -> None:
    script({"text": "Hello."})
    done = program("chat", stdin="hi there")
    assert "› hi there\n" in program("sessions", "show", session_of(done)).stdout


def test_a_pipe_that_nobody_writes_to_holds_up_for_seconds_only(
    env: dict[str, str], script: Script, project: Path
) -> None:
    script({"text": "Hello."})
    command = [sys.executable, "-m", "acp_adapter", "chat", "hi"]
    chat = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=project, text=True
    )
    with chat:
        assert chat.wait(60) == 0
        assert chat.stdout is not None
        assert chat.stderr is not None
        assert chat.stdout.read() == "Hello.\n"
        assert "Nothing came through the pipe" in chat.stderr.read()


def test_nothing_to_do_is_said(program: Run, script: Script) -> None:
    script({"text": "Hello."})
    done = program("chat")
    assert done.returncode == 1
    assert "nothing to do" in done.stderr


def test_a_session_goes_on_by_its_id_in_a_new_process(cli: Run, script: Script) -> None:
    script({"text": "One."}, {"text": "Two."})
    first = cli("chat", "first")
    second = cli("chat", "--resume", session_of(first), "second")
    assert second.stdout == "Two.\n"
    assert session_of(second) == session_of(first)


def test_a_session_goes_on_by_the_start_of_its_id_or_its_title(cli: Run, script: Script) -> None:
    script({"text": "One."}, {"text": "Two."}, {"text": "Three."})
    session = session_of(cli("chat", "A fine title"))
    assert cli("chat", "--resume", session[:6], "second").stdout == "Two.\n"
    assert cli("chat", "--resume", "A fine title", "third").stdout == "Three.\n"


def test_continue_takes_the_newest_session_of_this_folder(cli: Run, script: Script, tmp_path: Path) -> None:
    script({"text": "One."}, {"text": "Two."})
    cli("chat", "first")
    cli("chat", "elsewhere", cwd=tmp_path)
    assert cli("chat", "--continue", "second").stdout == "Two.\n"


def test_continue_in_a_folder_without_sessions_says_so(cli: Run, script: Script, tmp_path: Path) -> None:
    script({"text": "One."})
    done = cli("chat", "--continue", "go on", cwd=tmp_path)
    assert done.returncode == 1
    assert "There is no session of" in done.stderr


def test_a_session_that_is_not_there_is_an_error(cli: Run, script: Script) -> None:
    script({"text": "One."})
    done = cli("chat", "--resume", "nope", "hi")
    assert done.returncode == 1
    assert "There is no session 'nope'" in done.stderr


def test_the_mode_is_set_before_the_turn(cli: Run, script: Script, project: Path) -> None:
    script({"tool_calls": [WRITE]}, {"text": "Planned."})
    done = cli("chat", "--mode", "plan", "--yes", "write a note")
    assert done.stdout == "Planned.\n"
    assert not (project / "note.txt").exists()


def test_an_unknown_mode_names_the_modes(cli: Run, script: Script) -> None:
    script({"text": "One."})
    done = cli("chat", "--mode", "yolo", "hi")
    assert done.returncode == 1
    assert "ask, accept_edits, plan, bypass" in done.stderr


def test_the_model_of_the_command_line_is_used(cli: Run, script: Script, env: dict[str, str]) -> None:
    model = f"scripted:{script({'text': 'From the script.'})}"
    del env["ACP_ADAPTER_MODEL"]
    assert cli("chat", "--model", model, "hi").stdout == "From the script.\n"


def test_a_continued_session_is_moved_to_the_model_of_the_command_line(
    cli: Run, script: Script, tmp_path: Path
) -> None:
    script({"text": "One."}, {"text": "Two."})
    session = session_of(cli("chat", "first"))
    other = tmp_path / "other.json"
    other.write_text(json.dumps([{"text": "From the other."}]))
    assert cli("chat", "--resume", session, "--model", f"scripted:{other}", "second").stdout == "From the other.\n"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"error": {"status": 400, "message": "no such model"}}, "no such model"),
        ({"text": "I will not.", "finish_reason": "content_filter"}, "refused"),
        ({"text": "And then", "finish_reason": "length"}, "cut off"),
    ],
)
def test_a_turn_that_failed_is_a_failed_command(cli: Run, script: Script, step: dict[str, object], said: str) -> None:
    script(step)
    done = cli("chat", "hi")
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_any_model_the_way_to_one_is_said_once(cli: Run) -> None:
    done = cli("chat", "hi")
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("No model is set up") == 1
    assert "acp-adapter setup" in done.stdout + done.stderr


def test_json_gives_every_update_on_a_line_and_the_result_last(cli: Run, script: Script) -> None:
    script({"text": "Hello."})
    done = cli("chat", "--json", "hi")
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    texts = [f["update"]["content"]["text"] for f in frames if f.get("update", {}).get("content")]
    assert texts == ["Hello."]
    assert frames[-1]["stopReason"] == "end_turn"
    assert frames[-1]["sessionId"] == session_of(done)


def test_a_folder_that_is_not_there_is_an_error(cli: Run) -> None:
    done = cli("chat", "--cwd", "nowhere", "hi")
    assert done.returncode == 1
    assert "is not a folder" in done.stderr


def test_a_replay_is_cut_to_its_last_turns_and_keeps_what_is_no_conversation() -> None:
    def update(kind: str, text: str = "") -> dict[str, object]:
        return {"update": {"sessionUpdate": kind, "text": text}}

    turns = [update(kind, str(n)) for n in range(5) for kind in ("user_message_chunk", "agent_message_chunk")]
    kept = last_turns([*turns, update("available_commands_update")], 2)
    assert [item["update"].get("text") for item in kept] == ["3", "3", "4", "4", ""]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell with pipes")
def test_a_reader_that_goes_away_ends_the_turn_quietly(env: dict[str, str], script: Script, project: Path) -> None:
    script({"text": "many words\n", "repeat": 20_000})
    line = f"{sys.executable} -m acp_adapter chat go 2>err </dev/null | head -1; cat err"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=env, cwd=project, timeout=60, check=True
    )
    assert done.stdout.startswith("many words\n")
    assert "Traceback" not in done.stdout
    assert "BrokenPipe" not in done.stdout


def test_nothing_is_imported_from_the_project(program: Run, script: Script, project: Path) -> None:
    for name in ("json", "attrs", "acp_adapter"):
        (project / f"{name}.py").write_text("raise SystemExit('imported from the project')")
    script({"text": "Hello."})
    done = program("chat", "hi")
    assert (done.returncode, done.stdout) == (0, "Hello.\n"), done.stderr
