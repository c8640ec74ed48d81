"""The plugin's own files: formatted, without warnings, with help tags, and in agreement with the documentation."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.editors.neovim.conftest import Start
from tests.editors.neovim.driver import PLUGIN

HOWTO = PLUGIN.parents[1] / "docs" / "howto" / "connect-your-editor.md"


@pytest.mark.parametrize(
    "words", [["luacheck", "--quiet", "."], ["stylua", "--check", "."]], ids=["luacheck", "stylua"]
)
def test_the_lua_files_are_in_style(words: list[str]) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is missing")
    done = subprocess.run(words, cwd=PLUGIN, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_help_names_every_setting_with_its_default(nvim: Start, tmp_path: Path) -> None:
    text = (PLUGIN / "doc" / "acp_adapter.txt").read_text("utf-8")
    example = re.search(r"setup\((\{\n.*?\n  \})\)", text, re.DOTALL)
    assert example
    (tmp_path / "example.lua").write_text("return " + example[1])
    editor = nvim()
    example_file = str(tmp_path / "example.lua")
    assert editor.lua(f"dofile('{example_file}')") == editor.lua("require('acp_adapter.config').defaults")


def test_the_help_can_be_opened(nvim: Start, tmp_path: Path) -> None:
    copy = tmp_path / "plugin"
    shutil.copytree(PLUGIN, copy)
    editor = nvim(plugins=[copy])
    editor.keys(f":helptags {copy}/doc<CR>:help :AcpSessions<CR>")
    editor.until("vim.bo.filetype == 'help' and vim.fn.getline('.'):find('AcpSessions')")


@pytest.mark.parametrize("name", ["codecompanion", "avante", "agentic"])
def test_the_adapters_are_what_the_documentation_shows(name: str) -> None:
    text = (PLUGIN / "adapters" / f"{name}.lua").read_text("utf-8")
    code = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("--"))
    assert f"```lua\n{code}```" in HOWTO.read_text("utf-8")
