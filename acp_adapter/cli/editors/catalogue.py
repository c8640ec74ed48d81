"""The editors, and the settings by which each starts this agent, with the path of this installation in them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from acp_adapter.cli.editors.forms import Form, JsonEntry, JsonSettings, Lines

NAME = "acp-adapter"


@frozen
class Editor:
    """`where` says where the snippet belongs, `then` how to open the agent's panel afterwards.

    `form` is how setup writes it there, None where it only shows it.
    """

    title: str
    where: str
    snippet: Callable[[Sequence[str]], str]
    then: str
    form: Form | None = None


def agent_command() -> list[str]:
    """How an editor starts this installation, as an absolute path: editors seldom have a shell's PATH."""
    script = Path(sys.executable).with_name(NAME + (".exe" if sys.platform == "win32" else ""))
    if script.exists():
        return [str(script)]
    found = shutil.which(NAME)
    return [found] if found else [sys.executable, "-P", "-m", "acp_adapter"]


def plugin(path: str) -> Path:
    """A file or folder of `editor-plugins/`: as it was installed with this program, or in a checkout of the project."""
    installed = Path(__file__).with_name("plugins")
    return (installed if installed.is_dir() else Path(__file__).parents[3] / "editor-plugins") / path


def _json(form: JsonEntry) -> Callable[[Sequence[str]], str]:
    def snippet(command: Sequence[str]) -> str:
        value: object = form.entry(command)
        for key in reversed(form.path):
            value = {key: value}
        return json.dumps(value, indent=2)

    return snippet


def _neovim(command: Sequence[str]) -> str:
    """Does nothing where a plugin manager has loaded the plugin before, or where it is gone."""
    return f"""\
local command = {_lua(command)}
local plugin = {json.dumps(plugin("neovim").as_posix(), ensure_ascii=False)}
if vim.fn.isdirectory(plugin) == 1 and not vim.g.loaded_acp_adapter then
  vim.opt.runtimepath:append(plugin)
  vim.cmd.runtime("plugin/acp_adapter.lua")
  require("acp_adapter").setup({{ command = command }})
end"""


def _codecompanion(command: Sequence[str]) -> str:
    return f"""\
require("codecompanion").setup({{
  adapters = {{
    acp = {{
      acp_adapter = function()
        return require("codecompanion.adapters").extend("opencode", {{
          name = "acp_adapter",
          formatted_name = "acp-adapter",
          commands = {{ default = {_lua(command)} }},
        }})
      end,
    }},
  }},
  interactions = {{ chat = {{ adapter = "acp_adapter" }} }},
}})"""


def _avante(command: Sequence[str]) -> str:
    """avante.nvim starts an agent with PATH alone: keys, HOME and the rest are passed on."""
    program = json.dumps(command[0], ensure_ascii=False)
    return f"""\
require("avante").setup({{
  provider = "acp-adapter",
  acp_providers = {{
    ["acp-adapter"] = {{ command = {program}, args = {_lua(command[1:])}, env = vim.fn.environ() }},
  }},
}})"""


def _emacs(command: Sequence[str]) -> str:
    words = " ".join(json.dumps(word) for word in command)
    return f"""\
(setq acp-adapter-command '({words}))
(load {json.dumps(plugin("emacs/acp-adapter.el").as_posix())} t)"""


def _lua(words: Sequence[str]) -> str:
    return "{ " + ", ".join(json.dumps(word, ensure_ascii=False) for word in words) + " }" if words else "{}"


_ZED = JsonEntry(("agent_servers", NAME), {"type": "custom"})
_VSCODE = JsonSettings("acp-adapter.")
_JETBRAINS = JsonEntry(("agent_servers", NAME))


def _code(title: str) -> Editor:
    return Editor(
        f"{title}, with our extension",
        "settings.json (command “Preferences: Open User Settings (JSON)”)",
        lambda command: json.dumps(_VSCODE.entry(command), indent=2),
        "Ctrl+Alt+A, or the speech bubble in the activity bar",
        _VSCODE,
    )


EDITORS = {
    "zed": Editor(
        "Zed", "settings.json (command “zed: open settings file”)", _json(_ZED), "Agent panel, +, acp-adapter", _ZED
    ),
    "vscode": _code("VS Code"),
    "vscode-insiders": _code("VS Code Insiders"),
    "vscodium": _code("VSCodium"),
    "cursor": _code("Cursor"),
    "windsurf": _code("Windsurf"),
    "neovim": Editor(
        "Neovim, with our plugin",
        "plugin/acp-adapter.lua in Neovim's folder",
        _neovim,
        ":AcpAdapter",
        Lines("--", _neovim),
    ),
    "codecompanion": Editor("Neovim, with CodeCompanion.nvim", "your init.lua", _codecompanion, ":CodeCompanionChat"),
    "avante": Editor("Neovim, with avante.nvim", "your init.lua", _avante, ":AvanteAsk"),
    "emacs": Editor("Emacs, with agent-shell", "your init.el", _emacs, "M-x acp-adapter-start", Lines(";;", _emacs)),
    "jetbrains": Editor(
        "JetBrains IDEs, with AI Assistant",
        "~/.jetbrains/acp.json (AI Chat, menu, “Configure ACP Agents”)",
        _json(_JETBRAINS),
        "AI Chat, agent menu, acp-adapter",
        _JETBRAINS,
    ),
}
