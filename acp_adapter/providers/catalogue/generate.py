"""Makes `models.json`, the table that `lookup` reads, from the list of models that LiteLLM maintains (MIT licence).

    pip download --no-deps --dest DIR litellm
    python -m acp_adapter.providers.catalogue.generate DIR/litellm-*.whl

Only facts are taken: of the services in `acp_adapter.providers.services`, what chats; names, sizes, prices, abilities.
One model is one line, so that a newer list is a difference to read.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TABLE = HERE / "models.json"
SOURCE = "litellm/model_prices_and_context_window_backup.json"

SERVICES = {
    "openai": "openai",
    "anthropic": "anthropic",
    "openrouter": "openrouter",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "moonshot": "moonshot",
    "xai": "xai",
    "groq": "groq",
    "together": "together_ai",
}
"""Our names, and theirs."""

MODES = ("chat", "responses")
PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}
TIERS = {128_000: "_above_128k_tokens", 200_000: "_above_200k_tokens", 272_000: "_above_272k_tokens"}

Json = dict[str, Any]


def rows(listed: Json) -> Iterator[tuple[str, str, Json]]:
    """Service, model and what is known of it, sorted."""
    theirs = {name: ours for ours, name in SERVICES.items()}
    found = {}
    for name, entry in listed.items():
        service = theirs.get(str(entry.get("litellm_provider")))
        if service and entry.get("mode") in MODES and not name.startswith("ft:"):
            found[service, name.removeprefix(f"{entry['litellm_provider']}/")] = _facts(entry)
    for (service, model), facts in sorted(found.items()):
        yield service, model, facts


def _facts(entry: Json) -> Json:
    """Absent means unknown, for an ability too."""
    facts: Json = {
        "window": _whole(entry.get("max_input_tokens")),
        "output": _whole(entry.get("max_output_tokens")),
        "images": entry.get("supports_vision"),
        "audio": entry.get("supports_audio_input"),
        "reasons": entry.get("supports_reasoning"),
        "price": _price(entry, ""),
    }
    tiers = {str(above): _price(entry, suffix) for above, suffix in TIERS.items()}
    facts["above"] = {above: price for above, price in tiers.items() if price} or None
    return {name: value for name, value in facts.items() if value is not None}


def _price(entry: Json, suffix: str) -> Json | None:
    """US dollars for a million tokens."""
    known = {name: entry.get(theirs + suffix) for name, theirs in PRICES.items()}
    if not isinstance(known["input"], int | float) or not isinstance(known["output"], int | float):
        return None
    return {name: round(value * 1_000_000, 6) for name, value in known.items() if isinstance(value, int | float)}


def _whole(value: Any) -> int | None:
    number = float(value) if isinstance(value, int | float | str) and str(value).replace(".", "", 1).isdigit() else 0
    return int(number) if number > 0 else None


def text_of(listed: Json) -> str:
    """The table's text: a JSON object whose members are one line each."""
    lines = [f"{json.dumps(f'{service}:{model}')}: {json.dumps(facts)}" for service, model, facts in rows(listed)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read(wheel: Path) -> Json:
    with zipfile.ZipFile(wheel) as archive:
        listed: Json = json.loads(archive.read(SOURCE))
    return listed


if __name__ == "__main__":
    TABLE.write_text(text_of(read(Path(sys.argv[1]))), "utf-8")
