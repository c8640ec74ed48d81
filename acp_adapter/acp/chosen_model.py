"""The model that one session runs on: the one on record, or the automatic choice, which goes on record when made."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from attrs import define, field

from acp_adapter.acp.content import check_abilities, holds_media
from acp_adapter.acp.services import Services
from acp_adapter.agent.calls import Emit
from acp_adapter.agent.events import Noticed
from acp_adapter.agent.models import Wanted
from acp_adapter.errors import AuthRequired, InvalidParams, LedgerError, ProviderError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.providers.card import Effort, ModelCard
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Content


@define(eq=False)
class ChosenModel:
    """`wanted` is what is on record; `changed` is called when the automatic choice has been made.

    `effort` is how much it is told to reason, None for its own default; it stays when the model changes.
    """

    session_id: str
    services: Services
    emit: Emit
    wanted: Wanted = field(factory=Wanted)
    effort: Effort | None = None
    changed: Callable[[], None] = field(default=lambda: None)

    async def set(self, wanted: Wanted) -> None:
        """Use another one from the next turn on. Raises LedgerError."""
        config = {"provider": wanted.provider, "base_url": wanted.base_url}
        await self.services.ledger(SessionDB.update_session, self.session_id, model=wanted.model, model_config=config)
        self.wanted = wanted

    async def set_effort(self, effort: Effort | None) -> None:
        """Reason so much from the next model call on. Raises LedgerError."""
        config = {"effort": effort}
        await self.services.ledger(SessionDB.update_session, self.session_id, model_config=config)
        self.effort = effort

    @property
    def card(self) -> ModelCard:
        """What is known of the model now, without asking anybody."""
        return self.services.models.card(self.wanted)

    async def provider(self) -> Provider:
        """The model's provider, chosen now where it was not. Raises AuthRequired and ProviderError."""
        provider, notice = await self.services.models.get(self.wanted, self._tell_retry)
        found = Wanted(provider.name, provider.model, provider.base_url or None)
        if found != self.wanted:
            with contextlib.suppress(LedgerError):
                await self.set(found)
            self.changed()
        if notice:
            self.emit(Noticed("warning", notice))
        return provider

    async def check_media(self, content: Content) -> None:
        """Raises InvalidParams for pictures and sounds that the model is known not to take.

        The automatic choice is made now where it was not; where there is no model, the turn will say so.
        """
        if holds_media(content):
            if self.wanted.name is None:
                with contextlib.suppress(AuthRequired, InvalidParams, ProviderError):
                    await self.provider()
            check_abilities(content, self.card, self.wanted.name)

    def _tell_retry(self, error: ProviderError, delay: float) -> None:
        self.emit(Noticed("warning", f"{error.message} Trying again in {delay:.0f} s."))
