"""The extension in VS Code, in a browser: the stories of `vscode/*.test.mjs`, on the real agent.

`pytest -m heavy tests/editors/test_vscode.py` needs Linux, Node 20, Chromium at /usr/bin/chromium (or where CHROMIUM
says), and the program of code-server 4.139 or newer that ACP_ADAPTER_TEST_CODE_SERVER names; `vscode/README.md` tells
how to get it. With SHOTS naming a folder, screenshots are kept there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "vscode"
EXTENSION = Path(__file__).parents[2] / "editor-plugins" / "vscode"
CODE_SERVER = os.environ.get("ACP_ADAPTER_TEST_CODE_SERVER", "")
INSTALL = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
SECONDS = 600

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        not shutil.which("npm") or not CODE_SERVER, reason="needs Node and ACP_ADAPTER_TEST_CODE_SERVER (see this file)"
    ),
]


def run(*command: str, cwd: Path, **env: str) -> str:
    """What it printed. Fails with that, where it fails."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **env}, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return done.stdout


@pytest.fixture(scope="session")
def extension() -> None:
    """The extension, packed as a person packs it."""
    run(*INSTALL, cwd=EXTENSION)
    run("npm", "run", "package", cwd=EXTENSION)
    run(*INSTALL, cwd=HERE)


@pytest.mark.parametrize("stories", ["stories.test.mjs", "first-start.test.mjs"])
def test_all_stories_in_a_real_window_hold(extension: None, stories: str) -> None:
    agent = json.dumps([sys.executable, "-m", "acp_adapter"])
    python = str(Path(sys.base_prefix) / "bin" / "python3")
    told = run("node", "--test", stories, cwd=HERE, CODE_SERVER=CODE_SERVER, AGENT=agent, PYTHON=python)
    assert "fail 0" in told and "skipped 0" in told, told
