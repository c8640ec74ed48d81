"""Plugins of other people with the real agent: Telescope as the picker, and the three that speak ACP by our adapters.

`ACP_ADAPTER_TEST_NVIM_PLUGINS` names a folder with clones of telescope.nvim, plenary.nvim, nui.nvim,
codecompanion.nvim, avante.nvim and agentic.nvim; what is not there is skipped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.editors.neovim.conftest import Start
from tests.editors.neovim.driver import PLUGIN, Nvim

Script = Callable[..., Path]

CLONES = Path(os.environ.get("ACP_ADAPTER_TEST_NVIM_PLUGINS") or "nowhere")
SAID = "table.concat(vim.iter(vim.api.nvim_list_bufs()):map(function(b) return table.concat(" + (
    "vim.fn.getbufline(b, 1, '$'), '\\n') end):totable(), '\\n')"
)
"""Everything in any buffer, as a Lua expression."""

KEEP_AGENTIC = """\
(function()
  local manager = require("agentic.session_manager")
  local new = manager.new
  manager.new = function(...)
    agentic_session = new(...)
    return agentic_session
  end
end)()"""
"""agentic.nvim takes prompts before it has a session, and loses them: keeps its session to be looked at."""


def clones(*names: str) -> list[Path]:
    missing = [name for name in names if not (CLONES / name).is_dir()]
    if missing:
        pytest.skip(f"ACP_ADAPTER_TEST_NVIM_PLUGINS has no {', '.join(missing)}")
    return [CLONES / name for name in names]


@pytest.fixture
def on_path(env: dict[str, str]) -> None:
    """The adapters call the program by its bare name."""
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"


def adapted(editor: Nvim, name: str) -> None:
    assert editor.lua(f"(function() dofile('{PLUGIN}/adapters/{name}.lua') return true end)()")


def test_telescope_lists_sessions_and_searches_as_one_types(nvim: Start, script: Script) -> None:
    plugins = clones("telescope.nvim", "plenary.nvim")
    script({"when": "cats", "text": "About whiskers."}, {"when": "dogs", "text": "About tails."})
    editor = nvim(plugins=plugins)
    editor.write("cats")
    editor.sees("About whiskers.")
    editor.keys("<Esc>:AcpAdapter new<CR>")
    editor.until("require('acp_adapter.current').session.title == nil")
    editor.write("dogs")
    editor.sees("About tails.")
    editor.keys("<Esc>:AcpSessions<CR>")
    editor.until(f"vim.bo.filetype == 'TelescopePrompt' and {SAID}:find('cats — ')")
    editor.keys("whiskers")
    chosen = "require('telescope.actions.state').get_selected_entry()"
    editor.until(f"{chosen} and {chosen}.display == 'cats — assistant: About whiskers.'")
    editor.keys("<CR>")
    editor.sees("❯ cats\n\nAbout whiskers.")


@pytest.mark.usefixtures("on_path")
def test_codecompanion_chats_with_the_agent(nvim: Start, script: Script) -> None:
    plugins = clones("codecompanion.nvim", "plenary.nvim")
    script({"text": "Hello from the agent."})
    editor = nvim(plugins=plugins)
    adapted(editor, "codecompanion")
    editor.keys(":runtime plugin/codecompanion.lua<CR>:CodeCompanionChat<CR>")
    editor.until("vim.bo.filetype == 'codecompanion'")
    editor.keys("ihi there<Esc>")
    editor.until("vim.api.nvim_get_mode().mode == 'n' and vim.fn.search('hi there', 'nw') > 0")
    editor.keys("<CR>")
    editor.until(f"{SAID}:find('Hello from the agent.', 1, true)")


@pytest.mark.usefixtures("on_path")
def test_agentic_chats_with_the_agent(nvim: Start, script: Script, tmp_path: Path) -> None:
    plugins = clones("agentic.nvim")
    (tmp_path / ".cache" / "nvim").mkdir(parents=True)  # where it logs
    script({"text": "Hello from the agent."})
    editor = nvim(plugins=plugins)
    adapted(editor, "agentic")
    editor.lua(KEEP_AGENTIC)
    editor.keys(":lua require('agentic').toggle()<CR>")
    editor.until("vim.bo.filetype == 'AgenticInput' and agentic_session.session_id")
    editor.keys("<Esc>ihi there<C-s>")
    editor.until(f"{SAID}:find('Hello from the agent.', 1, true)")


@pytest.mark.usefixtures("on_path")
def test_avante_takes_the_agent_for_its_provider(nvim: Start) -> None:
    plugins = clones("avante.nvim", "nui.nvim", "plenary.nvim")
    editor = nvim(plugins=plugins)
    adapted(editor, "avante")
    assert editor.lua("require('avante.config').provider") == "acp-adapter"
    assert editor.lua("require('avante.config').acp_providers['acp-adapter'].command") == "acp-adapter"
