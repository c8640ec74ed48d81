"""The generated module is what its generator writes, from the schemas as they are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.acp import types
from acp_adapter.acp.schema.definitions import HERE, STABLE, UNSTABLE, load, without_prose
from acp_adapter.acp.schema.generate import TYPES, Generator, snake
from acp_adapter.acp.struct import wire_name

PUBLISHED = Path(__file__).parents[3] / "shared" / "acp"


def test_the_generated_file_is_current() -> None:
    assert Generator(load()).source() == TYPES.read_text("utf-8")


@pytest.mark.parametrize("name", [STABLE, UNSTABLE])
def test_the_schema_copies_are_the_published_ones_without_prose(name: str) -> None:
    if not PUBLISHED.is_dir():
        pytest.skip("the published schemas are not here")
    published = json.loads((PUBLISHED / name).read_text("utf-8"))
    assert json.loads((HERE / name).read_text("utf-8")) == without_prose(published)


def test_every_method_of_the_stable_schema_is_in_the_table_with_its_side() -> None:
    definitions = json.loads((HERE / STABLE).read_text("utf-8"))["$defs"].values()
    methods = {node["x-method"]: node["x-side"] for node in definitions if "x-method" in node}
    assert methods | {"session/fork": "agent"} == {name: method.side for name, method in types.METHODS.items()}


def test_a_request_has_a_result_and_a_notification_has_none() -> None:
    assert {m for m in types.METHODS.values() if m.kind == "notification"} == {
        m for m in types.METHODS.values() if m.result is None
    }
    assert types.METHODS["session/prompt"].params is types.PromptRequest
    assert types.METHODS["session/prompt"].result is types.PromptResponse


def test_every_name_on_the_wire_comes_back_from_its_python_name() -> None:
    def names(node: Any) -> set[str]:
        if isinstance(node, list):
            return set().union(*map(names, node))
        if not isinstance(node, dict):
            return set()
        here = set(node.get("properties", {})) if isinstance(node.get("properties"), dict) else set()
        return here.union(*(names(each) for each in node.values()))

    for name in names(load()):
        assert wire_name(snake(name)) == name
