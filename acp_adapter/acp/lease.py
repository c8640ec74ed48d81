"""A session's lease while a turn runs: other processes may read it, and are told who runs it if they want to, too."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from acp_adapter.errors import LedgerError, LedgerUnavailable
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger

log = logging.getLogger(__name__)


@asynccontextmanager
async def leased(ledger: Ledger, session_id: str, beat: float) -> AsyncIterator[None]:
    """Hold the session, renewed every `beat` seconds. Raises TurnInProgress, naming the holder.

    A ledger that can't be written to now does not stop the turn: it can't be saved, which is told where it fails.
    """
    try:
        await ledger(SessionDB.acquire, session_id)
    except LedgerUnavailable as fault:
        log.warning("%s runs without a lease: %s", session_id, fault)
    beating = asyncio.create_task(_renew(ledger, session_id, beat))
    try:
        yield
    finally:
        beating.cancel()
        with contextlib.suppress(LedgerError):
            await ledger(SessionDB.release, session_id)


async def _renew(ledger: Ledger, session_id: str, beat: float) -> None:
    while True:
        await asyncio.sleep(beat)
        try:
            await ledger(SessionDB.renew, session_id)
        except LedgerError as fault:
            log.warning("the lease of %s was not renewed: %s", session_id, fault)
