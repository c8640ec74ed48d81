"""How much a Claude model thinks: our words for it in each of the forms that its families take.

Models from 4.6 on decide by themselves and are given an effort, those from 3.7 on a budget of tokens, older ones
neither. A name without a version is a new model. Source: "Extended thinking" and "Adaptive thinking" in the API's
guides.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from acp_adapter.providers.card import Effort

Form = Literal["adaptive", "budget", "none"]

BUDGETS: dict[Effort, int] = {"low": 2_048, "medium": 8_192, "high": 24_576}
SMALLEST = 1_024
"""Tokens of the smallest budget, and of what is left for the answer beside it."""


def version(model: str) -> tuple[int, ...]:
    """Of a model's name (`claude-opus-4-7`, `claude-3-7-sonnet-20250219`), (99,) where it tells none."""
    found = re.search(r"claude-(?:[a-z]+-)*(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model.lower())
    return tuple(int(number) for number in found.groups() if number) if found else (99,)


def form_of(model: str) -> Form:
    if version(model) >= (4, 6):
        return "adaptive"
    return "budget" if version(model) >= (3, 7) else "none"


def efforts_of(model: str) -> tuple[Effort, ...]:
    """What can be chosen for a model."""
    return () if form_of(model) == "none" else ("off", "low", "medium", "high")


def settings_of(form: Form, effort: Effort | None, max_tokens: int) -> dict[str, Any]:
    """The fields of a request that say how much to think; none where nothing is said."""
    if form == "adaptive":
        if effort == "off":
            return {"thinking": {"type": "disabled"}}
        settings: dict[str, Any] = {"thinking": {"type": "adaptive", "display": "summarized"}}
        return settings | ({"output_config": {"effort": effort}} if effort else {})
    budget = min(BUDGETS.get(effort, 0) if effort else 0, max_tokens - SMALLEST)
    if form == "none" or budget < SMALLEST:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}
