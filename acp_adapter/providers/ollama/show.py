"""What Ollama tells of its models → ModelCard. No I/O.

Form: `ShowResponse` (`POST /api/show`) and `ListModelResponse` (`GET /api/tags`) in Ollama's API (api/types.go).
"""

from __future__ import annotations

import re
from typing import Any

from acp_adapter.providers.card import Effort, Listed, ModelCard
from acp_adapter.providers.ollama.request import has_only_levels

LARGEST = 32_768
"""Tokens of the window that is asked for where nobody says: models could often take in ten times more, but the memory
for it is taken when the model is loaded, whether it is used or not."""

Json = dict[str, Any]


def card_of(model: str, show: Json) -> ModelCard:
    """The window is what the Modelfile sets; else the model's own, but only so much of it as most machines can hold."""
    capabilities = _capabilities(show)
    window = _of_modelfile(show) or _own(show)
    if window and not _of_modelfile(show) and not show.get("remote_host"):
        window = min(window, LARGEST)
    return ModelCard(context_window=window, images=_images(capabilities), efforts=_efforts(model, capabilities))


def listed(entry: Any) -> Listed | None:
    """A model of the list, None for one that can't chat or can't call tools, where the server says so.

    Its window is not told, because what its Modelfile sets is not in the list.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    capabilities = _capabilities(entry)
    if capabilities is not None and not {"completion", "tools"} <= capabilities:
        return None
    model = entry["name"]
    return Listed(model, ModelCard(images=_images(capabilities), efforts=_efforts(model, capabilities)))


def _capabilities(told: Json) -> set[str] | None:
    """None from a server that is too old to know."""
    capabilities = told.get("capabilities")
    return set(map(str, capabilities)) if isinstance(capabilities, list) and capabilities else None


def _images(capabilities: set[str] | None) -> bool | None:
    return None if capabilities is None else "vision" in capabilities


def _efforts(model: str, capabilities: set[str] | None) -> tuple[Effort, ...]:
    if capabilities is None or "thinking" not in capabilities:
        return ()
    return ("low", "medium", "high") if has_only_levels(model) else ("off", "low", "medium", "high")


def _of_modelfile(show: Json) -> int | None:
    found = re.search(r"^num_ctx\s+(\d+)\s*$", str(show.get("parameters") or ""), re.M)
    return int(found[1]) if found else None


def _own(show: Json) -> int | None:
    """`model_info` names it by the model's architecture: `llama.context_length`."""
    info = show.get("model_info")
    for key, value in info.items() if isinstance(info, dict) else ():
        if key.endswith(".context_length") and isinstance(value, int) and value > 0:
            return value
    return None
