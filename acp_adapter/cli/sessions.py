"""`acp-adapter sessions`: what is stored, as a list, as a tree, or one session in full, or its tool calls."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from acp_adapter.cli import trace
from acp_adapter.cli.columns import aligned, width
from acp_adapter.cli.ledger import opened_ledger
from acp_adapter.cli.terminal import one_line, safe
from acp_adapter.config import Config
from acp_adapter.errors import InvalidParams
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.listing import ListedSession, Page
from acp_adapter.ledger.picture import tree_lines
from acp_adapter.transcript import Message

SHORT_ID = 8
TOOL_LINES = 4


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["list", "show", "trace"],
        default="list",
        help="list (the default), show, or trace",
    )
    parser.add_argument(
        "session", nargs="?", metavar="ID", help="for show and trace: an id, the start of one, or a title"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--cwd", type=Path, default=Path(), help="the sessions of this folder (default: here)")
    which.add_argument("--all", action="store_true", help="the sessions of all folders")
    parser.add_argument("--tree", action="store_true", help="draw branches below the session they left")
    parser.add_argument("--limit", type=int, default=50, help="at most so many (default: 50)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    if not config.ledger.exists():
        print(f"There are no sessions yet: {config.ledger} does not exist.")
        return 0
    with opened_ledger(config) as db:
        if args.action == "show":
            return _show(db, _resolved(db, args), args.json)
        if args.action == "trace":
            return trace.show(db, _resolved(db, args), args.json)
        cwd = None if args.all else str(args.cwd.absolute())
        page = db.list_sessions(cwd=cwd, limit=args.limit, sources=config.sources)
        if args.json:
            for listed in page.sessions:
                print(json.dumps(facts(listed, _cost(db, listed)), ensure_ascii=False))
        else:
            print("\n".join(_picture(db, page, args, cwd)))
    return 0


def _picture(db: SessionDB, page: Page, args: argparse.Namespace, cwd: str | None) -> Iterator[str]:
    if not page.sessions:
        yield f"There are no sessions of {cwd}. `acp-adapter sessions --all` lists those of all folders."
    elif args.tree:
        short = short_length(page.sessions)
        yield from tree_lines(db, page.sessions, lambda listed: _leaf(listed, short))
    else:
        costs = [_cost(db, listed) for listed in page.sessions]
        yield from table_lines(page.sessions, costs, with_folder=cwd is None)
    if page.next_cursor:
        yield f"… and older ones: --limit {2 * args.limit} shows more."


def _cost(db: SessionDB, listed: ListedSession) -> float | None:
    """US dollars for the whole conversation, helper calls included, as far as prices are known; None for nothing."""
    return db.spent(listed.id).session_cost or None


def facts(listed: ListedSession, cost: float | None) -> dict[str, Any]:
    """One conversation for programs. Times are ISO 8601 in UTC; `parent` is null for what is no branch, `cost_usd` for
    what cost nothing that is known."""
    session = listed.session
    return {
        "session_id": listed.id,
        "title": listed.title,
        "updated_at": iso(session.last_active),
        "started_at": iso(session.started_at),
        "messages": listed.message_count,
        "cost_usd": cost,
        "source": session.source,
        "cwd": session.cwd,
        "model": session.model,
        "parent": listed.parent,
        "fork_point": listed.fork_point,
        "branches": listed.branch_count,
    }


def table_lines(sessions: Sequence[ListedSession], costs: Sequence[float | None], with_folder: bool) -> Iterator[str]:
    """The list, newest first, with costs if any is known. Titles take what the width leaves."""
    priced = any(costs)
    head = ["ID", "AGE", "MESSAGES", *(["COST"] if priced else []), "SOURCE", "TITLE"]
    head += ["FOLDER"] if with_folder else []
    short = short_length(sessions)
    rows = [
        [
            listed.id[:short],
            age(listed.session.last_active),
            str(listed.message_count),
            *([f"${cost:,.2f}" if cost else ""] if priced else []),
            one_line(listed.session.source, 12),
            one_line(listed.title or "(no title)", max(20, width() - 70)),
            *([_folder(listed.session.cwd)] if with_folder else []),
        ]
        for listed, cost in zip(sessions, costs, strict=True)
    ]
    return aligned([head, *rows], right={2, 3} if priced else {2})


def short_length(sessions: Sequence[ListedSession]) -> int:
    """How many characters of an id tell these sessions apart."""
    ids = {listed.id for listed in sessions}
    longest = max(map(len, ids))
    return next((n for n in range(SHORT_ID, longest) if len({i[:n] for i in ids}) == len(ids)), longest)


def _leaf(listed: ListedSession, short: int) -> str:
    title = one_line(listed.title or "(no title)", max(20, width() - 50))
    return f"{title}  [{listed.id[:short]}, {age(listed.session.last_active)}, {listed.message_count} messages]"


def _resolved(db: SessionDB, args: argparse.Namespace) -> str:
    if not args.session:
        raise InvalidParams("Which session? `acp-adapter sessions` lists their ids.")
    return db.resolve(args.session)


def _show(db: SessionDB, session_id: str, as_json: bool) -> int:
    messages = db.replay(session_id)
    if as_json:
        for message in messages:
            print(json.dumps(message_facts(message), ensure_ascii=False))
        return 0
    session = db.current(session_id)
    print(safe(session.title or "(no title)"))
    print(f"{session_id} · {session.source} · {session.model or 'no model yet'} · {session.cwd}")
    cost = db.spent(session_id).session_cost
    paid = f" · ${cost:,.4f}" if cost else ""
    print(f"{iso(session.started_at)} to {iso(session.last_active)} · {len(messages)} messages{paid}\n")
    for message in messages:
        print("\n".join(message_lines(message)))
    print(f"\nTo go on: acp-adapter chat --resume {session_id}")
    return 0


def message_facts(message: Message) -> dict[str, Any]:
    return {
        "message_id": message.id,
        "role": message.role,
        "timestamp": iso(message.timestamp),
        "content": message.content,
        "tool_calls": message.tool_calls,
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "compacted": message.compacted,
    }


def message_lines(message: Message) -> Iterator[str]:
    """A message as a person reads it: what was said in full, tool results by their first lines."""
    text = safe(message.text()).rstrip()
    if (message.details or {}).get("summary"):
        yield "≡ " + text.replace("\n", "\n  ")
    elif message.role == "user":
        yield "› " + text.replace("\n", "\n  ")
    elif message.role == "tool":
        details = message.details or {}
        yield f"● {one_line(str(details.get('title') or message.tool_name or 'tool'), 100)}"
        lines = text.split("\n")
        yield from (f"  │ {line}" for line in lines[:TOOL_LINES])
        if len(lines) > TOOL_LINES:
            yield f"  │ … {len(lines) - TOOL_LINES} more lines"
    elif text:
        yield text


def age(timestamp: float) -> str:
    """How long ago, roughly; a date for what is older than a month."""
    seconds = time.time() - timestamp
    for limit, unit, size in ((60, "", 1), (3600, "min", 60), (86400, "h", 3600), (30 * 86400, "d", 86400)):
        if seconds < limit:
            return f"{int(seconds // size)} {unit}" if unit else "now"
    return datetime.fromtimestamp(timestamp).strftime("%Y-%m-%d")


def _folder(cwd: str) -> str:
    """In full, for the last column may be long; the person's own folder as ~."""
    own = str(Path.home())
    return one_line("~" + cwd.removeprefix(own) if cwd.startswith(own + os.sep) else cwd, 400)


def iso(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
