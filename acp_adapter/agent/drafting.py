"""The answer while it streams: gathered for the ledger's draft, at most `INTERVAL` seconds behind the screen."""

from __future__ import annotations

import asyncio

from acp_adapter.providers.port import ReasoningDelta, TextDelta
from acp_adapter.transcript import Message, Transcript, new_id

INTERVAL = 0.3


class StreamingAnswer:
    """One assistant message in the making. `settle()` must be awaited before the final message is appended; `over` is
    set when nothing more comes."""

    def __init__(self, transcript: Transcript) -> None:
        self.id = new_id()
        self.over = asyncio.Event()
        self._transcript = transcript
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._unsaved = False
        self._saving: asyncio.Task[None] | None = None

    def add(self, delta: TextDelta | ReasoningDelta) -> None:
        """Take a delta; a save follows within INTERVAL, one for all deltas that came meanwhile."""
        (self._text if isinstance(delta, TextDelta) else self._reasoning).append(delta.text)
        self._unsaved = True
        if self._saving is None or self._saving.done():
            self._saving = asyncio.create_task(self._save())

    @property
    def begun(self) -> bool:
        """Whether anything of it has been shown."""
        return bool(self._text or self._reasoning)

    @property
    def has_text(self) -> bool:
        return bool(self._text)

    def partial(self, finish_reason: str | None = None) -> Message | None:
        """What has come so far, None where nothing has."""
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        if not text and not reasoning:
            return None
        return Message(
            role="assistant", id=self.id, content=text, reasoning=reasoning or None, finish_reason=finish_reason
        )

    async def settle(self) -> None:
        """Stop saving drafts: the whole message is about to be stored."""
        if self._saving:
            self._saving.cancel()
            await asyncio.gather(self._saving, return_exceptions=True)

    async def _save(self) -> None:
        while self._unsaved:
            await asyncio.sleep(INTERVAL)
            self._unsaved = False
            if message := self.partial():
                await self._transcript.draft(message)
