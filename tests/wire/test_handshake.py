"""The answer to initialize, as a function of its params."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_adapter import __version__
from acp_adapter.acp import types
from acp_adapter.acp.converter import structure, unstructure
from acp_adapter.acp.handshake import METHOD_ID, answer, negotiate
from tests.wire.test_converter import valid
from tests.wire.wire import INITIALIZE, line

TERMINAL = {"clientCapabilities": {"auth": {"terminal": True}}}


@pytest.mark.parametrize("asked", [0, 1, 2, 65535])
def test_the_version_is_the_one_that_is_spoken_and_not_an_echo(asked: int) -> None:
    assert negotiate({"protocolVersion": asked})["protocolVersion"] == 1


@pytest.mark.parametrize("params", [{}, TERMINAL])
def test_it_is_what_the_schema_asks_for_and_loses_nothing_in_the_classes(params: dict[str, Any]) -> None:
    result = negotiate(params)
    assert valid("InitializeResponse", result)
    assert unstructure(structure(result, types.InitializeResponse)) == result


def test_it_says_who_and_what_this_is() -> None:
    result = structure(negotiate({}), types.InitializeResponse)
    assert result.agent_info
    assert (result.agent_info.name, result.agent_info.version) == ("acp-adapter", __version__)
    assert result.agent_capabilities.load_session
    assert result.agent_capabilities.session_capabilities.fork is not None


def test_a_terminal_method_is_offered_only_to_a_client_that_opens_terminals() -> None:
    assert (
        negotiate(TERMINAL)["authMethods"][0] | {"type": "terminal", "args": ["setup"]}
        == (negotiate(TERMINAL)["authMethods"][0])
    )
    for refused in ({}, {"clientCapabilities": 5}, {"clientCapabilities": {"auth": {"terminal": "yes"}}}):
        (method,) = negotiate(refused)["authMethods"]
        assert "type" not in method
        assert "acp-adapter setup" in method["description"]
        assert method["id"] == METHOD_ID


@pytest.mark.parametrize("msg_id", [0, 7, "", "a", 2**70, "é"])
def test_a_well_formed_request_is_answered_with_its_id(msg_id: Any) -> None:
    answered = answer(line({**INITIALIZE, "id": msg_id}))
    assert answered
    assert json.loads(answered[0]) == {"jsonrpc": "2.0", "id": msg_id, "result": negotiate({})}
    assert answered[1] == INITIALIZE["params"]


@pytest.mark.parametrize(
    "left",
    [
        b"",
        b"nope",
        b"[" * 100_000,
        b'{"id":1}',
        b'\xff{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"x":NaN}}',
        line({**INITIALIZE, "id": "\ud800"}),
        line({**INITIALIZE, "jsonrpc": "1.0"}),
        line({**INITIALIZE, "method": "session/new"}),
        line({**INITIALIZE, "id": True}),
        line({**INITIALIZE, "id": None}),
        line({**INITIALIZE, "id": 1.5}),
        line({**INITIALIZE, "params": None}),
        line({**INITIALIZE, "params": {}}),
        line({**INITIALIZE, "params": {"protocolVersion": "1"}}),
        line({**INITIALIZE, "params": {"protocolVersion": True}}),
        line({**INITIALIZE, "params": {"protocolVersion": 65536}}),
        line({k: v for k, v in INITIALIZE.items() if k != "id"}),
    ],
    ids=repr,
)
def test_anything_else_is_left_to_the_peer(left: bytes) -> None:
    assert answer(left) is None
