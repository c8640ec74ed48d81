"""Neovim, connected by `acp-adapter setup`: the plugin is there, starts this installation, and goes again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from acp_adapter.cli.editors import agent_command
from tests.editors.neovim.conftest import PROGRAM

SECONDS = 60
LOOK = """\
lua local found, config = pcall(require, "acp_adapter.config")
io.write(vim.json.encode({ command = found and config.values.command, there = vim.fn.exists(":AcpAdapter") }))"""


def looked(env: dict[str, str]) -> dict[str, object]:
    command = [str(PROGRAM), "--headless", "-c", " ".join(LOOK.splitlines()), "-c", "qa!"]
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", timeout=SECONDS, check=True)
    return dict(json.loads(done.stdout or done.stderr))


def test_setup_connects_neovim_with_a_file_of_its_own_and_undo_takes_it_away(env: dict[str, str], home: Path) -> None:
    (home.parent / ".config" / "nvim").mkdir(parents=True)
    init = home.parent / ".config" / "nvim" / "init.vim"
    init.write_text("set number\n")
    setup = [sys.executable, "-m", "acp_adapter", "setup", "--editor", "neovim", "--yes"]
    subprocess.run(setup, env=env, check=True, timeout=SECONDS, capture_output=True)
    assert looked(env) == {"command": agent_command(), "there": 2}
    subprocess.run([*setup, "--undo"], env=env, check=True, timeout=SECONDS, capture_output=True)
    assert looked(env) == {"command": False, "there": 0}
    assert init.read_text() == "set number\n"
