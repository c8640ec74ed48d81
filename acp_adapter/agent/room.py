"""Room: keeps a conversation within its model's window. Old results and pictures are left out first, then a summary
takes the place of the older part. The ledger keeps everything."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from attrs import define, evolve, field

from acp_adapter.agent import compaction, trimming
from acp_adapter.agent.compaction import Shares
from acp_adapter.agent.context import Context
from acp_adapter.agent.events import CompactionChanged, TurnEvent
from acp_adapter.errors import (
    AcpAdapterError,
    BrokenStream,
    ContextTooLong,
    LedgerError,
    PromptTooLong,
    ProviderRejected,
)
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Message, Transcript, new_id, uninterrupted

log = logging.getLogger(__name__)

ENOUGH = 0.1
"""Share of the window that trimming must free to be worth the loss of the provider's cache."""
GROWN = 0.1
"""Share of the window by which a conversation must grow before a summary that failed is tried again by itself."""

Failed = tuple[str, str]


async def _forget(failed: Failed | None) -> None:
    """Where nothing is kept."""


@define(eq=False)
class Room:
    """Makes room for one conversation, in the model's window as it is known or as the model has just said.

    `failed` is the model whose summary last failed, and the id of the conversation's last message then; `remember`
    keeps it for a later process.
    """

    context: Context
    emit: Callable[[TurnEvent], None]
    failed: Failed | None = field(default=None, init=False)
    remember: Callable[[Failed | None], Awaitable[None]] = field(default=_forget, init=False)

    @property
    def transcript(self) -> Transcript:
        return self.context.transcript

    async def make(self, provider: Provider, refusal: ContextTooLong | None = None) -> None:
        """Leave out what is old, then summarise, if the window is nearly full or the model has refused the request.

        Raises PromptTooLong where the last message alone is too large, ContextTooLong where nothing helps,
        ProviderError or LedgerError where the summary fails; what was said is then as it was.
        """
        shares = self._shares(provider, refusal)
        if shares is None or (refusal is None and self._fits(shares, provider)):
            return
        self._check_last(shares)
        if await self._trimmed(shares, provider) and self._fits(shares, provider):
            return
        self._check_worth_trying(shares, provider, refusal)
        try:
            await self._compact(provider, shares, must_fit=refusal is None)
        except (ProviderRejected, BrokenStream):
            await self._note((_name(provider), self.transcript.messages[-1].id))
            raise

    async def compact(self, provider: Provider, focus: str | None = None) -> None:
        """Put the older part of the conversation into a summary.

        Raises ProviderError, ContextTooLong or LedgerError; the conversation is then as it was.
        """
        window = provider.card.context_window or compaction.UNKNOWN_WINDOW
        await self._compact(provider, Shares.of(window, self.context.beside(provider)), focus)

    async def _compact(
        self, provider: Provider, shares: Shares, focus: str | None = None, must_fit: bool = False
    ) -> None:
        messages = self.transcript.messages
        at = compaction.split(messages, shares.tail, self.context.sizes)
        compaction_id = new_id()
        self.emit(CompactionChanged(compaction_id, "in_progress"))
        try:
            summary = await self._summary(provider, messages, at, shares, focus)
            if must_fit:
                self._check_fits(shares, [summary, *messages[at:]])
            await uninterrupted(self._replace(evolve(summary, id=compaction_id), messages[at:], provider))
        except BaseException as fault:
            if self.transcript.messages[0].id != compaction_id:
                reason = fault.message if isinstance(fault, AcpAdapterError) else "It was cancelled."
                self.emit(CompactionChanged(compaction_id, "failed", reason))
            raise

    async def _summary(
        self, provider: Provider, messages: Sequence[Message], at: int, shares: Shares, focus: str | None
    ) -> Message:
        older, sizes = messages[:at], self.context.sizes
        is_running = not any(message.role == "user" for message in messages[at:])
        most = min(compaction.REQUEST, 2 * shares.tail)
        running = compaction.running_request(older, most) if is_running else None
        return await compaction.summarise(provider, older, shares, sizes, self.context.charge(provider), focus, running)

    async def _replace(self, summary: Message, tail: Sequence[Message], provider: Provider) -> None:
        await self.transcript.compress(summary, tail)
        self.emit(CompactionChanged(summary.id, "completed", summary.text()))
        self.context.made_shorter(provider)
        if self.failed:
            await self._note(None)

    async def _note(self, failed: Failed | None) -> None:
        self.failed = failed
        try:
            await self.remember(failed)
        except LedgerError as fault:
            log.warning("a later process won't know whether a summary failed: %s", fault)

    async def _trimmed(self, shares: Shares, provider: Provider) -> bool:
        """Leave out old results and pictures, and cut what no window would hold; whether anything was."""
        messages, sizes, at = self.transcript.messages, self.context.sizes, 0
        with contextlib.suppress(ContextTooLong):
            at = compaction.split(messages, shares.tail, sizes)
        cut = trimming.beginnings(messages[at:], shares.limit - shares.beside - shares.summary, sizes)
        notes = trimming.old(messages[:at], sizes) | cut
        freed = sizes.of([m for m in messages if m.id in notes]) - sum(map(sizes.text, notes.values()))
        if not cut and freed < shares.window * ENOUGH:
            return False
        try:
            await self.transcript.trim(notes)
        except LedgerError as fault:
            log.warning("old results could not be left out: %s", fault)
            return False
        self.context.made_shorter(provider)
        return True

    def _shares(self, provider: Provider, refusal: ContextTooLong | None) -> Shares | None:
        """None where the window is not known. What was refused is more than the window, whatever that is said to be."""
        known = [provider.card.context_window]
        if refusal:
            known += [refusal.limit, self.context.size(provider)]
        windows = [window for window in known if window]
        return Shares.of(min(windows), self.context.beside(provider)) if windows else None

    def _fits(self, shares: Shares, provider: Provider) -> bool:
        return self.context.size(provider) <= shares.limit

    def _check_fits(self, shares: Shares, messages: Sequence[Message]) -> None:
        if shares.beside + self.context.sizes.of(messages) > shares.limit:
            raise ContextTooLong("The conversation does not fit the model's window, not even compacted.")

    def _check_last(self, shares: Shares) -> None:
        messages = self.transcript.messages
        last = self.context.sizes.of(messages[-1:]) if messages and messages[-1].role == "user" else 0
        if last > shares.limit - shares.beside:
            raise PromptTooLong(
                f"Your message is about {last:,} tokens, and the model's window holds {shares.window:,} with the "
                f"instructions and tools, which take {shares.beside:,}. Send less of it, or choose a model with a "
                "larger window."
            )

    def _check_worth_trying(self, shares: Shares, provider: Provider, refusal: ContextTooLong | None) -> None:
        """What no summary can help with, and a summary that failed just now, are errors at once."""
        if refusal and len(self.transcript.messages) < 2:
            raise refusal
        if shares.beside > shares.window:
            raise ContextTooLong(
                f"The agent's instructions and tools alone take about {shares.beside:,} tokens, and the model's window "
                f"holds {shares.window:,}. Choose a model with a larger window."
            )
        if self._failed_just_now(shares, provider):
            raise ContextTooLong(
                "The conversation does not fit the model's window, and a summary of it failed. Try `/compact`, choose "
                "a model with a larger window, or start a new session."
            )

    def _failed_just_now(self, shares: Shares, provider: Provider) -> bool:
        model, last = self.failed or ("", "")
        messages = self.transcript.messages
        since = next((at + 1 for at, message in enumerate(messages) if message.id == last), None)
        if model != _name(provider) or since is None:
            return False
        return self.context.sizes.between(messages, since, len(messages)) < shares.window * GROWN


def _name(provider: Provider) -> str:
    return f"{provider.name}:{provider.model}"
