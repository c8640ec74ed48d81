"""Arguments: what a model sends is either what the tool was promised, or a sentence that helps it to do better."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.errors import ToolError
from acp_adapter.tools.arguments import checked, count, schema, text
from acp_adapter.tools.toolbox import builtin_tools

RULES = schema(
    ["path"],
    path=text("A path."),
    limit=count("How many."),
    every={"type": "boolean"},
    entries={"type": "array"},
    how={"type": "string", "enum": ["fast", "slow"]},
)


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ({"path": "a"}, {"path": "a"}),
        ({"path": "a", "limit": None}, {"path": "a"}),
        ({"path": "a", "limit": "5"}, {"path": "a", "limit": 5}),
        ({"path": "a", "limit": 5.0}, {"path": "a", "limit": 5}),
        ({"path": "a", "every": "true"}, {"path": "a", "every": True}),
        ({"path": "a", "entries": '["x"]'}, {"path": "a", "entries": ["x"]}),
        ({"path": "5"}, {"path": "5"}),
        ({"path": "a", "description": "why"}, {"path": "a"}),
    ],
)
def test_what_is_clear_is_taken(sent: dict[str, Any], got: dict[str, Any]) -> None:
    assert checked(RULES, sent) == got


ALL = "path, limit (optional), every (optional), entries (optional), how (optional)"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, f"path is missing. The parameters are {ALL}."),
        ({"file_path": "a"}, f'path is missing; "file_path" is not a parameter. The parameters are {ALL}.'),
        ({"path": "a", "dry_run": True}, f'"dry_run" is not a parameter. The parameters are {ALL}.'),
        ({"path": 5}, "path must be a string, not 5."),
        ({"path": ["a"]}, 'path must be a string, not ["a"].'),
        ({"path": "a", "limit": True}, "limit must be an integer, not true."),
        ({"path": "a", "limit": 0}, "limit must be at least 1, not 0."),
        ({"path": "a", "limit": "many"}, 'limit must be an integer, not "many".'),
        ({"path": "a", "every": 1}, "every must be a boolean, not 1."),
        ({"path": "a", "entries": "x"}, 'entries must be an array, not "x".'),
        ({"path": "a", "how": "so"}, "how must be one of 'fast', 'slow', not \"so\"."),
        ({"path": "\ud800"}, "path holds half of a surrogate pair, which is no character. Send the whole character."),
        ("path=a", f'The arguments must be one JSON object with {ALL}, not "path=a".'),
        ([1], f"The arguments must be one JSON object with {ALL}, not [1]."),
        ({"path": ["x" * 200]}, 'path must be a string, not ["' + "x" * 78 + "…."),
    ],
)
def test_what_is_wrong_is_named_with_what_is_wanted_and_what_was_sent(sent: Any, said: str) -> None:
    with pytest.raises(ToolError) as fault:
        checked(RULES, sent)
    assert fault.value.message == said


def test_what_a_foreign_schema_says_beyond_plain_types_is_left_to_its_owner() -> None:
    rules = {"type": "object", "properties": {"a": {"anyOf": []}, "b": {"type": ["string", "null"]}, "c": True}}
    sent = {"a": 1, "b": 2, "c": 3, "title": 4}
    assert checked(rules, sent) == sent
    assert checked({"type": "object"}, {}) == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*RULES["properties"], "reason", "x"]), json_values) | json_values)
def test_anything_gives_promised_types_or_a_sentence(sent: Any) -> None:
    kinds = {"path": str, "limit": int, "every": bool, "entries": list, "how": str}
    try:
        got = checked(RULES, sent)
    except ToolError as fault:
        fault.message.encode()
        assert len(fault.message) < 500
        return
    assert "path" in got
    assert all(type(value) is kinds[name] for name, value in got.items())


def test_the_toolbox_has_the_promised_tools_and_required_parameters() -> None:
    required = {name: tool.parameters["required"] for name, tool in builtin_tools().items()}
    assert required == {
        "read_file": ["path"],
        "write_file": ["path", "content"],
        "apply_patch": ["patch"],
        "edit_file": ["path", "old_text", "new_text"],
        "list_directory": ["path"],
        "glob": ["pattern"],
        "grep": ["pattern"],
        "run_command": ["command"],
        "command_output": ["id"],
        "stop_command": ["id"],
        "fetch_url": ["url"],
        "update_plan": ["entries"],
        "ask_user": ["question"],
    }


def test_the_toolbox_tells_every_time_the_same() -> None:
    first, second = ([(t.name, t.description, t.parameters) for t in builtin_tools().values()] for _ in range(2))
    assert first == second
