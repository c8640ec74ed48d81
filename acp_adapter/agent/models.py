"""The models that sessions share: each provider object is made once, on first use, and let go at the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from attrs import frozen

from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, ProviderError
from acp_adapter.providers.card import ModelCard
from acp_adapter.providers.choose import ModelChoice, available, choose, provider_from, restored
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.port import Provider
from acp_adapter.providers.retry import retrying

OnRetry = Callable[[ProviderError, float], None]


@frozen
class Wanted:
    """What a session runs on, as the ledger has it. All None is the automatic choice."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None

    @property
    def name(self) -> str | None:
        """`provider:model`, as people and config options name it."""
        return f"{self.provider}:{self.model}" if self.provider and self.model else None

    @classmethod
    def of(cls, name: str | None) -> Wanted:
        provider, _, model = (name or "").partition(":")
        return cls(provider or None, model or None)


class Models:
    """Providers by what was wanted. The automatic choice is made once a process."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._made: dict[Wanted, tuple[Provider, str | None]] = {}
        self._lock = asyncio.Lock()
        self.known: list[ModelChoice] = []
        """What `offered` last found; empty before the first look."""

    async def get(self, wanted: Wanted, on_retry: OnRetry) -> tuple[Provider, str | None]:
        """The provider, with retries; and a sentence for the user where it is another than the wanted one.

        Raises AuthRequired where there is no model at all, and ProviderError.
        """
        async with self._lock:
            if wanted not in self._made:
                self._made[wanted] = await self._make(wanted)
        provider, notice = self._made[wanted]
        if isinstance(provider, HostedProvider):
            provider.card = self._listed(wanted).filled(provider.card)
        return retrying(provider, on_retry=on_retry), notice

    def card(self, wanted: Wanted) -> ModelCard:
        """What is known of the model now, without asking anybody."""
        if made := self._made.get(wanted):
            return self._listed(wanted).filled(made[0].card)
        card = ModelCard()
        if wanted.provider and wanted.model:
            with contextlib.suppress(AcpAdapterError):
                card = provider_from(wanted.provider, wanted.model, wanted.base_url, self._config).card
        return self._listed(wanted).filled(card)

    def _listed(self, wanted: Wanted) -> ModelCard:
        same = (each.card for each in self.known if (each.provider, each.model) == (wanted.provider, wanted.model))
        return next(same, ModelCard())

    async def warm(self, wanted: Wanted) -> None:
        """Have the embedded model read what every prompt begins with, where it is the one. Raises ProviderError."""
        async with self._lock:
            if wanted not in self._made:
                self._made[wanted] = await self._make(wanted)
        provider, _ = self._made[wanted]
        if provider.name == "local":
            # Imported by whoever made it; nobody else needs it.
            from acp_adapter.providers.local.provider import LocalProvider

            assert isinstance(provider, LocalProvider)
            await provider.warm()

    async def offered(self) -> list[ModelChoice]:
        """What a person may choose from now: only what is reachable."""
        self.known = await available(self._config)
        return self.known

    async def aclose(self) -> None:
        for provider, _ in self._made.values():
            await provider.aclose()
        self._made.clear()

    async def _make(self, wanted: Wanted) -> tuple[Provider, str | None]:
        if wanted.provider and wanted.model:
            return await restored(self._config, wanted.provider, wanted.model, wanted.base_url)
        return await choose(self._config), None
