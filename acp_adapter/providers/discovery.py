"""Asking servers which models they have: those that are set up, and those that may run on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from attrs import evolve, frozen

from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, ProviderUnreachable
from acp_adapter.providers.card import Listed
from acp_adapter.providers.endpoints import Endpoint, endpoint
from acp_adapter.providers.services import LOOPBACK_SERVERS

PROBE = 0.3
"""Seconds for a server on this machine to take a connection, and again to list its models."""

NO_CHAT = re.compile(
    r"embed|rerank|whisper|tts|dall-e|image|audio|realtime|transcribe|moderation|guard|sora|babbage|davinci", re.I
)


@frozen
class Server:
    """An endpoint that answered, with its models that can chat, in its own order."""

    endpoint: Endpoint
    models: tuple[Listed, ...]


async def ask(found: Endpoint, seconds: float) -> Server:
    """Raises a ProviderError, or InvalidParams for a base URL that is none."""
    provider = found.provider("")
    try:
        async with asyncio.timeout(seconds):
            models = await provider.models()
    except TimeoutError as error:
        raise ProviderUnreachable(f"{found.name} at {provider.base_url} did not list its models in time.") from error
    finally:
        await provider.aclose()
    return Server(found, tuple(listed for listed in models if not NO_CHAT.search(listed.id)))


async def ask_all(endpoints: Iterable[Endpoint], seconds: float) -> list[Server]:
    """All at once; those that answer in time, in the order given."""
    answers = await asyncio.gather(*(ask(found, seconds) for found in endpoints), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, AcpAdapterError):
            raise answer
    return [answer for answer in answers if isinstance(answer, Server)]


async def servers_here(config: Config) -> list[Server]:
    """The usual model servers that run on this machine and have a model: Ollama, LM Studio, llama.cpp.

    None where the config says not to look.
    """
    if not config.discover:
        return []
    names = [name for name in LOOPBACK_SERVERS if name not in config.providers]
    usual = [endpoint(name, config) for name in names]
    listening = await asyncio.gather(*map(_listens, usual))
    running = [found for found, listens in zip(usual, listening, strict=True) if listens]
    return [server for server in await ask_all(running, PROBE) if server.models]


def with_window(found: Endpoint, listed: Listed) -> Endpoint:
    """The endpoint with the window that the server told of, unless config.toml has one."""
    return evolve(found, context_window=found.context_window or listed.card.context_window)


async def _listens(found: Endpoint) -> bool:
    """Whether anything takes connections there: asked first because it is cheap, and a refusal comes at once."""
    url = urlsplit(found.base_url)
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(PROBE):
            _, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True
    return False
