"""Where a provider's name leads: base URL, key and model, from config.toml, the environment and the table of services.

A `[providers.NAME]` table of config.toml may hold base_url, api (which the server speaks, else see `services.api_at`),
api_key, api_key_env (the name of a variable), model, context_window (tokens), headers and timeout (seconds of silence).
It goes before everything else.

A key is sent to the server it is for: never to an address that only a stored session names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from attrs import evolve, field, frozen

from acp_adapter.config import Config
from acp_adapter.errors import AuthRequired, InvalidParams
from acp_adapter.providers.apis import APIS, efforts_of
from acp_adapter.providers.card import FREE, ModelCard
from acp_adapter.providers.catalogue.lookup import card_of
from acp_adapter.providers.http import SILENCE, HostedProvider
from acp_adapter.providers.own_models import own_cards
from acp_adapter.providers.services import LOOPBACK_SERVERS, SERVICES, api_at
from acp_adapter.providers.urls import LOOPBACK, shown_url


@frozen
class Endpoint:
    """A model server. `model` is the one to use where none is asked for, None for the server's first.

    `api` is one of `acp_adapter.providers.apis.APIS`; `cards` is what the user says of its models.
    """

    name: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
    model: str | None = None
    context_window: int | None = None
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    silence: float = SILENCE
    api: str = "chat"
    cards: Mapping[str, ModelCard] = field(factory=dict, repr=False)

    @property
    def local(self) -> bool:
        return urlsplit(self.base_url).hostname in LOOPBACK

    def provider(self, model: str) -> HostedProvider:
        make = APIS[self.api]
        return make(self.name, model, self.base_url, self.api_key, self.card(model), self.headers, self.silence)

    def card(self, model: str) -> ModelCard:
        """What is known of one of its models without asking: what the user says of it goes before the catalogue."""
        known = card_of(self.name, model)
        if self.local or self.api == "ollama":
            # What a server of one's own can hold depends on how it was started, not on the model's name.
            known = evolve(known, context_window=None, max_output=None, price=FREE)
        own = self.cards.get(model, ModelCard()).filled(ModelCard(self.context_window))
        card = own.filled(known)
        return card.filled(ModelCard(efforts=efforts_of(self.api, model, card.reasons)))


def known(config: Config) -> list[str]:
    """All names that `provider:model` may begin with."""
    return list(dict.fromkeys(("local", "scripted", *config.providers, *SERVICES, *LOOPBACK_SERVERS)))


def endpoint(name: str, config: Config) -> Endpoint:
    """Raises InvalidParams for an unknown name or a setting that can't be, AuthRequired where a key is missing."""
    table = _Table(name, config)
    service = SERVICES.get(name)
    base_url = table.text("base_url")
    if base_url is None and name == "openai":
        base_url = config.environ.get("OPENAI_BASE_URL") or None
    usual = service.base_url if service else LOOPBACK_SERVERS.get(name)
    if base_url is None and usual is None:
        raise InvalidParams(_unknown(name, config))
    found = Endpoint(
        name=name,
        base_url=base_url or usual or "",
        api_key=table.text("api_key") or next(_keys(name, table, config), None),
        model=table.text("model") or (service.model if service and base_url in (None, usual) else None),
        context_window=table.number("context_window"),
        headers=table.headers(),
        silence=table.number("timeout") or SILENCE,
        api=table.api() or api_at(name, base_url or usual or ""),
        cards=own_cards(name, config),
    )
    if service and not found.api_key and not found.headers and _host(found.base_url) == _host(service.base_url):
        raise AuthRequired(
            f"The provider {name!r} needs an API key: set {' or '.join(service.keys)} in the environment, "
            f"or run `acp-adapter setup`."
        )
    return found


def endpoint_at(name: str, base_url: str, config: Config) -> Endpoint:
    """The endpoint that a stored session names, with its key only if it is the one that is set up under that name.

    A server on this machine may be another one: it is asked without a key. Raises InvalidParams or AuthRequired.
    """
    try:
        found = endpoint(name, config)
        if not base_url or _host(base_url) == _host(found.base_url):
            return found
        reason: InvalidParams | AuthRequired = InvalidParams(
            f"The provider {name!r} at {shown_url(base_url)} is not set up on this machine."
        )
    except (InvalidParams, AuthRequired) as error:
        reason = error
    stored = Endpoint(name, base_url, api=api_at(name, base_url))
    if not stored.local:
        raise reason
    return stored


def configured(config: Config) -> Iterator[Endpoint]:
    """What the user has set up: the tables of config.toml, then the services whose key is in the environment.

    Broken tables are left out; asking for one by name tells what is wrong.
    """
    for name in dict.fromkeys((*config.providers, *SERVICES)):
        try:
            found = endpoint(name, config)
        except (InvalidParams, AuthRequired):
            continue
        if name in config.providers or found.api_key or found.base_url != SERVICES[name].base_url:
            yield found


def _keys(name: str, table: _Table, config: Config) -> Iterator[str]:
    service = SERVICES.get(name)
    for variable in (table.text("api_key_env"), *(service.keys if service else ())):
        if variable and config.environ.get(variable):
            yield config.environ[variable]


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def _unknown(name: str, config: Config) -> str:
    if name in config.providers:
        return f"config.toml: [providers.{name}] needs a base_url, such as http://127.0.0.1:8000/v1."
    return f"There is no provider {name[:80]!r}. Write provider:model; the providers are {', '.join(known(config))}."


class _Table:
    """A `[providers.NAME]` table. Raises InvalidParams for a value of the wrong type."""

    def __init__(self, name: str, config: Config) -> None:
        self._name = name
        self._values = config.providers.get(name, {})

    def text(self, key: str) -> str | None:
        value: str | None = self._get(key, str)
        return value

    def number(self, key: str) -> int | None:
        value: int | None = self._get(key, int)
        return value

    def api(self) -> str | None:
        value = self.text("api")
        if value is not None and value not in APIS:
            raise InvalidParams(
                f"config.toml: api of [providers.{self._name}] is {value!r}; it can be {', '.join(APIS)}."
            )
        return value

    def headers(self) -> dict[str, str]:
        headers: dict[str, Any] = self._get("headers", dict) or {}
        return {name: str(value) for name, value in headers.items()}

    def _get(self, key: str, kind: type) -> Any:
        value = self._values.get(key)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise InvalidParams(f"config.toml: {key} of [providers.{self._name}] must be of type {kind.__name__}.")
        return value
