"""JSON ↔ the protocol's classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.acp import types
from acp_adapter.acp.converter import structure, unstructure
from acp_adapter.acp.schema.definitions import HERE, STABLE, UNSTABLE
from acp_adapter.acp.struct import Struct, Unknown
from acp_adapter.errors import InvalidParams
from tests.wire.instances import instances, structs

GOLDEN = [json.loads(line) for line in Path(__file__).with_name("golden.jsonl").read_text("utf-8").splitlines()]
DEFINITIONS = {name: json.loads((HERE / name).read_text("utf-8"))["$defs"] for name in (STABLE, UNSTABLE)}


def kind_of(golden: dict[str, Any]) -> Any:
    method = types.METHODS[golden["method"]]
    return method.params if "params" in golden else method.result


def valid(kind: str, value: Any) -> bool:
    """Whether the schema, stable or else unstable, takes the value for that definition."""
    of = STABLE if kind in DEFINITIONS[STABLE] else UNSTABLE
    schema = {"$ref": f"#/$defs/{kind}", "$defs": DEFINITIONS[of]}
    return bool(jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions()).is_valid(value))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["method"])
def test_a_golden_frame_is_the_same_after_reading_and_writing(golden: dict[str, Any]) -> None:
    value = golden.get("params", golden.get("result"))
    assert unstructure(structure(value, kind_of(golden))) == value


def test_the_golden_frames_hold_every_class_and_every_method() -> None:
    seen: set[type] = set()

    def look(value: Any) -> None:
        if isinstance(value, Struct):
            seen.add(type(value))
            for name in value.__attrs_attrs__:
                look(getattr(value, name.name))
        elif isinstance(value, dict):
            for each in value.values():
                look(each)
        elif isinstance(value, list | tuple):
            for each in value:
                look(each)

    for golden in GOLDEN:
        look(structure(golden.get("params", golden.get("result")), kind_of(golden)))
    empty = {cls for cls in structs() if cls.__name__.endswith("Response") and len(cls.__attrs_attrs__) == 2}
    alike = {types.LoadSessionResponse, types.ResumeSessionResponse, types.SetSessionConfigOptionResponse}
    assert set(structs()) - seen == empty | alike
    assert {golden["method"] for golden in GOLDEN} == set(types.METHODS)


@pytest.mark.parametrize("cls", structs(), ids=lambda cls: cls.__name__)
@settings(max_examples=8)
@given(data=st.data())
def test_any_object_is_the_same_after_writing_and_reading(cls: type[Struct], data: st.DataObject) -> None:
    value = data.draw(instances(cls))  # type: ignore[arg-type]  # as in instances
    written = json.loads(json.dumps(unstructure(value)))
    read = structure(written, cls)
    assert unstructure(read) == written
    if not _has_empty_sequence(value):
        assert read == value


@pytest.mark.parametrize("method", types.METHODS.values())
@settings(max_examples=8)
@given(data=st.data())
def test_what_is_written_is_what_the_schema_asks_for(method: types.Method[Any, Any], data: st.DataObject) -> None:
    for part, suffixes in (("params", ("Request", "Notification")), ("result", ("Response",))):
        kind = getattr(method, part)
        if kind is None:
            continue
        name = next(
            name
            for name, node in (DEFINITIONS[STABLE] | DEFINITIONS[UNSTABLE]).items()
            if node.get("x-method") == method and name.endswith(suffixes)
        )
        for cls in kind.__args__ if hasattr(kind, "__args__") else (kind,):
            if cls is not Unknown and not name.startswith("CreateElicitationRequest"):
                value = unstructure(data.draw(instances(cls)))
                assert valid(name, value), value


def _has_empty_sequence(value: Any) -> bool:
    return "[]" in repr(value) or "()" in repr(value)


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (types.PromptRequest, 5, "params: expected an object, got 5"),
        (types.PromptRequest, [1], "params: expected an object, got an array"),
        (types.PromptRequest, {"prompt": []}, "params.sessionId: required, but missing"),
        (types.PromptRequest, {"sessionId": None, "prompt": []}, "params.sessionId: expected a string, got null"),
        (types.PromptRequest, {"sessionId": "s", "prompt": {}}, "params.prompt: expected an array, got an object"),
        (
            types.PromptRequest,
            {"sessionId": "s", "prompt": [{"type": "text", "text": "a"}, {"type": "text", "text": 5}]},
            "params.prompt[1].text: expected a string, got 5",
        ),
        (
            types.PromptRequest,
            {"sessionId": "s", "prompt": [{"text": "a"}]},
            "params.prompt[0].type: required, but missing",
        ),
        (types.PromptRequest, {"sessionId": "s", "prompt": ["a"]}, 'params.prompt[0]: expected an object, got "a"'),
        (
            types.PromptRequest,
            {"sessionId": "s", "prompt": [{"type": "resource", "resource": {"uri": "file:///a"}}]},
            "params.prompt[0].resource.text: required, but missing",
        ),
        (
            types.InitializeRequest,
            {"protocolVersion": "1"},
            'params.protocolVersion: expected an integer from 0 to 65535, got "1"',
        ),
        (
            types.InitializeRequest,
            {"protocolVersion": True},
            "params.protocolVersion: expected an integer from 0 to 65535, got true",
        ),
        (
            types.InitializeRequest,
            {"protocolVersion": -1},
            "params.protocolVersion: expected an integer from 0 to 65535, got -1",
        ),
        (
            types.SetSessionConfigOptionRequest,
            {"sessionId": "s", "configId": "c", "value": True},
            "params.value: expected a string, got true",
        ),
        (
            types.NewSessionRequest,
            {"cwd": "/", "mcpServers": [{"name": "n", "command": "c", "args": ["a", 1], "env": []}]},
            "params.mcpServers[0].args[1]: expected a string, got 1",
        ),
        (
            types.RequestPermissionResponse,
            {"outcome": {"outcome": 3}},
            'params.outcome.outcome: expected one of "cancelled", "selected", got 3',
        ),
        (
            types.CancelRequestNotification,
            {"requestId": 1.5},
            "params.requestId: expected an integer or a string, got 1.5",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(kind: Any, value: Any, sentence: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        structure(value, kind, "params")
    assert caught.value.message.startswith(sentence)


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(InvalidParams) as caught:
        structure({"protocolVersion": "x" * 1_000_000}, types.InitializeRequest)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        pytest.param(
            types.InitializeRequest,
            {"protocolVersion": 1, "clientCapabilities": {"fs": 5, "terminal": "yes", "auth": {"terminal": 1}}},
            types.InitializeRequest(1),
            id="a malformed capability is an absent one",
        ),
        pytest.param(
            types.NewSessionRequest,
            {"cwd": "/", "mcpServers": None, "additionalDirectories": None},
            types.NewSessionRequest("/", []),
            id="null is an empty array where the schema says so",
        ),
        pytest.param(
            types.ToolCall,
            {"toolCallId": "c", "title": "t", "kind": 3, "content": [7, {"type": "terminal", "terminalId": "t"}, {}]},
            types.ToolCall("c", "t", content=[types.Terminal("t")]),
            id="a malformed item is skipped where the schema says so",
        ),
        pytest.param(
            types.SessionModeState,
            {"currentModeId": "a", "availableModes": "all"},
            types.SessionModeState("a", []),
            id="a required array that is malformed is empty where the schema says so",
        ),
        pytest.param(
            types.AuthenticateRequest, {"methodId": "a", "_meta": 5}, types.AuthenticateRequest("a"), id="meta"
        ),
        pytest.param(types.UsageUpdate, {"used": 1.0, "size": 2}, types.UsageUpdate(1, 2), id="1.0 is an integer"),
    ],
)
def test_leniency_is_where_the_schema_asks_for_it(kind: Any, value: Any, read: Any) -> None:
    found = structure(value, kind)
    found.extra = {}
    assert found == read


def test_unknown_variants_and_members_are_kept_as_they_came() -> None:
    block = {"type": "smell", "of": ["coffee", None]}
    read = structure({"sessionId": "s", "prompt": [block], "new": {"a": 1}}, types.PromptRequest)
    assert read.prompt == [Unknown(block)]
    assert read.extra == {"new": {"a": 1}}


def test_an_explicit_null_is_told_apart_from_an_absent_member() -> None:
    """It clears a title, where an absent one leaves it as it is."""
    cleared = structure({"title": None}, types.SessionInfoUpdate)
    assert cleared.title is None
    assert "title" in cleared.extra
    assert unstructure(cleared) == {"sessionUpdate": "session_info_update", "title": None}


def test_the_discriminator_decides_and_not_the_shape() -> None:
    stdio = {"name": "n", "command": "c", "args": [], "env": []}
    assert isinstance(structure(stdio, types.McpServer), types.McpServerStdio)
    http = {**stdio, "type": "http", "url": "u", "headers": []}
    assert isinstance(structure(http, types.McpServer), types.McpServerHttp)
    with pytest.raises(InvalidParams, match=r"value\.command: required"):
        structure({"name": "n"}, types.McpServer)
