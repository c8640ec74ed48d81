"""The title of one session: its first words, until a small call to the model names it better."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time

from attrs import define, field

from acp_adapter.agent.calls import Emit
from acp_adapter.agent.events import TitleChanged
from acp_adapter.agent.small_call import Charge, small_call
from acp_adapter.errors import InvalidParams, LedgerError, ProviderError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.worker import Ledger
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Message

log = logging.getLogger(__name__)

TITLE_LENGTH = 60
PATIENCE = 30.0
"""Seconds that a better title may take."""
TOKENS = 60
SHOWN = 2_000
"""Characters of the first prompt and of its answer that the model is shown."""
UNNAMED = ("local", "scripted")
"""Providers that are not asked: one would lose the beginning that it has read, the other has nothing to say."""

SYSTEM = (
    "You name conversations. Answer with a title of at most six words for the one that you are shown, in the language "
    "of its user: what it is about, no quotes, no full stop, nothing else."
)


@define(eq=False)
class Title:
    """`text` is the title as this process last saw it, None before there is one."""

    session_id: str
    ledger: Ledger
    emit: Emit
    text: str | None = None
    _first_words: str | None = field(default=None, init=False)
    _naming: asyncio.Task[None] | None = field(default=None, init=False)

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
            self._first_words = await self._store(base)
            self._tell(self._first_words, prompt.timestamp)

    def improve(self, prompt: Message, answer: Message, provider: Provider, charge: Charge) -> None:
        """Ask for a better title in the background, once, where the session still has its first words for one."""
        if self._naming is None and self._first_words == self.text and provider.name not in UNNAMED:
            self._naming = asyncio.create_task(self._improve(prompt, answer, provider, charge))

    async def end(self) -> None:
        if self._naming:
            self._naming.cancel()
            await asyncio.gather(self._naming, return_exceptions=True)

    async def _improve(self, prompt: Message, answer: Message, provider: Provider, charge: Charge) -> None:
        shown = f"USER: {prompt.text()[:SHOWN]}\n\nASSISTANT: {answer.text()[:SHOWN]}"
        try:
            async with asyncio.timeout(PATIENCE):
                said = await small_call(provider, SYSTEM, shown, max_tokens=TOKENS, task="title", charge=charge)
            if better := cleaned(said):
                await self._replace(better)
        except (ProviderError, LedgerError, InvalidParams, TimeoutError) as fault:
            log.info("%s keeps its first words for a title: %s", self.session_id, fault)

    async def _replace(self, better: str) -> None:
        """Unless somebody has named the session meanwhile, here or elsewhere."""
        stored = await self.ledger(SessionDB.title, self.session_id)
        if stored == self._first_words == self.text:
            self._tell(await self._store(better), time.time())

    async def _store(self, base: str) -> str:
        title: str = await self.ledger(SessionDB.name_session, self.session_id, base)
        return title

    def _tell(self, text: str, at: float) -> None:
        self.text = text
        self.emit(TitleChanged(text, at))


def cleaned(said: str) -> str | None:
    """A title of what a model said: its first line without quotes and marks; None for what can't be one."""
    line = next((line for line in said.splitlines() if line.strip()), "")
    bare = " ".join(re.sub(r"^(title|titel|titre)\s*:\s*", "", line.strip("#*_ \t"), flags=re.I).split())
    bare = bare.strip("\"'`“”„«»‘’*_ ").rstrip(".。")
    return bare if bare and bare.isprintable() and len(bare) <= TITLE_LENGTH and len(bare.split()) <= 10 else None
