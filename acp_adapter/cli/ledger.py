"""The ledger opened for a command: what happened at opening is told before anything else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

from acp_adapter.cli.terminal import safe
from acp_adapter.config import Config
from acp_adapter.ledger.db import SessionDB


@contextmanager
def opened_ledger(config: Config) -> Iterator[SessionDB]:
    """Raises LedgerUnavailable. Makes no ledger: call it only where the file exists."""
    with closing(SessionDB.open(config.ledger)) as db:
        for notice in db.notices:
            print(f"! {safe(notice)}", file=sys.stderr)
        yield db
