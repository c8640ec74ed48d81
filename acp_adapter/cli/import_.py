"""`acp-adapter import`: brings back what `export --format json` wrote."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from acp_adapter.cli import progress
from acp_adapter.cli.ledger import opened_ledger
from acp_adapter.config import Config
from acp_adapter.errors import InvalidParams
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.exchange.importing import Imported, import_file


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="what `acp-adapter export --format json` wrote")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be imported")


def run(args: argparse.Namespace) -> int:
    """All of the file or nothing. Exit code 1 where nothing can be."""
    if not args.file.is_file():
        raise InvalidParams(f"{args.file} is not a file.")
    with _ledger(Config.load(), args.dry_run) as db, progress.counted("Importing") as advance:
        imported = import_file(db, args.file, dry_run=args.dry_run, progress=advance)
    print("\n".join(_told(imported, args.dry_run)), file=sys.stderr)
    return 0


@contextmanager
def _ledger(config: Config, dry_run: bool) -> Iterator[SessionDB]:
    """The ledger, made where there is none; only to look, a passing one."""
    if dry_run and not config.ledger.exists():
        with tempfile.TemporaryDirectory() as folder, closing(SessionDB.open(Path(folder) / "state.db")) as db:
            yield db
    else:
        with opened_ledger(config) as db:
            yield db


def _told(imported: Imported, dry_run: bool) -> Iterator[str]:
    happened = "would be imported" if dry_run else "imported"
    yield f"{imported.sessions:,} sessions with {imported.messages:,} messages {happened}."
    if imported.skipped:
        yield f"{imported.skipped:,} sessions are here already, and were skipped."
    if imported.renamed:
        yield f"{imported.renamed:,} sessions got a number in their title, because another session has it."
    if imported.cut_off:
        yield f"{imported.cut_off:,} sessions came from one that is neither in the file nor here."
