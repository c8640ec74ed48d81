"""`acp-adapter db`: care of the ledger's file."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from attrs import asdict

from acp_adapter.cli import progress, terminal
from acp_adapter.cli.columns import aligned
from acp_adapter.cli.ledger import opened_ledger
from acp_adapter.cli.quantities import bytes_of, seconds_of
from acp_adapter.cli.sessions import SHORT_ID, age
from acp_adapter.cli.terminal import one_line
from acp_adapter.config import Config
from acp_adapter.errors import InvalidParams
from acp_adapter.ledger.care import Care
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.maintenance import Stats
from acp_adapter.ledger.pruning import Prune, Pruned
from acp_adapter.sizes import size


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    verify = _action(actions, "verify", "read all of the file and say what is wrong with it", _verify)
    verify.add_argument("--mend", action="store_true", help="make the search index and the list's order anew")
    backup = _action(actions, "backup", "make a whole copy; others may go on writing", _backup)
    backup.add_argument("file", nargs="?", type=Path, help="where to (default: beside the file, with the time)")
    _action(actions, "vacuum", "give free space back to the disk", _vacuum)
    prune = _action(actions, "prune", "delete conversations by age, source or size", _prune)
    prune.add_argument("--older-than", metavar="TIME", help="only those unused for so long: 12h, 90d, 52w")
    prune.add_argument("--max-size", metavar="SIZE", help="the longest unused, until the file holds so much: 500M, 2G")
    prune.add_argument("--source", action="append", help="only sessions of this program; may be given again")
    prune.add_argument("--dry-run", action="store_true", help="only say what would go")
    prune.add_argument("--yes", action="store_true", help="do not ask")
    stats = _action(actions, "stats", "say what is in the file and how large it is", _stats)
    stats.add_argument("--json", action="store_true", help="as one JSON object")
    for name, summary, pinned in (("pin", "never prune a session", True), ("unpin", "let it be pruned again", False)):
        pin = _action(actions, name, summary, _pin)
        pin.add_argument("session", metavar="ID", help="an id, the start of one, or a title")
        pin.set_defaults(pinned=pinned)


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    if not config.ledger.exists():
        raise InvalidParams(f"There is no ledger yet: {config.ledger} does not exist.")
    with opened_ledger(config) as db:
        act: Callable[[SessionDB, argparse.Namespace], int] = args.act
        return act(db, args)


def _action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    act: Callable[[SessionDB, argparse.Namespace], int],
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=summary, description=summary.capitalize() + ".")
    parser.set_defaults(act=act)
    return parser


def _verify(db: SessionDB, args: argparse.Namespace) -> int:
    """Exit code 1 where something is wrong, or was when the file was opened."""
    if args.mend:
        with progress.counted("Indexing") as advance:
            Care(db).mend(progress.Remaining(advance))
    found = Care(db).verify()
    for sentence in found:
        print(f"✗ {sentence}")
    if found:
        print("Make a copy first (acp-adapter db backup), then: acp-adapter db verify --mend")
    else:
        print("✔ The ledger is sound.")
    return 1 if found or db.notices else 0


def _backup(db: SessionDB, args: argparse.Namespace) -> int:
    if args.file and args.file.exists():
        raise InvalidParams(f"{args.file} is there already, and is not overwritten.")
    copy = Care(db).backup(args.file.absolute() if args.file else None)
    print(f"{copy}, {size(copy.stat().st_size)}")
    return 0


def _vacuum(db: SessionDB, args: argparse.Namespace) -> int:
    before, after = Care(db).vacuum()
    print(f"From {size(before)} to {size(after)}.")
    return 0


def _prune(db: SessionDB, args: argparse.Namespace) -> int:
    wanted = Prune(
        older_than=seconds_of(args.older_than) if args.older_than else None,
        sources=tuple(args.source) if args.source else None,
        max_bytes=bytes_of(args.max_size) if args.max_size else None,
    )
    if wanted.older_than is None and wanted.max_bytes is None:
        raise InvalidParams("Say what may go: --older-than 90d, or --max-size 500M.")
    care = Care(db)
    going = care.prune(wanted, dry_run=True)
    if not going:
        print("Nothing is to go.")
        return 0
    print("\n".join(_list(going)))
    if args.dry_run:
        print(f"{len(going)} conversations would go. Nothing was deleted.")
        return 0
    if not args.yes and not _sure(len(going)):
        print("Nothing was deleted.")
        return 1
    with progress.counted("Deleting") as advance:
        done = itertools.count(1)
        gone = care.prune(wanted, progress=lambda _: advance(next(done), len(going)))
    print(f"{len(gone)} conversations are gone. `acp-adapter db vacuum` gives their space back to the disk.")
    return 0


def _sure(count: int) -> bool:
    if not terminal.interactive():
        raise InvalidParams("There is no terminal to ask in: look with --dry-run, then say --yes.")
    return input(f"Delete these {count} conversations for good? Type yes: ").strip().lower() == "yes"


def _list(going: list[Pruned]) -> Iterator[str]:
    rows = [
        [one.id[:SHORT_ID], age(one.last_active), f"{one.message_count} messages", size(one.bytes), one.source,
         one_line(one.title or "(no title)", 50)]
        for one in going
    ]  # fmt: skip
    return aligned(rows, right={2, 3})


def _stats(db: SessionDB, args: argparse.Namespace) -> int:
    stats = Care(db).stats()
    if args.json:
        print(json.dumps({**asdict(stats), "path": str(stats.path)}, ensure_ascii=False))
    else:
        print("\n".join(aligned(list(_rows(stats)))))
    return 0


def _rows(stats: Stats) -> Iterator[list[str]]:
    yield ["File", str(stats.path)]
    yield ["Size", f"{size(stats.bytes)}, of it free {size(stats.free_bytes)}; write-ahead log {size(stats.log_bytes)}"]
    yield ["Schema", str(stats.schema)]
    yield ["Sessions", f"{stats.sessions:,}{_shares(stats.sessions_by_source)}"]
    yield ["Messages", f"{stats.messages:,}{_shares(stats.messages_by_role)}"]
    yield ["Rewound", f"{stats.rewound:,} messages"]
    yield ["Compacted", f"{stats.compacted:,} messages"]
    yield ["Attachments", f"{stats.attachments:,}, {size(stats.attachment_bytes)}"]
    yield ["File edits", f"{stats.file_edits:,}"]
    yield ["Newest", age(stats.newest) if stats.newest else "none"]
    for model, tokens in stats.tokens_by_model.items():
        yield ["Tokens", f"{tokens:,} {one_line(model, 60)}"]
    if stats.cost:
        yield ["Cost", f"{stats.cost:.2f} US dollars, as far as prices are known"]


def _shares(counts: dict[str, int]) -> str:
    return f" ({', '.join(f'{one_line(name, 20)} {count:,}' for name, count in counts.items())})" if counts else ""


def _pin(db: SessionDB, args: argparse.Namespace) -> int:
    session_id = db.resolve(args.session)
    Care(db).pin(session_id, args.pinned)
    print(f"{session_id} is {'kept from' if args.pinned else 'open to'} pruning.", file=sys.stderr)
    return 0
