"""The settings by which each editor starts this agent, with the path of this installation in them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

NAME = "acp-adapter"


@frozen
class Editor:
    """`where` says where the snippet belongs, `then` how to open the agent's panel afterwards."""

    title: str
    where: str
    snippet: Callable[[Sequence[str]], str]
    then: str


def agent_command() -> list[str]:
    """How an editor starts this installation, as an absolute path: editors seldom have a shell's PATH."""
    script = Path(sys.executable).with_name(NAME + (".exe" if sys.platform == "win32" else ""))
    if script.exists():
        return [str(script)]
    found = shutil.which(NAME)
    return [found] if found else [sys.executable, "-P", "-m", "acp_adapter"]


def _agent_servers(command: Sequence[str], **more: str) -> str:
    server = {**more, "command": command[0], "args": list(command[1:]), "env": {}}
    return json.dumps({"agent_servers": {NAME: server}}, indent=2)


def _zed(command: Sequence[str]) -> str:
    return _agent_servers(command, type="custom")


def _vscode(command: Sequence[str]) -> str:
    agent = {"command": command[0], "args": list(command[1:]), "env": {}}
    return json.dumps({"acp.agents": {NAME: agent}}, indent=2)


def _neovim(command: Sequence[str]) -> str:
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
    return f"""\
require("avante").setup({{
  provider = "acp-adapter",
  acp_providers = {{
    ["acp-adapter"] = {{ command = {json.dumps(command[0])}, args = {_lua(command[1:])} }},
  }},
}})"""


def _emacs(command: Sequence[str]) -> str:
    params = " ".join(json.dumps(word) for word in command[1:])
    return f"""\
(with-eval-after-load 'agent-shell
  (add-to-list
   'agent-shell-agent-configs
   (agent-shell-make-agent-config
    :identifier 'acp-adapter
    :mode-line-name "acp-adapter"
    :buffer-name "acp-adapter"
    :shell-prompt "acp-adapter> "
    :shell-prompt-regexp "acp-adapter> "
    :client-maker
    (lambda (buffer)
      (acp-make-client
       :command {json.dumps(command[0])}
       :command-params '({params})
       :context-buffer buffer)))))"""


def _lua(words: Sequence[str]) -> str:
    return "{ " + ", ".join(json.dumps(word) for word in words) + " }" if words else "{}"


EDITORS = {
    "zed": Editor("Zed", "settings.json (command “zed: open settings”)", _zed, "Agent panel, +, acp-adapter"),
    "vscode": Editor(
        "VS Code, with the extension “ACP Client” (formulahendry.acp-client)",
        "settings.json (command “Preferences: Open User Settings (JSON)”)",
        _vscode,
        "Activity bar, ACP, acp-adapter",
    ),
    "neovim": Editor("Neovim, with CodeCompanion.nvim", "your init.lua", _neovim, ":CodeCompanionChat"),
    "avante": Editor("Neovim, with avante.nvim", "your init.lua", _avante, ":AvanteAsk"),
    "emacs": Editor("Emacs, with agent-shell", "your init.el", _emacs, "M-x agent-shell"),
    "jetbrains": Editor(
        "JetBrains IDEs, with AI Assistant",
        "~/.jetbrains/acp.json (AI Chat, menu, “Configure ACP Agents”)",
        _agent_servers,
        "AI Chat, agent menu, acp-adapter",
    ),
}
