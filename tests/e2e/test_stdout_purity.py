"""Stdout carries frames and nothing else, whatever state the machine is in and whoever prints."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.clients.lab import Lab
from tests.clients.raw import RawClient
from tests.clients.turn import output
from tests.stub_model import SHELL, C, T

HERMES = Path(__file__).resolve().parents[3] / "shared" / "hermes" / "state.db"

PRINTING = '''
"""A library that prints whenever it likes, at the level of Python and of file descriptors."""
import atexit, os, sys, threading, time

def shout():
    before = os.fstat(1)
    end = time.monotonic() + 1.0
    while os.fstat(1) == before and time.monotonic() < end:
        time.sleep(0.002)
    while True:
        try:
            print("hello from a library", flush=True)
            os.write(1, b"hello from a descriptor\\n")
        except (OSError, ValueError):
            return
        time.sleep(0.02)

if sys.argv[0] == "-m":
    threading.Thread(target=shout, daemon=True).start()
    atexit.register(print, "goodbye")
'''


async def a_conversation(lab: Lab, client: RawClient, warning: str = "") -> None:
    """The smallest whole use: initialize, new, a prompt with a command, an answer; before it, the warning."""
    lab.model.add(C("c1", SHELL, {"command": "echo out; echo err >&2"}), T("done"))
    first = client.frames[1]
    assert first.data["result"]["protocolVersion"] == 1
    session = await client.new(lab.project)
    turn = await client.prompt(session, "go")
    assert turn.stop_reason == "end_turn"
    assert turn.text.endswith("done") and warning in turn.text
    assert bool(warning) == (turn.text != "done")
    assert {"out", "err"} <= set(output(turn.calls[0].fields).split())


async def test_without_a_state_directory(lab: Lab) -> None:
    assert not lab.home.exists()
    await a_conversation(lab, await lab.start())


async def test_with_a_broken_config_file(lab: Lab) -> None:
    lab.configure('model = "unclosed\n[[[')
    await a_conversation(lab, await lab.start(), "config.toml can't be read")


async def test_with_wrong_types_and_unknown_keys_in_the_config_file(lab: Lab) -> None:
    lab.configure('max_steps = "many"\nmode = 7\nproviders = 3\nwhatever = true\n')
    await a_conversation(lab, await lab.start(), "mode must be of type str")


@pytest.mark.parametrize("level", ["DEBUG", "nonsense"])
async def test_with_warnings_and_development_mode_and_much_logging(lab: Lab, level: str) -> None:
    client = await lab.start(PYTHONWARNINGS="default", PYTHONDEVMODE="1", ACP_ADAPTER_LOG=level, PYTHONASYNCIODEBUG="1")
    await a_conversation(lab, client)


@pytest.mark.skipif(not HERMES.exists(), reason="the other program's ledger is not at hand")
async def test_with_a_ledger_of_another_program(lab: Lab) -> None:
    lab.home.mkdir(mode=0o700)
    shutil.copyfile(HERMES, lab.home / "state.db")
    (lab.home / "state.db").chmod(0o600)
    await a_conversation(lab, await lab.start())


async def test_with_a_file_that_is_no_database(lab: Lab) -> None:
    """The damaged file is kept aside, the user is told, the session works."""
    lab.home.mkdir(mode=0o700)
    damaged = lab.home / "state.db"
    damaged.write_bytes(b"this is not a database, but somebody's only copy of something" * 100)
    damaged.chmod(0o600)
    await a_conversation(lab, await lab.start(), "damaged")
    kept = [path for path in lab.home.iterdir() if path.read_bytes().startswith(b"this is not a database")]
    assert len(kept) == 1
    with sqlite3.connect(lab.home / "state.db") as ledger:
        assert ledger.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    ledger.close()


async def test_a_library_that_prints_reaches_stderr_only(lab: Lab) -> None:
    site = lab.folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(PRINTING, "utf-8")
    client = await lab.start(PYTHONPATH=str(site))
    await a_conversation(lab, client)
    await client.until(lambda: "hello from a descriptor" in client.process.stderr, "the library's words on stderr")
    client.eof()
    await client.ended()
    assert "hello from a library" in client.process.stderr


async def test_a_stderr_pipe_that_nobody_reads_does_not_block_the_agent(lab: Lab) -> None:
    """More than a pipe holds is logged: each frame of a megabyte, at the most talkative level."""
    client = await lab.start(unread_stderr=True, ACP_ADAPTER_LOG="DEBUG", PYTHONASYNCIODEBUG="1")
    for number in range(300):
        await client.error_of(f"no/such/method/{'x' * 4000}/{number}", {})
    await a_conversation(lab, client)
