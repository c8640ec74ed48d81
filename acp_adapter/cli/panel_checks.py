"""Why an editor's panel stays empty: its settings, the command in them, and what that does when an editor starts it.

Looking changes nothing: the agent is started on a ledger of its own, which goes again.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve, frozen

from acp_adapter.cli.client import Client, Json
from acp_adapter.cli.editors import EDITORS
from acp_adapter.cli.editors.forms import Started
from acp_adapter.cli.editors.places import Machine
from acp_adapter.cli.editors.settings import Settings, SettingsFault
from acp_adapter.cli.terminal import one_line
from acp_adapter.config import Config
from acp_adapter.doctor import Check
from acp_adapter.doctor import model as check_model
from acp_adapter.errors import AcpAdapterError

PATIENCE = 30.0
"""Seconds for `initialize` and `session/new` together. Editors wait for so long, or less."""

_KEPT = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SHELL", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
_PATHS = {"darwin": "/usr/bin:/bin:/usr/sbin:/sbin"}
_PATH = "/usr/local/bin:/usr/bin:/bin"
_SERIOUS = re.compile(r"^[\d-]+ [\d:,]+ [WEC] ")
_LOG_END = 64 * 1024


def examine(config: Config, model: Check) -> Iterator[Check]:
    """The findings about every editor that is here, one after the other. `model` is what was found of this shell's."""
    machine = Machine.of(config)
    found = [name for name in machine.found() if EDITORS[name].form]
    if not found:
        yield Check("editors", "ok", "none found; settings for one: acp-adapter setup --editor NAME --print")
    tried: dict[tuple[object, ...], Trial] = {}
    for name in found:
        for path in machine.settings(name):
            started, check = _settings(config, name, path)
            yield check
            if started and check.verdict == "ok":
                key = (started.command, *sorted(started.env.items()))
                if key not in tried:
                    tried[key] = asyncio.run(Trial.of(started, config))
                yield from tried[key].checks(name, model)


def environment(started: Started, config: Config) -> dict[str, str]:
    """What an editor that was opened from a menu gives the agent: no shell's PATH, no shell's keys."""
    if sys.platform == "win32":
        return {**config.environ, **started.env}
    base = {name: config.environ[name] for name in _KEPT if name in config.environ}
    return {**base, "PATH": _PATHS.get(sys.platform, _PATH), **started.env}


def _settings(config: Config, name: str, path: Path) -> tuple[Started | None, Check]:
    """What the settings say of this agent, and whether it can be started like that."""
    advice = f"Run: acp-adapter setup --editor {name}"
    try:
        started = Settings.read(name, path).started()
    except SettingsFault as fault:
        return None, Check(name, "fail", fault.message, "Mend it in the editor, which shows where it is wrong.")
    if Machine.of(config).has_extension(name) is False:
        install = "Install it: editor-plugins/vscode/README.md in the project says how."
        return None, Check(name, "warn", f"our extension is not installed in {EDITORS[name].title}", install)
    if started is None:
        return None, Check(name, "warn", f"not connected: nothing of this agent in {path}", advice)
    if not started.command:
        return started, Check(name, "ok", f"{path} leaves the command to the editor")
    program = started.command[0]
    if wrong := _not_startable(program, environment(started, config).get("PATH", "")):
        return None, Check(name, "fail", f"{path} starts {one_line(program, 200)}, {wrong}", advice)
    return started, Check(name, "ok", f"{path} starts {one_line(' '.join(started.command), 200)}")


def _not_startable(program: str, path: str) -> str:
    """Why an editor can't start it, empty where it can."""
    if not Path(program).is_absolute():
        if shutil.which(program, path=path):
            return ""
        return f"which is not on the PATH of a program that was opened from a menu ({path})"
    if not Path(program).exists():
        return "which is not there: was it moved, or its virtual environment deleted?"
    return "" if shutil.which(program) else "which may not be executed"


@frozen
class Trial:
    """The agent, started as an editor would: what came of it. `fault` is empty where it gave a session."""

    model: Check
    fault: str = ""
    seconds: float = 0.0
    noise: tuple[str, ...] = ()
    log: tuple[str, ...] = ()

    @classmethod
    async def of(cls, started: Started, config: Config) -> Trial:
        env = environment(started, config)
        own = Config.load(env)
        model = await check_model(own)
        if not started.command:
            return cls(model, log=_log(env))
        with tempfile.TemporaryDirectory(prefix="acp-adapter-doctor-") as elsewhere:
            apart = {**env, "ACP_ADAPTER_LEDGER": str(Path(elsewhere) / "state.db")}
            apart.pop("ACP_ADAPTER_LOG_FILE", None)
            if not own.home.exists():
                apart["ACP_ADAPTER_HOME"] = elsewhere
            tried = await _tried(started, apart, Path(elsewhere))
        return evolve(tried, model=model, log=_log(env) or tried.log)

    def checks(self, name: str, shell: Check) -> Iterator[Check]:
        """What there is to say of an editor that starts the agent like this."""
        if self.fault:
            advice = "Start the same command in a terminal; docs/howto/find-out-what-is-wrong.md goes on from there."
            yield Check(f"{name} start", "fail", self.fault, advice)
        elif self.noise:
            lines = " / ".join(self.noise)
            advice = "Let the command write to stderr what is not for the editor; many editors give up at such a line."
            yield Check(f"{name} start", "warn", f"there is noise between the messages on stdout: {lines}", advice)
        elif self.seconds:
            yield Check(f"{name} start", "ok", f"a session after {self.seconds:.2f} s")
        if self.model.verdict != "ok" and shell.verdict == "ok":
            advice = "An editor may not see what your shell does. Put it into config.toml: acp-adapter setup"
            yield evolve(self.model, name=f"{name} model", verdict="warn", advice=advice)
        if self.log:
            yield Check(f"{name} log", "warn", " / ".join(self.log), "These are the last warnings in the agent's log.")


async def _tried(started: Started, env: Mapping[str, str], cwd: Path) -> Trial:
    async def unasked(params: Json) -> Json:
        return {"outcome": "cancelled"}

    unknown = Check("model", "ok", "")
    client = Client(lambda params: None, unasked)
    begun, at = time.perf_counter(), "initialize"
    try:
        async with asyncio.timeout(PATIENCE):
            await client.start(started.command, cwd, dict(env))
            at = "session/new"
            await client.request(at, {"cwd": str(cwd), "mcpServers": []})
        fault = ""
    except TimeoutError:
        fault = f"no answer to {at} within {PATIENCE:g} s"
    except AcpAdapterError as raised:
        fault = f"{at}: {one_line(raised.message, 500)}"
    finally:
        await client.aclose()
    noise = tuple(one_line(line, 100) for line in client.noise)
    return Trial(unknown, fault, time.perf_counter() - begun, noise, _serious(client.last_words))


def _log(env: Mapping[str, str]) -> tuple[str, ...]:
    """The last warnings in the log file that an editor lets the agent write."""
    if not (name := env.get("ACP_ADAPTER_LOG_FILE")):
        return ()
    try:
        with Path(name).expanduser().open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_END))
            return _serious(file.read().decode("utf-8", "replace").splitlines())
    except OSError:
        return ()


def _serious(lines: list[str]) -> tuple[str, ...]:
    return tuple(one_line(line, 200) for line in lines if _SERIOUS.match(line))[-3:]
