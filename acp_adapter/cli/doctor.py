"""`acp-adapter doctor`: checks what the agent needs and what editors make of it, and says what to do."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from attrs import asdict

from acp_adapter.cli import panel_checks
from acp_adapter.cli.client import Client
from acp_adapter.cli.editors import agent_command
from acp_adapter.config import Config
from acp_adapter.doctor import CHECKS, Check
from acp_adapter.errors import AcpAdapterError

SLOW_START = 3.0
"""Seconds to the answer of `initialize` beyond which an editor's panel feels broken."""

MARKS = {"ok": ("✔", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line: name, verdict, detail, advice")


def run(args: argparse.Namespace) -> int:
    found = []
    for finding in examine(Config.load()):
        found.append(finding)
        show(finding, as_json=args.json)
    return 1 if any(finding.verdict == "fail" for finding in found) else 0


def examine(config: Config) -> Iterator[Check]:
    """One finding after the other, each as soon as it is known."""
    known = {}
    for check in (*CHECKS, handshake):
        finding = asyncio.run(check(config))
        known[finding.name] = finding
        yield finding
    yield from panel_checks.examine(config, known["model"])


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
