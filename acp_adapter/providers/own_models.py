"""What the user says of a model: `[models."provider:model"]` of config.toml, which goes before all that others know."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, get_args

from acp_adapter.config import Config
from acp_adapter.errors import InvalidParams
from acp_adapter.providers.card import Effort, ModelCard, Price

EFFORTS: tuple[Effort, ...] = get_args(Effort)


def own_cards(provider: str, config: Config) -> dict[str, ModelCard]:
    """By the model's name. A table that holds what can't be is left out; see `problems`."""
    begin = f"{provider}:"
    cards = {}
    for name, table in config.models.items():
        if name.startswith(begin):
            with contextlib.suppress(InvalidParams):
                cards[name.removeprefix(begin)] = _card(name, table)
    return cards


def problems(config: Config) -> list[str]:
    """Sentences about tables that are left out."""
    found = []
    for name, table in config.models.items():
        try:
            _card(name, table)
        except InvalidParams as fault:
            found.append(f"{fault.message} What the table says is ignored.")
    return found


def _card(name: str, table: Mapping[str, Any]) -> ModelCard:
    """Raises InvalidParams that names a value which can't be."""
    where = f'config.toml: [models."{name}"]'
    if not all(name.partition(":")):
        raise InvalidParams(f"{where} must be called provider:model.")
    if unknown := set(table) - set(_READERS):
        raise InvalidParams(f"{where} has {sorted(unknown)[0]}; it may have {', '.join(_READERS)}.")
    known = {key: _READERS[key](f"{where}: {key}", value) for key, value in table.items()}
    prices = {key.removesuffix("_price"): known.pop(key) for key in list(known) if key.endswith("_price")}
    if prices and not {"input", "output"} <= set(prices):
        raise InvalidParams(f"{where} needs both input_price and output_price, in US dollars for a million tokens.")
    return ModelCard(**known, price=Price(**prices) if prices else None)


def _tokens(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParams(f"{where} must be a number of tokens, not {value!r}.")
    return value


def _price(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise InvalidParams(f"{where} must be US dollars for a million tokens, not {value!r}.")
    return float(value)


def _flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidParams(f"{where} must be true or false, not {value!r}.")
    return value


def _efforts(where: str, value: Any) -> tuple[Effort, ...]:
    if not isinstance(value, list) or not all(each in EFFORTS for each in value):
        raise InvalidParams(f"{where} must be a list of {', '.join(EFFORTS)}, not {value!r}.")
    return tuple(each for each in EFFORTS if each in value)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "context_window": _tokens,
    "max_output": _tokens,
    "images": _flag,
    "audio": _flag,
    "reasons": _flag,
    "efforts": _efforts,
    "input_price": _price,
    "output_price": _price,
    "cache_read_price": _price,
    "cache_write_price": _price,
}
