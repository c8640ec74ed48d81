"""Which model to use: the one that is asked for, or what this machine has to offer.

In this order: `ACP_ADAPTER_MODEL` or config.toml's `model`; a provider set up in config.toml or with its key in the
environment; a model server that runs on this machine; the embedded model; else AuthRequired, which says how to get one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable

from attrs import field, frozen

from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, AuthRequired, InvalidParams, ProviderError, ProviderUnreachable
from acp_adapter.providers.card import Listed, ModelCard
from acp_adapter.providers.discovery import Server, ask, ask_all, servers_here, with_window
from acp_adapter.providers.endpoints import Endpoint, configured, endpoint, endpoint_at
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.port import Provider
from acp_adapter.providers.scripted import ScriptedProvider
from acp_adapter.providers.services import SERVICES
from acp_adapter.providers.weights import installed

LISTING = 10.0
"""Seconds for a server that is asked for its models because its name alone was given."""
LOOK = 2.0
"""Seconds for a server that is asked about the one model that was chosen."""
OFFER = 1.0
"""Seconds in which `available` answers."""
FRESH = 60.0
"""Seconds for which what `available` found is given again."""

NO_MODEL = (
    "No model is set up. Run `acp-adapter setup`, which asks what you want; or `acp-adapter model pull`, which fetches "
    "a small model that runs on this machine; or set an API key such as OPENAI_API_KEY in the environment."
)


@frozen
class ModelChoice:
    """A model that can be used now. `provider:model` is what to ask `choose` for, `name` is for people."""

    provider: str
    model: str
    name: str
    card: ModelCard = field(factory=ModelCard, eq=False, repr=False)


async def choose(config: Config, wanted: str | None = None) -> Provider:
    """The provider for `wanted` (`provider:model`, or a provider's name), else for the user's choice, else any.

    Raises InvalidParams for a provider that does not exist, AuthRequired when there is no model or no key, and
    ProviderError when a server has to be asked for its models and does not answer.
    """
    name, _, model = (wanted or config.model or "").partition(":")
    if not name:
        return await _automatic(config)
    if model or name in ("scripted", "local"):
        return await _looked(provider_from(name, model, None, config))
    return await _with_its_model(endpoint(name, config))


def provider_from(provider: str, model: str, base_url: str | None, config: Config) -> Provider:
    """Exactly this model, as a session's `model_config` or the user names it. Asks nobody.

    `base_url` None means where the provider is set up to be. Raises InvalidParams or AuthRequired.
    """
    if provider == "scripted":
        return ScriptedProvider.of_file(model)
    if provider == "local":
        return _local(model, config)
    found = endpoint(provider, config) if base_url is None else endpoint_at(provider, base_url, config)
    return found.provider(model)


async def restored(config: Config, provider: str, model: str, base_url: str | None) -> tuple[Provider, str | None]:
    """The model that a stored session ran on, perhaps one of another program; else the usual choice and a notice."""
    try:
        return await _looked(provider_from(provider, model, base_url or None, config)), None
    except (InvalidParams, AuthRequired) as error:
        instead = await choose(config)
        notice = (
            f"{provider}:{model} can't be used here. {error.message} {instead.name}:{instead.model} answers instead."
        )
        return instead, notice


async def available(config: Config) -> list[ModelChoice]:
    """What can be used now, the user's own choice first: only servers that answer within a second."""
    offer = _offers.get(id(config))
    if offer is None or offer.until < time.monotonic():
        offer = _Offer(config, time.monotonic() + FRESH, await _offered(config))
        _offers[id(config)] = offer
    return list(offer.choices)


@frozen
class _Offer:
    """Holds the config, so that its id, which is the key below, stays its own."""

    config: Config
    until: float
    choices: list[ModelChoice]


_offers: dict[int, _Offer] = {}


async def _automatic(config: Config) -> Provider:
    failed: ProviderUnreachable | None = None
    for found in configured(config):
        try:
            return await _with_its_model(found)
        except ProviderUnreachable as error:
            failed = failed or error
    for server in await servers_here(config):
        return await _first_of(server)
    try:
        return _local("", config)
    except AuthRequired:
        raise failed or AuthRequired(NO_MODEL) from None


async def _looked(provider: Provider) -> Provider:
    """With what its server tells of the model, if it tells in time; the first request asks again."""
    if isinstance(provider, HostedProvider):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK):
                await provider.look()
    return provider


async def _with_its_model(found: Endpoint) -> Provider:
    """The endpoint's own model; else of those it lists the one its service is known for, or the first."""
    if found.model:
        return await _looked(found.provider(found.model))
    usual = SERVICES[found.name].model if found.name in SERVICES else None
    try:
        server = await ask(found, LISTING)
    except ProviderUnreachable:
        raise
    except ProviderError:
        if usual is None:
            raise
        return found.provider(usual)
    if usual in [listed.id for listed in server.models]:
        return await _looked(found.provider(usual or ""))
    if not server.models:
        raise InvalidParams(f"{found.name} has no model yet. Get one there, or write {found.name}:model.")
    return await _first_of(server)


async def _first_of(server: Server) -> Provider:
    return await _looked(with_window(server.endpoint, server.models[0]).provider(server.models[0].id))


async def _offered(config: Config) -> list[ModelChoice]:
    asked, here = await asyncio.gather(ask_all(configured(config), OFFER), servers_here(config))
    choices = [*_own_choice(config), *_of_servers([*asked, *here]), *_of_this_machine(config)]
    return list({(choice.provider, choice.model): choice for choice in choices}.values())


def _own_choice(config: Config) -> list[ModelChoice]:
    name, _, model = (config.model or "").partition(":")
    try:
        chosen = provider_from(name, model, None, config) if model else None
        return [_choice(name, chosen.model, chosen.card)] if chosen else []
    except AcpAdapterError:
        return []


def _of_servers(servers: Iterable[Server]) -> list[ModelChoice]:
    return [_listed(server, listed) for server in servers for listed in server.models]


def _listed(server: Server, listed: Listed) -> ModelChoice:
    """With what the server tells of the model where the user says nothing else of it."""
    found = server.endpoint
    own = found.cards.get(listed.id, ModelCard()).filled(ModelCard(found.context_window))
    card = own.filled(listed.card).filled(found.card(listed.id))
    return ModelChoice(found.name, listed.id, f"{listed.name or listed.id} ({found.name})", card)


def _choice(provider: str, model: str, card: ModelCard | None = None) -> ModelChoice:
    return ModelChoice(provider, model, f"{model} ({provider})", card or ModelCard())


def _local(model: str, config: Config) -> Provider:
    # Imported only when it is the one: its prompts and schemas are no business of the others.
    from acp_adapter.providers.local.provider import LocalProvider

    return LocalProvider.of(model, config.home)


def _of_this_machine(config: Config) -> list[ModelChoice]:
    try:
        _local("", config)
    except AuthRequired:
        return []
    return [_choice("local", model.weights.name) for model in installed(config.home) if model.here]
