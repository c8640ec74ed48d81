"""What each API is sent for each of the cases, word for word: `tests/providers/snapshots/<api>.json`.

A change of what is sent shows here as a difference to read. When it is meant, write the snapshots anew with

    python -m tests.providers.test_request_snapshots
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.providers.anthropic.request import MessagesEncoder
from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.providers.gemini.request import GeminiEncoder
from acp_adapter.providers.ollama.request import OllamaEncoder
from acp_adapter.providers.port import ModelRequest
from acp_adapter.providers.responses.request import ResponsesEncoder
from acp_adapter.providers.services import SERVICES
from tests.providers.cases import CASES

FOLDER = Path(__file__).with_name("snapshots")

Encode = Callable[[ModelRequest], bytes]


def _chat(model: str, dialect: Dialect) -> Encode:
    return lambda request: ChatEncoder(model, dialect).body(request)


ENCODERS: dict[str, Encode] = {
    "chat": _chat("stub-1", Dialect()),
    **{f"chat-{name}": _chat("stub-1", SERVICES[name].dialect) for name in ("deepseek", "mistral", "openrouter")},
    "anthropic": lambda request: MessagesEncoder("claude-opus-4-7").body(request),
    "anthropic-budget": lambda request: MessagesEncoder("claude-sonnet-4-5").body(request),
    "gemini": lambda request: GeminiEncoder("gemini-3-pro").body(request),
    "gemini-budget": lambda request: GeminiEncoder("gemini-2.5-flash").body(request),
    "ollama": lambda request: OllamaEncoder("qwen3").body(request, 32_768),
    "responses": lambda request: ResponsesEncoder("gpt-5-mini").body(request),
}


def sent(api: str) -> dict[str, Any]:
    return {name: json.loads(ENCODERS[api](request)) for name, request in CASES.items()}


@pytest.mark.parametrize("api", ENCODERS)
def test_what_is_sent_is_what_the_snapshot_shows(api: str) -> None:
    path = FOLDER / f"{api}.json"
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    now = sent(api)
    changed = [name for name in {**known, **now} if known.get(name) != now.get(name)]
    assert not changed, f"{api}: other than before: {changed}. Meant? python -m tests.providers.test_request_snapshots"


def test_the_same_request_is_the_same_bytes_every_time() -> None:
    for encode in ENCODERS.values():
        for request in CASES.values():
            assert encode(request) == encode(request)


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for api in ENCODERS:
        text = json.dumps(sent(api), ensure_ascii=False, indent=1)
        (FOLDER / f"{api}.json").write_text(text + "\n", "utf-8")
        sys.stdout.write(f"{api}: {len(CASES)} cases\n")


if __name__ == "__main__":
    write()
