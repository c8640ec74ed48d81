"""`acp-adapter blame`: which session and turn wrote the lines of a file."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict

from acp_adapter.agent.blame import Line, blamed, place, text_on_disk, told
from acp_adapter.cli.columns import aligned
from acp_adapter.cli.ledger import opened_ledger
from acp_adapter.cli.sessions import SHORT_ID, age, iso
from acp_adapter.cli.terminal import one_line, safe
from acp_adapter.config import Config
from acp_adapter.errors import InvalidParams

WHO = {"other": "other hands", "before": "before", "unknown": "unknown"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", metavar="FILE[:LINE]", help="the file, or one line of it, counted from 1")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    if not config.ledger.exists():
        raise InvalidParams(f"There are no sessions yet: {config.ledger} does not exist.")
    named, number = place(args.place, Path.cwd())
    path = Path(os.path.realpath(named))
    with opened_ledger(config) as db:
        found = blamed(db, path, text_on_disk(path), number)
    if args.json:
        for line in found:
            print(json.dumps(facts(line), ensure_ascii=False))
    elif number is not None:
        print("\n".join(_about(found[0])))
    elif found:
        print("\n".join(_table(found)))
    return 0


def facts(line: Line) -> dict[str, Any]:
    return {**asdict(line), "when": None if line.when is None else iso(line.when)}


def _about(line: Line) -> Iterator[str]:
    yield safe(told(line, age(line.when or 0)))
    if line.by == "session":
        yield f"To read it: acp-adapter sessions show {line.session_id}"


def _table(found: Sequence[Line]) -> Iterator[str]:
    rows = [[*_who(line), str(line.number)] for line in found]
    for head, line in zip(aligned(rows, right={3}), found, strict=True):
        yield f"{head}  {safe(line.text)}".rstrip()


def _who(line: Line) -> list[str]:
    if line.by != "session" or line.session_id is None:
        return [WHO[line.by], "", ""]
    return [line.session_id[:SHORT_ID], age(line.when or 0), one_line(line.prompt or line.title or "", 30)]
