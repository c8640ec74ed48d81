"""The title of one session: its first words, until it gets a better one."""

from __future__ import annotations

import contextlib
import time

from attrs import define

from acp_adapter.agent.calls import Emit
from acp_adapter.agent.events import TitleChanged
from acp_adapter.errors import InvalidParams, LedgerError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.transcript import Message

TITLE_LENGTH = 60


@define(eq=False)
class Title:
    """`text` is the title as this process last saw it, None before there is one."""

    session_id: str
    ledger: Ledger
    emit: Emit
    text: str | None = None

    async def rename(self, text: str) -> None:
        """Raises InvalidParams where another session has that title, or it is longer than 100 characters."""
        await self.ledger(SessionDB.update_session, self.session_id, title=text)
        self._tell(text, time.time())

    async def take_first_words(self, prompt: Message) -> None:
        """Name an unnamed session after its first prompt."""
        words = " ".join(prompt.text().split())
        if self.text or not words:
            return
        base = words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
        with contextlib.suppress(LedgerError, InvalidParams):
            title = await self.ledger(SessionDB.next_title, base)
            await self.ledger(SessionDB.update_session, self.session_id, title=title)
            self._tell(title, prompt.timestamp)

    def _tell(self, text: str, at: float) -> None:
        self.text = text
        self.emit(TitleChanged(text, at))
