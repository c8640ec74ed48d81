"""Children of a session: they outlive their command if they are left, never their session, never this program."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from acp_adapter.tools import orphans, processes
from tests.tools.bench import Bench, gone, living_children

pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX processes")

LEFT = {
    "in the background": "sleep 300 & echo $!",
    "disowned": "sleep 300 & disown; echo $!",
    "deaf to hang-ups": "nohup sleep 300 >/dev/null 2>&1 & echo $!",
    "in a session of its own": "setsid sleep 300 >/dev/null 2>&1 & echo $!",
    "deaf to SIGTERM": "(trap '' TERM; exec sleep 300) & echo $!",
    "without its environment": "env -i sleep 300 & echo $!",
    "stopped": "sleep 300 & kill -STOP $!; echo $!",
}


FLOOD = """
with open("written", "ab", buffering=0) as written:
    while True:
        for _ in range(16):
            print("x" * 65535)
        written.write(b".")
"""
"""Writes for ever; the file `written` has one byte a megabyte."""


def last_pid(text: str) -> int:
    return int(text.split()[0])


@pytest.mark.parametrize("name", LEFT)
async def test_what_a_command_leaves_lives_until_its_session_ends(bench: Bench, name: str) -> None:
    pid = last_pid(await bench.text("run_command", command=LEFT[name]))
    assert psutil.pid_exists(pid)
    await processes.end_all(bench.session_id)
    assert await gone(pid, 0.1)


async def test_the_model_is_told_of_what_it_leaves_and_only_then(bench: Bench) -> None:
    assert "still runs in the background" in await bench.text("run_command", command="sleep 300 >/dev/null 2>&1 &")
    assert await bench.text("run_command", command="sleep 0.01 & wait; echo done") == "done"


async def test_a_server_in_the_background_can_go_on_printing(bench: Bench) -> None:
    """Its pipe is neither closed nor left to fill up."""
    command = "(while [ ! -e stop ]; do seq 1 20000 || exit; done; seq 1 40000 && touch alive) &"
    await bench.call("run_command", command=command)
    (bench.cwd / "stop").touch()
    async with asyncio.timeout(5):
        while not (bench.cwd / "alive").exists():
            await asyncio.sleep(0.02)


async def test_a_flood_in_the_background_does_not_keep_this_program_busy(bench: Bench) -> None:
    (bench.cwd / "flood.py").write_text(FLOOD)
    await bench.call("run_command", command=f"{sys.executable} flood.py &")
    before = (bench.cwd / "written").stat().st_size
    await asyncio.sleep(0.5)
    megabytes = (bench.cwd / "written").stat().st_size - before
    assert megabytes < 10


async def test_one_session_ends_only_its_own_children(bench: Bench) -> None:
    other = Bench(bench.cwd, session_id="other")
    mine = last_pid(await bench.text("run_command", command="sleep 300 & echo $!"))
    others = last_pid(await other.text("run_command", command="sleep 300 & echo $!"))
    await processes.end_all(bench.session_id)
    assert await gone(mine, 0.1)
    assert psutil.pid_exists(others)
    await processes.end_all("other")
    assert await gone(others, 0.1)


async def test_ending_a_session_twice_or_one_that_ran_nothing_is_nothing(bench: Bench) -> None:
    await bench.call("run_command", command="true")
    for _ in range(2):
        await processes.end_all(bench.session_id)
    await processes.end_all("never seen")
    assert not living_children()


async def test_a_running_command_ends_with_its_session(bench: Bench) -> None:
    task = asyncio.create_task(bench.call("run_command", command="echo up; sleep 300"))
    while not bench.shown:
        await asyncio.sleep(0.01)
    await processes.end_all(bench.session_id)
    assert (await task).text == "up\n[Ended by SIGTERM.]"


async def test_no_descriptor_of_this_program_reaches_a_command(bench: Bench) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        said = await bench.text("run_command", command="ls -l /proc/self/fd /dev/fd/")
    finally:
        os.close(reader)
        os.close(writer)
    assert "/dev/null" in said
    assert f" {writer} -> " not in said


PROGRAM = """
import asyncio, sys
from pathlib import Path
from acp_adapter.tools import processes
from acp_adapter.tools.environment import command_environment
async def main():
    run = processes.of("s").run
    env = command_environment({"PATH": sys.argv[1]})
    command = "sleep 300 & echo $!; setsid sleep 300 >/dev/null & echo $!; sleep 300"
    say = lambda data: print(data.decode(), end="", flush=True)
    await run(["sh", "-c", command], cwd=Path("/"), env=env, receive=say)
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_no_child_outlives_this_program_however_that_dies(number: signal.Signals) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, os.environ["PATH"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert program.stdout
    pids = [int(await program.stdout.readline()) for _ in range(2)]
    pids += [child.pid for child in psutil.Process(program.pid).children()]
    program.send_signal(number)
    await program.wait()
    assert len(pids) == 4, "two that were left, the shell, and the guard"
    for pid in pids:
        assert await gone(pid)


async def test_a_zombie_counts_as_gone() -> None:
    """Where pid 1 does not reap, a group of zombies must not look alive for ever."""
    zombie = subprocess.Popen(["true"], start_new_session=True)
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert not orphans.group_lives(zombie.pid) or not Path("/proc/self").exists()
    zombie.wait()


async def test_a_mark_is_not_taken_for_a_longer_one(bench: Bench) -> None:
    first = subprocess.Popen(["sleep", "300"], env={**os.environ, orphans.MARK: "prog.1"}, start_new_session=True)
    second = subprocess.Popen(["sleep", "300"], env={**os.environ, orphans.MARK: "prog.10"}, start_new_session=True)
    try:
        if Path("/proc/self").exists():
            assert orphans.living("prog.1", ()) == [first.pid]
            assert sorted(orphans.living("prog", ())) == sorted([first.pid, second.pid])
    finally:
        for process in (first, second):
            process.kill()
            process.wait()
