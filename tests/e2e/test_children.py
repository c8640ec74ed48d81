"""Commands: no stdin, no terminal, no hold on the pipes, and nothing of them is left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from tests.clients.lab import Lab
from tests.clients.turn import output
from tests.stub_model import SHELL, C, T

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the commands are those of a POSIX shell")

FEW_SECONDS = 8.0
COMMANDS = {
    "reads stdin": "cat",
    "reads bytes of stdin": "head -c 100",
    "reads the terminal": "read x </dev/tty",
    "wants an editor": "git init -q . && git -c user.name=a -c user.email=a@example.org commit --allow-empty",
    "wants a password": "sudo -S true",
    "wants a pager": "git log --help | head -1; git --paginate log",
    "leaves a child in the background": "sleep 300 &",
    "leaves a shell that is disowned": "(sleep 300; echo late) & disown 2>/dev/null; true",
    "leaves a child that ignores hang-ups": "nohup sleep 300 >/dev/null 2>&1 &",
    "leaves a child in a session of its own": "setsid sleep 300 >/dev/null 2>&1 &",
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_a_command_ends_soon_and_no_frame_is_lost_meanwhile(lab: Lab, name: str) -> None:
    lab.model.add(C("c1", SHELL, {"command": COMMANDS[name]}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    began = time.monotonic()
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("in_progress")
    lists = [await client.begin("session/list", {}) for _ in range(3)]
    assert await turn.done() == "end_turn"
    assert time.monotonic() - began < FEW_SECONDS
    assert turn.call("c1")["status"] in ("completed", "failed")
    for request in lists:
        assert len((await client.result(request))["sessions"]) == 1


async def test_nothing_of_a_command_is_left_when_its_session_is_closed(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 301 & echo $!"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    pid = int(output(turn.call("c1")).split()[0])
    await client.request("session/close", {"sessionId": session})
    await client.until(lambda: not psutil.pid_exists(pid), "the background child to be gone", 3)


async def test_the_background_child_of_one_session_outlives_the_close_of_another(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "sleep 302 & echo $!"}), T("done"))
    client = await lab.start()
    mine, other = await client.new(lab.project), await client.new(lab.project)
    turn = await client.prompt(mine, "go")
    pid = int(output(turn.call("c1")).split()[0])
    await client.request("session/close", {"sessionId": other})
    assert psutil.pid_exists(pid)


async def test_cancel_kills_a_command_with_all_its_children(lab: Lab) -> None:
    command = "sh -c 'trap \"\" TERM INT HUP; sleep 303' & sleep 303; wait"
    lab.model.add(C("c1", SHELL, {"command": f"echo started; {command}"}))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await client.until(lambda: "started" in output(turn.call("c1")), "the command's output")
    assert await turn.cancel() == "cancelled"
    left = [p for p in psutil.Process(client.process.pid).children(recursive=True) if "303" in p.cmdline()]
    assert left == []


async def test_output_is_streamed_while_the_command_runs(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "echo early; sleep 60; echo late"}))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await client.until(lambda: "early" in output(turn.call("c1")), "the first output")
    assert turn.call("c1")["status"] == "in_progress"
    await turn.cancel()


async def test_endless_output_is_capped_for_the_model_and_for_the_editor(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "seq 1 300000"}), T("done"))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    produced = len("".join(f"{n}\n" for n in range(1, 300001)))
    assert sum(len(frame.line) for frame in client.frames if not frame.sent) < 3 * produced
    (told,) = lab.model.requests[-1].texts("tool")
    assert len(told) < 200_000
    assert "300000" in told, "the end of the output is what matters most"
    assert turn.call("c1")["status"] == "completed"


async def test_the_command_sees_no_key_of_the_model(lab: Lab) -> None:
    lab.model.add(C("c1", SHELL, {"command": "env"}), T("done"))
    client = await lab.start(ANTHROPIC_API_KEY="sk-ant-another", GITHUB_TOKEN="ghp_another")
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    shown = output(turn.call("c1"))
    assert "PATH=" in shown
    assert not {"another", "sk-"} & set(shown.replace("=", " ").replace("-", "- ").split())


async def test_a_killed_agent_leaves_no_command_behind_for_the_next_one(lab: Lab) -> None:
    """SIGKILL gives no time to clean up; the next agent on this home does it, at the latest."""
    lab.model.add(C("c1", SHELL, {"command": "echo $$ > pid; sleep 304"}))
    client = await lab.start()
    session = await client.new(lab.project)
    turn = await client.begin_prompt(session, "go")
    await turn.call_is("in_progress")
    file = Path(lab.project / "pid")
    await client.until(lambda: file.exists() and file.read_text().strip(), "the command's pid")
    pid = int(file.read_text())
    client = await lab.restart(client)
    await client.load(session, lab.project)
    await client.until(lambda: not psutil.pid_exists(pid), "the orphan to be gone", 5)
