"""run_command: what comes back, what is shown meanwhile, and that it always ends."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from acp_adapter.tools.command import RATE, SHOWN
from acp_adapter.tools.output import HEAD, TAIL
from tests.tools.bench import Bench, FakeEditor, gone, living_children

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")


async def test_output_comes_back_in_order(bench: Bench) -> None:
    result = await bench.call("run_command", command="echo one; echo two >&2; echo three")
    assert (result.text, result.failed) == ("one\ntwo\nthree", False)
    assert result.raw_output == {"exitCode": 0, "signal": None, "truncated": False}


async def test_the_intent_shows_the_command(bench: Bench) -> None:
    intent = await bench.intent("run_command", command="make\nmake install")
    assert (intent.title, intent.kind, intent.action) == ("make …", "execute", "execute")
    assert (intent.command, list(intent.paths)) == ("make\nmake install", [bench.cwd])


async def test_a_failure_is_told_with_its_code(bench: Bench) -> None:
    result = await bench.call("run_command", command="echo no; exit 3")
    assert (result.text, result.failed) == ("no\n[Exit code 3.]", True)
    assert result.raw_output["exitCode"] == 3


async def test_a_signal_is_told_by_name(bench: Bench) -> None:
    result = await bench.call("run_command", command="kill -SEGV $$")
    assert (result.text, result.failed) == ("[Ended by SIGSEGV.]", True)
    assert (result.raw_output["exitCode"], result.raw_output["signal"]) == (None, "SIGSEGV")


async def test_silence_is_told(bench: Bench) -> None:
    assert await bench.text("run_command", command="true") == "[No output.]"


async def test_a_time_out_in_milliseconds_is_not_taken_for_seconds(bench: Bench) -> None:
    said = await bench.refused("run_command", command="true", timeout=120_000)
    assert said == "timeout must be at most 3600, not 120000."


@pytest.mark.parametrize("command", ["", "  \n", "echo a\0b"])
async def test_what_is_no_command_is_refused(bench: Bench, command: str) -> None:
    assert "command must be a shell command" in await bench.refused("run_command", command=command)


async def test_a_command_too_long_for_the_system_is_a_clear_error(bench: Bench) -> None:
    said = await bench.refused("run_command", command="echo " + "x" * 3_000_000)
    assert said == "The command can't be started: Argument list too long."


async def test_it_runs_in_the_working_folder_or_the_one_named(bench: Bench) -> None:
    (bench.cwd / "sub").mkdir()
    assert await bench.text("run_command", command="pwd -P") == str(bench.cwd)
    assert await bench.text("run_command", command="pwd -P", cwd="sub") == str(bench.cwd / "sub")
    assert "is not a folder" in await bench.refused("run_command", command="pwd", cwd="no")
    intent = await bench.intent("run_command", command="pwd", cwd="..")
    assert list(intent.paths) == [bench.cwd.parent]


COMMANDS = {
    "reads stdin": "cat",
    "reads bytes of stdin": "head -c 100",
    "reads the terminal": "read x </dev/tty",
    "asks a question": "read -p 'Go on? ' answer; echo $answer",
    "wants an editor": "git init -q . && git -c user.name=a -c user.email=a@example.org commit --allow-empty",
    "wants a password": "sudo -S true",
    "wants a pager": "git --paginate --help",
    "leaves a child in the background": "sleep 300 &",
    "leaves a shell that is disowned": "(sleep 300; echo late) & disown",
    "leaves a child that ignores hang-ups": "nohup sleep 300 >/dev/null 2>&1 &",
    "leaves a child in a session of its own": "setsid sleep 300 &",
    "leaves a child that floods": "yes &",
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_command_never_waits_for_anyone(bench: Bench, name: str) -> None:
    began = time.monotonic()
    result = await bench.call("run_command", command=COMMANDS[name], timeout=20)
    assert time.monotonic() - began < 3
    assert "Stopped after" not in result.text


async def test_a_late_command_is_stopped_with_its_children_and_its_output_kept(bench: Bench) -> None:
    command = "echo begun; sleep 300 & echo $!; setsid sleep 300 & echo $!; trap '' TERM; while :; do sleep 0.1; done"
    began = time.monotonic()
    result = await bench.call("run_command", command=command, timeout=1)
    assert time.monotonic() - began < 4
    lines = result.text.splitlines()
    assert lines[0] == "begun"
    assert lines[-1].startswith("[Stopped after 1 seconds with all it had started")
    assert result.failed
    for pid in map(int, lines[1:3]):
        assert await gone(pid, 0.1)


async def test_a_cancelled_command_is_gone_before_the_call_returns(bench: Bench) -> None:
    pids = bench.cwd / "pids"
    command = (
        f"sleep 300 & echo $! >{pids}; setsid sleep 300 & echo $! >>{pids}; trap '' TERM; echo ready; wait; sleep 300"
    )
    task = asyncio.create_task(bench.call("run_command", command=command))
    while not bench.shown:
        await asyncio.sleep(0.01)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 1.5
    for pid in map(int, pids.read_text().split()):
        assert await gone(pid, 0.1)


async def test_a_command_cancelled_at_any_moment_leaves_nothing(bench: Bench) -> None:
    for moment in range(12):
        task = asyncio.create_task(bench.call("run_command", command="setsid sleep 301 & sleep 302"))
        for _ in range(moment):
            await asyncio.sleep(0.0005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not any("sleep 30" in child for child in living_children())


async def test_a_command_has_no_part_in_the_protocol_and_no_terminal(bench: Bench) -> None:
    """Even while this program's own stdin is a pipe with frames in it."""
    ask = "import os; print(os.getsid(0))"
    reader, writer = os.pipe()
    own_stdin = os.dup(0)
    os.dup2(reader, 0)
    try:
        os.write(writer, b"frame\n")
        said = await bench.text("run_command", command=f"cat; echo $$; exec {sys.executable} -c '{ask}'")
        assert os.read(0, 100) == b"frame\n"
    finally:
        os.dup2(own_stdin, 0)
        for descriptor in (reader, writer, own_stdin):
            os.close(descriptor)
    pid, session = said.split()
    assert pid == session


async def test_two_million_lines_are_cut_in_the_middle_and_the_rest_counted(bench: Bench) -> None:
    result = await bench.call("run_command", command="seq 1 2000000")
    lines = result.text.splitlines()
    marks = [n for n, line in enumerate(lines) if line.startswith("[…")]
    assert len(marks) == 1
    head, tail = lines[: marks[0]], lines[marks[0] + 1 :]
    assert head == [str(n) for n in range(1, len(head) + 1)]
    assert tail == [str(n) for n in range(2_000_001 - len(tail), 2_000_001)]
    gone_bytes = sum(len(str(n)) + 1 for n in range(len(head) + 1, 2_000_001 - len(tail)))
    assert lines[marks[0]] == f"[… {gone_bytes:,} bytes left out …]"
    assert len(result.text) < HEAD + TAIL + 100
    assert result.raw_output["truncated"] is True


async def test_output_that_is_no_text_is_made_harmless(bench: Bench) -> None:
    command = r"printf '\377\033[31mred\033[0m\033]0;title\007 50%%\r100%%\n\000\b'"
    assert await bench.text("run_command", command=command) == "100%"
    assert await bench.text("run_command", command=r"printf 'caf\303\251 \377'") == "café \ufffd"


async def test_progress_shows_the_last_lines_while_it_runs(bench: Bench) -> None:
    task = asyncio.create_task(bench.call("run_command", command="echo begun; read x <fifo", timeout=20))
    os.mkfifo(bench.cwd / "fifo")
    while not bench.shown:
        await asyncio.sleep(0.01)
    assert not task.done()
    assert bench.shown[-1][0]["content"]["text"] == "```\nbegun\n```"
    (bench.cwd / "fifo").write_text("go\n")
    assert (await task).text.startswith("begun")


async def test_progress_costs_no_more_than_the_output(bench: Bench) -> None:
    began = time.monotonic()
    result = await bench.call("run_command", command="for i in $(seq 300); do echo line $i; sleep 0.001; done")
    seconds = time.monotonic() - began
    assert not result.failed
    assert len(bench.shown) <= seconds * 10 + 1
    shown = sum(len(blocks[0]["content"]["text"]) for blocks in bench.shown)
    assert shown <= len(result.text) + RATE * seconds + SHOWN


async def test_secrets_do_not_reach_a_command(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-leaked")
    monkeypatch.setenv("PLAIN", "seen")
    bench.env = {"MY_TOKEN": "leaked-too", "EXTRA": "given"}
    said = await bench.text("run_command", command="env")
    assert "leaked" not in said
    assert "PLAIN=seen" in said
    assert "EXTRA=given" in said
    assert "GIT_EDITOR=true" in said


async def test_it_runs_in_the_editors_terminal_where_there_is_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-leaked")
    editor = bench.editor = FakeEditor(can_run=True)
    result = await bench.call("run_command", command="echo hi; exit 2")
    terminal = {"type": "terminal", "terminalId": "terminal-1"}
    assert bench.shown == [[terminal]]
    assert (result.text, list(result.shown), result.failed) == ("hi\n[Exit code 2.]", [terminal], True)
    assert result.raw_output == {"exitCode": 2, "signal": None, "truncated": False}
    assert (editor.terminal_env["OPENAI_API_KEY"], editor.terminal_env["GIT_EDITOR"]) == ("", "true")
    assert editor.asked_limit == HEAD + TAIL


async def test_a_late_command_in_the_editors_terminal_is_stopped(bench: Bench) -> None:
    bench.editor = FakeEditor(can_run=True)
    result = await bench.call("run_command", command="exec sleep 300", timeout=1)
    assert result.failed
    assert result.text.startswith("[Stopped after 1 seconds")


async def test_an_editor_that_does_not_answer_does_not_make_it_run_twice(bench: Bench, tmp_path: Path) -> None:
    bench.editor = FakeEditor(can_run=True, silent=True)
    said = await bench.refused("run_command", command=f"touch {tmp_path}/ran")
    assert said.startswith("The editor's terminal failed")
    assert not (tmp_path / "ran").exists()
