"""`acp-adapter doctor`: checks everything the agent needs and says what to do about what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import tempfile
import time
from typing import Any

from attrs import asdict

from acp_adapter.cli.client import Client
from acp_adapter.cli.editors import EDITORS, agent_command
from acp_adapter.config import Config
from acp_adapter.doctor import CHECKS, Check
from acp_adapter.errors import AcpAdapterError

SLOW_START = 3.0
"""Seconds to the answer of `initialize` beyond which an editor's panel feels broken."""

MARKS = {"ok": ("✔", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line: name, verdict, detail, advice")


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    found = []
    for check in ALL:
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


ALL = (*CHECKS, editors, handshake)
