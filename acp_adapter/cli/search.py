"""`acp-adapter search`: finds what was said in any session, by literal words and quoted phrases."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acp_adapter.cli.ledger import opened_ledger
from acp_adapter.cli.quantities import moment_of
from acp_adapter.cli.sessions import SHORT_ID, age, iso
from acp_adapter.cli.terminal import in_place, one_line
from acp_adapter.config import Config
from acp_adapter.ledger.search import Hit


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help='words that must all be there; "quoted", a phrase')
    parser.add_argument("--role", choices=["user", "assistant", "tool"], help="only messages of this role")
    parser.add_argument("--session", metavar="ID", help="only in this session")
    parser.add_argument("--source", help="only sessions of this program (acp, cli, telegram, …)")
    parser.add_argument("--cwd", type=Path, help="only sessions of this folder")
    parser.add_argument("--since", metavar="WHEN", help="only newer messages: 2026-01-31, or 90min, 12h, 7d, 4w")
    parser.add_argument("--newest", action="store_true", help="newest first instead of best first")
    parser.add_argument("--limit", type=int, default=20, help="at most so many (default: 20)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Exit code 1 where nothing is found, as grep does."""
    config = Config.load()
    if not config.ledger.exists():
        print("There are no sessions to search yet.", file=sys.stderr)
        return 1
    with opened_ledger(config) as db:
        hits = db.search(
            " ".join(args.query),
            role=args.role,
            session_id=db.resolve(args.session) if args.session else None,
            source=args.source,
            cwd=str(args.cwd.absolute()) if args.cwd else None,
            since=moment_of(args.since) if args.since else None,
            newest_first=args.newest,
            limit=args.limit,
        )
    for hit in hits:
        print(json.dumps(facts(hit), ensure_ascii=False) if args.json else "\n".join(lines(hit)))
    if not hits and not args.json:
        print("Nothing was found.", file=sys.stderr)
    return 0 if hits else 1


def facts(hit: Hit) -> dict[str, Any]:
    return {
        "session_id": hit.session_id,
        "message_id": hit.message_id,
        "role": hit.role,
        "title": hit.title,
        "source": hit.source,
        "timestamp": iso(hit.timestamp),
        "snippet": hit.snippet,
        "compacted": hit.compacted,
    }


def lines(hit: Hit) -> Iterator[str]:
    """A hit for people: where it is, then the passage with the found words marked on a terminal."""
    about = [hit.session_id[:SHORT_ID], age(hit.timestamp), hit.role, one_line(hit.title or "(no title)", 60)]
    yield "  ".join(about) + ("  (compacted)" if hit.compacted else "")
    yield "    " + marked(hit)


def marked(hit: Hit) -> str:
    """The passage, harmless; its found words stand out on a terminal."""
    if not sys.stdout.isatty():
        return in_place(hit.snippet)
    from rich.console import Console  # only where there are colours
    from rich.text import Text

    text = Text(in_place(hit.snippet))
    for start, end in hit.spans:
        text.stylize("bold yellow", start, end)
    console = Console(soft_wrap=True, highlight=False)
    with console.capture() as captured:
        console.print(text, end="")
    return captured.get()
