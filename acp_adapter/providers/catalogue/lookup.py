"""The card of a model by its name: from the table, or from its family where the name is newer than the table.

A model of an unknown provider is looked up by its name alone, since many gateways serve the models of others; what it
costs there is not known then. OpenRouter asks for what the model's own vendor asks for.
"""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import Any

from attrs import evolve

from acp_adapter.providers.card import ModelCard, Price
from acp_adapter.providers.catalogue.families import context_window

_DATED = re.compile(
    r"[-@](20\d{6}|20\d\d-\d\d-\d\d|\d\d-20\d\d|\d{4}|v\d+(:\d+)?|\d{2}-\d{2})$|-(latest|preview|exp)$|:[a-z]+$"
)
"""How one model is named more exactly: a date, a revision, a label."""
_BEFORE = re.compile(r"^((us|eu|apac|jp|au|global)\.)?(anthropic|openai|mistral|deepseek|google|moonshotai?|xai)\.")
"""How Bedrock names models: a region and a vendor."""
VENDORS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "google": "gemini",
    "mistralai": "mistral",
    "deepseek": "deepseek",
    "moonshotai": "moonshot",
    "x-ai": "xai",
}
"""What OpenRouter calls the services of the table."""

Json = dict[str, Any]


def card_of(provider: str, model: str) -> ModelCard:
    """What the table knows. The cheapest way to ask: nothing is read before the first call, and then once."""
    table = _table()
    vendor, _, rest = model.partition("/")
    if provider == "openrouter" and vendor in VENDORS and ":" not in rest:
        provider, model = VENDORS[vendor], rest
    for name in _spellings(model):
        if facts := table.get(f"{provider}:{name}"):
            return _card(facts)
    for name in _spellings(model):
        if facts := _by_name().get(name):
            return evolve(_card(facts), price=None)
    return ModelCard(context_window=context_window(model))


def _spellings(model: str) -> list[str]:
    """The name as it is, without a vendor before it, and each without date and label after it."""
    plain = model.lower().rpartition("/")[2]
    found = [model, model.lower(), plain, _BEFORE.sub("", plain).replace("gpt-35", "gpt-3.5")]  # Azure has no dots
    for name in list(found):
        bare = name
        found.append(f"{bare}-latest")
        while (shorter := _DATED.sub("", bare)) != bare:
            bare = shorter
            found += [bare, f"{bare}-latest"]
    return list(dict.fromkeys([*found, *(name.replace(".", "-") for name in found)]))


@functools.cache
def _table() -> dict[str, Json]:
    table: dict[str, Json] = json.loads(resources.files(__package__).joinpath("models.json").read_text("utf-8"))
    return table


@functools.cache
def _by_name() -> dict[str, Json]:
    """By name alone, without a vendor; of two services that serve the same, the first counts."""
    names: dict[str, Json] = {}
    for full, facts in _table().items():
        names.setdefault(full.partition(":")[2].lower().rpartition("/")[2], facts)
    return names


def _card(facts: Json) -> ModelCard:
    return ModelCard(
        context_window=facts.get("window"),
        max_output=facts.get("output"),
        images=facts.get("images"),
        audio=facts.get("audio"),
        reasons=facts.get("reasons"),
        price=_price(facts),
    )


def _price(facts: Json) -> Price | None:
    if "price" not in facts:
        return None
    above = {int(tokens): Price(**price) for tokens, price in facts.get("above", {}).items()}
    return Price(**facts["price"], above=above)
