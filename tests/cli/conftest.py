"""A private home for each test, and the command line as a real process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.cli.main import main

SECONDS = 60.0

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "sunflower"\n')
    return folder


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    """The environment of a fresh machine: no keys, no model servers, its own home."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
    return {
        **kept,
        "HOME": str(home.parent),
        "ACP_ADAPTER_HOME": str(home),
        "PYTHONUTF8": "1",
        "ACP_ADAPTER_DISCOVER": "off",
        "ACP_ADAPTER_TITLES": "off",
    }


@pytest.fixture
def script(tmp_path: Path, env: dict[str, str]) -> Callable[..., Path]:
    """`script(step, …)`: the model plays these steps, by its place in the conversation, also after a restart."""

    def write(*steps: Mapping[str, Any]) -> Path:
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"by": "history", "steps": steps}))
        env["ACP_ADAPTER_MODEL"] = f"scripted:{path}"
        return path

    return write


@pytest.fixture
def program(env: dict[str, str], project: Path) -> Run:
    """Run `acp-adapter WORDS` in the project as a process without a terminal; its standard input is `stdin`."""

    def run(*words: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "acp_adapter", *words],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            env=env,
            cwd=cwd or project,
            timeout=SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def cli(env: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same command inside this process, which spares the start of Python; its standard input is empty."""

    def run(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        with (
            monkeypatch.context() as patch,
            redirect_stdout(out),
            redirect_stderr(err),
            Path(os.devnull).open() as nothing,
        ):
            patch.setattr(os, "environ", dict(env))
            patch.setattr(sys, "stdin", nothing)
            patch.chdir(cwd or project)
            code = main(words)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run
