"""`acp-adapter export`: conversations as a file, to keep, to read, or to train on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from acp_adapter.cli import output, progress
from acp_adapter.cli.ledger import opened_ledger
from acp_adapter.cli.progress import Advance
from acp_adapter.config import Config
from acp_adapter.errors import InvalidParams
from acp_adapter.export.conversation import Conversation, Write, conversations
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.exchange import chosen, lossless
from acp_adapter.providers.secrets import redactor_of

FORMATS = {
    "json": "everything, row by row, for `import`",
    "markdown": "to read as text",
    "html": "one page to read in a browser",
    "sharegpt": "training data, one conversation a line",
    "openai": "training data in OpenAI's form",
}
LONG = 20
"""Conversations from which on progress is shown."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="*", metavar="SESSION", help="an id, the start of one, or a title")
    parser.add_argument("--lineage", action="store_true", help="also what it came from, and all that came from that")
    parser.add_argument("--all", action="store_true", help="every session there is")
    told = "; ".join(f"{name}: {summary}" for name, summary in FORMATS.items())
    parser.add_argument("--format", choices=FORMATS, default="json", help=f"{told} (default: json)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there, not to standard output")
    parser.add_argument("--no-redact", action="store_true", help="leave secrets in; for json only")


def run(args: argparse.Namespace) -> int:
    if args.no_redact and args.format != "json":
        raise InvalidParams("--no-redact is for --format json only: the other formats are made to be passed on.")
    if bool(args.session) == args.all:
        raise InvalidParams("Which sessions? Give their ids or titles, or --all. `acp-adapter sessions` lists them.")
    config = Config.load()
    if not config.ledger.exists():
        raise InvalidParams(f"There is no ledger yet: {config.ledger} does not exist.")
    redactor = redactor_of(config)
    path = None if args.output == Path("-") else args.output
    with opened_ledger(config) as db:
        nodes = _nodes(db, args)
        ids = chosen.conversations(db, nodes)
        with output.opened(path) as out, _progress(path, len(ids)) as advance:
            if args.format == "json":
                lossless.write(db, nodes, out, None if args.no_redact else redactor.text, advance)
            else:
                told = _watched(conversations(db, ids, redactor), len(ids), advance)
                _writer(args.format, len(ids))(told, out)
    _report(len(ids), redactor.count)
    return 0


def _nodes(db: SessionDB, args: argparse.Namespace) -> Sequence[str]:
    if args.all:
        return chosen.all_nodes(db)
    return chosen.nodes(db, [db.resolve(text) for text in args.session], lineage=args.lineage)


def _writer(form: str, count: int) -> Callable[[Iterable[Conversation], Write], None]:
    """Each format is imported only when it is the one."""
    if form == "markdown":
        from acp_adapter.export import markdown

        return markdown.write
    if form == "html":
        from acp_adapter.export import html

        return partial(html.write, title=f"{count} conversations" if count != 1 else "Conversation")
    from acp_adapter.export import trajectories

    return trajectories.write_openai if form == "openai" else trajectories.write_sharegpt


def _progress(path: Path | None, count: int) -> AbstractContextManager[Advance]:
    """Shown where the result itself does not go to the same terminal, and for long work only."""
    if count < LONG or (path is None and sys.stdout.isatty()):
        return nullcontext(lambda done, whole: None)
    return progress.counted("Exporting")


def _watched(told: Iterable[Conversation], count: int, advance: Advance) -> Iterator[Conversation]:
    for done, conversation in enumerate(told, 1):
        yield conversation
        advance(done, count)


def _report(conversations: int, secrets: int) -> None:
    counted = "1 conversation" if conversations == 1 else f"{conversations:,} conversations"
    taken_out = "1 secret was" if secrets == 1 else f"{secrets:,} secrets were"
    print(f"{counted} exported; {taken_out} redacted.", file=sys.stderr)
