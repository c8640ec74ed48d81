"""The models that sessions share: each provider object is made once, on first use, and let go at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from acp_adapter.config import Config
from acp_adapter.errors import ProviderError
from acp_adapter.providers.choose import ModelChoice, available, choose
from acp_adapter.providers.port import Provider
from acp_adapter.providers.retry import retrying

OnRetry = Callable[[ProviderError, float], None]


class Models:
    """Providers by `provider:model`. The automatic choice (None) is made once a process."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._made: dict[str | None, Provider] = {}
        self._lock = asyncio.Lock()
        self.known: list[ModelChoice] = []
        """What `offered` last found; empty before the first look."""

    async def get(self, wanted: str | None, on_retry: OnRetry) -> Provider:
        """The provider for `wanted`, with retries. Raises AuthRequired or InvalidParams, as `choose` does."""
        async with self._lock:
            if wanted not in self._made:
                self._made[wanted] = await choose(self._config, wanted)
        return retrying(self._made[wanted], on_retry=on_retry)

    async def offered(self) -> list[ModelChoice]:
        """What a person may choose from now: only what is reachable."""
        self.known = await available(self._config)
        return self.known

    async def aclose(self) -> None:
        for provider in self._made.values():
            await provider.aclose()
        self._made.clear()
