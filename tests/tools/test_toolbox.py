"""Which tools a model is told of."""

from __future__ import annotations

import pytest

from acp_adapter.tools.toolbox import builtin_tools, suited_to


@pytest.mark.parametrize(
    "model", ["gpt-5-mini", "openai/gpt-5.2-codex", "gpt-4.1", "o3", "openai/o4-mini", "gpt-oss:20b"]
)
def test_models_that_were_trained_on_patches_are_told_of_them(model: str) -> None:
    assert set(suited_to(model, builtin_tools())) == set(builtin_tools())


@pytest.mark.parametrize("model", ["claude-sonnet-5", "gemini-3-pro", "gpt-4o", "qwen3", "solo3", "stub-1"])
def test_other_models_edit_in_the_plain_way(model: str) -> None:
    assert set(builtin_tools()) - set(suited_to(model, builtin_tools())) == {"apply_patch"}
