"""How much a Claude model thinks: our words for it in each of the forms that its families take.

Models from 4.6 on decide by themselves and are given an effort, those from 3.7 on a budget of tokens, older ones
neither. A name without a version is a new model. Source: "Extended thinking" and "Adaptive thinking" in the API's
guides.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from attrs import define, field

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


@define(eq=False)
class Thinking:
    """How one model is told how much to think, and what its server has refused of that: see `adapt`."""

    known: Form
    form: Form = field(init=False)
    can_be_off: bool = True
    _display: bool = True
    _effort: bool = True

    def __attrs_post_init__(self) -> None:
        self.form = self.known

    def settings(self, form: Form, effort: Effort | None, max_tokens: int) -> dict[str, Any]:
        """The fields of a request that say how much to think; none where nothing is said."""
        if form == "adaptive":
            return self._adaptive(effort)
        budget = min(BUDGETS.get(effort, 0) if effort else 0, max_tokens - SMALLEST)
        if form == "none" or budget < SMALLEST:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}

    def adapt(self, complaint: str, effort: Effort | None) -> bool:
        """Say it differently from now on; whether there is another way.

        Without what the complaint names, then little in place of no thinking, then the other form, then nothing.
        """
        complaint = complaint.lower()
        if "display" in complaint and self._display:
            self._display = False
        elif re.search(r"effort|output_config", complaint) and self._effort:
            self._effort = False
        elif "thinking" not in complaint:
            return False
        elif effort == "off" and self.can_be_off:
            self.can_be_off = False
        elif self.form == "none":
            return False
        else:
            other: Form = "budget" if self.known == "adaptive" else "adaptive"
            self.form = other if self.form == self.known else "none"
        return True

    def _adaptive(self, effort: Effort | None) -> dict[str, Any]:
        if effort == "off" and self.can_be_off:
            return {"thinking": {"type": "disabled"}}
        if effort == "off":
            return {"output_config": {"effort": "low"}} if self._effort else {}
        display = {"display": "summarized"} if self._display else {}
        settings: dict[str, Any] = {"thinking": {"type": "adaptive", **display}}
        return settings | ({"output_config": {"effort": effort}} if effort and self._effort else {})
