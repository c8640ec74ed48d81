"""Which tools a model is told of."""

from __future__ import annotations

from typing import Any

import pytest

from acp_adapter.tools.toolbox import ACTIONS, builtin_tools, suited_to
from tests.tools.bench import Bench


@pytest.mark.parametrize(
    "model", ["gpt-5-mini", "openai/gpt-5.2-codex", "gpt-4.1", "o3", "openai/o4-mini", "gpt-oss:20b"]
)
def test_models_that_were_trained_on_patches_are_told_of_them(model: str) -> None:
    assert set(suited_to(model, builtin_tools())) == set(builtin_tools())


@pytest.mark.parametrize("model", ["claude-sonnet-5", "gemini-3-pro", "gpt-4o", "qwen3", "solo3", "stub-1"])
def test_other_models_edit_in_the_plain_way(model: str) -> None:
    assert set(builtin_tools()) - set(suited_to(model, builtin_tools())) == {"apply_patch"}


async def test_what_a_tool_is_said_to_do_is_what_its_intents_say(bench: Bench) -> None:
    (bench.cwd / "a.txt").write_text("a\n", "utf-8")
    args: dict[str, dict[str, Any]] = {
        "read_file": {"path": "a.txt"},
        "write_file": {"path": "b.txt", "content": "b"},
        "list_directory": {"path": "."},
        "glob": {"pattern": "*"},
        "grep": {"pattern": "a"},
        "run_command": {"command": "true"},
        "fetch_url": {"url": "https://example.org/"},
        "update_plan": {"entries": []},
    }
    for name, given in args.items():
        assert (await bench.intent(name, **given)).action == ACTIONS[name], name
    assert set(builtin_tools()) <= set(ACTIONS)
