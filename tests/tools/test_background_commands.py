"""Commands in the background, and output that is longer than a result: read on demand, ended with the session."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_adapter.tools import background, kept_output, processes
from tests.tools.bench import Bench, living_children

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="the commands are for a POSIX shell")


async def test_a_server_runs_on_and_is_read_and_stopped_by_its_id(bench: Bench) -> None:
    started = await bench.text("run_command", command="echo up; sleep 60 & wait", background=True)
    assert "Started as cmd-1." in started and "up" in started and "[cmd-1 is running]" in started
    assert await bench.text("command_output", id="cmd-1") == "[cmd-1 is running]"
    assert await bench.text("stop_command", id="cmd-1") == "[cmd-1 was ended by SIGTERM]"
    assert not [child for child in living_children() if "sleep" in child]


async def test_what_came_since_the_last_look_is_given_once(bench: Bench) -> None:
    waiting = "echo one; until [ -e go ]; do sleep 0.05; done; echo two"
    assert "\none\n" in await bench.text("run_command", command=waiting, background=True)
    (bench.cwd / "go").touch()
    assert await bench.text("command_output", id="cmd-1", wait=20) == "two\n[cmd-1 ended with code 0]"
    assert await bench.text("command_output", id="cmd-1") == "[cmd-1 ended with code 0]"


async def test_a_command_that_fails_at_once_is_told_as_failed(bench: Bench) -> None:
    result = await bench.call("run_command", command="echo no such thing >&2; exit 7", background=True)
    assert result.failed
    assert "no such thing" in result.text and "[cmd-1 ended with code 7]" in result.text


async def test_an_unknown_id_is_answered_with_those_that_there_are(bench: Bench) -> None:
    assert "there are: none" in await bench.refused("command_output", id="cmd-9")
    await bench.call("run_command", command="sleep 60", background=True)
    assert "there are: cmd-1 (sleep 60)" in await bench.refused("stop_command", id="cmd-9")


async def test_no_more_than_some_run_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MOST", 2)
    monkeypatch.setattr(background, "FIRST", 0.01)
    for _ in range(2):
        await bench.call("run_command", command="sleep 60", background=True)
    assert "Stop one with stop_command" in await bench.refused("run_command", command="sleep 60", background=True)


async def test_all_end_with_the_session(bench: Bench) -> None:
    await bench.call("run_command", command="sleep 60 & sleep 61", background=True)
    await processes.end_all(bench.session_id)
    background.forget(bench.session_id)
    assert not living_children()
    assert "there are: none" in await bench.refused("command_output", id="cmd-1")


async def test_a_flood_in_the_background_stays_bounded_in_memory(bench: Bench) -> None:
    await bench.call("run_command", command="seq 1 400000", background=True)
    said = await bench.text("command_output", id="cmd-1", wait=30)
    assert len(said) < 100_000


async def test_long_output_is_whole_in_a_private_file(bench: Bench, tmp_path: Path) -> None:
    bench.outputs = tmp_path / "outputs"
    said = await bench.text("run_command", command="seq 1 50000")
    found = re.search(r"the whole output is in (\S+), to be read", said)
    assert found is not None
    kept = Path(found[1])
    assert kept.read_text() == "".join(f"{n}\n" for n in range(1, 50_001))
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


async def test_short_output_leaves_no_file(bench: Bench, tmp_path: Path) -> None:
    bench.outputs = tmp_path / "outputs"
    await bench.text("run_command", command="seq 1 50")
    assert not bench.outputs.exists()


async def test_a_file_of_output_has_a_bound_and_a_disk_that_refuses_it_costs_only_the_file(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_output, "LARGEST", 200_000)
    bench.outputs = tmp_path / "outputs"
    await bench.text("run_command", command="seq 1 100000")
    (kept,) = bench.outputs.iterdir()
    assert kept.stat().st_size == 200_000
    (tmp_path / "in the way").write_text("")
    bench.outputs = tmp_path / "in the way"
    said = await bench.text("run_command", command="seq 1 50000")
    assert "bytes left out …]" in said and "50000" in said
