"""How much an OpenAI model reasons: which models can be told, and in which words.

Source: "Reasoning models" in the API's guides. Older models answer to the field itself with an error, and the first
ones that take it do not know `none`: see `acp_adapter.providers.responses.request.ResponsesEncoder.adapt`.
"""

from __future__ import annotations

import re

from acp_adapter.providers.card import Effort

EFFORTS: dict[Effort, str] = {"off": "none", "low": "low", "medium": "medium", "high": "high"}
NEXT = {"none": "minimal", "minimal": "low"}
"""What is sent in place of a word that a model does not know."""

_REASONING = re.compile(r"^(gpt-([5-9]|\d\d)|gpt-oss|o\d|codex)|-codex")
_CHAT_ONLY = re.compile(r"-chat(-|$)")


def reasons(model: str) -> bool:
    """Whether a model of that name is one that reasons. A vendor before the name (`openai/gpt-5`) is left out."""
    name = model.rpartition("/")[2].lower()
    return bool(_REASONING.search(name)) and not _CHAT_ONLY.search(name)


def efforts_of(model: str) -> tuple[Effort, ...]:
    """What can be chosen for a model."""
    return ("off", "low", "medium", "high") if reasons(model) else ()
