"""How much a Gemini model thinks: our words for it in each of the forms that its families take.

Models from 3 on take a level, those of 2.5 a budget of tokens, older ones and Gemma neither. A name without a version
(`gemini-flash-latest`) is a new model. Source: "Thinking" in the Gemini API's guides.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from acp_adapter.providers.card import Effort

Form = Literal["level", "budget", "none"]
"""What a model takes. Each is tried after the one before it was refused."""

LEVELS: dict[Effort, str] = {"off": "minimal", "low": "low", "medium": "medium", "high": "high"}
NEXT_LEVELS = {"minimal": "low", "medium": "high"}
"""What is sent in place of a level that a model does not have: Pro models know no `minimal`, the first not `medium`."""
BUDGETS: dict[Effort, int] = {"off": 0, "low": 1024, "medium": 8192, "high": 24576}
SMALLEST_OF_PRO = 128
"""Tokens that 2.5 Pro can't be kept from."""


def version(model: str) -> tuple[int, ...]:
    """Of a model's name, (99,) where it tells none."""
    found = re.search(r"gemini-(\d+)(?:\.(\d+))?", model)
    return tuple(int(number) for number in found.groups() if number) if found else (99,)


def is_gemini(model: str) -> bool:
    return not re.search(r"gemma|learnlm", model)


def form_of(model: str) -> Form:
    if not is_gemini(model) or version(model) < (2, 5):
        return "none"
    return "budget" if version(model) < (3,) else "level"


def efforts_of(model: str) -> tuple[Effort, ...]:
    """What can be chosen for a model. Only Flash models of 2.5 can be told not to think at all."""
    form = form_of(model)
    if form == "none":
        return ()
    return ("off", "low", "medium", "high") if form == "budget" and "pro" not in model else ("low", "medium", "high")


def config_of(model: str, form: Form, effort: Effort | None, refused: frozenset[str]) -> dict[str, Any]:
    """The `thinkingConfig`, empty for none. `refused` are levels that this model does not have."""
    if form == "none":
        return {}
    config: dict[str, Any] = {"includeThoughts": True}
    if effort and form == "level":
        level = LEVELS[effort]
        config["thinkingLevel"] = NEXT_LEVELS.get(level, level) if level in refused else level
    elif effort:
        config["thinkingBudget"] = max(BUDGETS[effort], SMALLEST_OF_PRO if "pro" in model else 0)
        config["includeThoughts"] = config["thinkingBudget"] > 0
    return config
