"""A private home for each test, and the command line as a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

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
def cli(env: dict[str, str], project: Path) -> Run:
    """Run `acp-adapter WORDS` in the project with no terminal; standard input is what `stdin` says."""

    def run(*words: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "acp_adapter", *words],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            env=env,
            cwd=cwd or project,
            timeout=SECONDS,
            check=False,
        )

    return run
