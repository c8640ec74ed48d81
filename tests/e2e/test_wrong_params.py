"""Every field of every method, given every kind of wrong value: one clear answer each, and never a bug."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tests.clients.lab import Lab
from tests.clients.raw import RpcError
from tests.stub_model import T

WRONG: list[Any] = [None, True, 0, -1, 1.5, 2**70, "", "x", "\x00", "\ud800", "x" * 5000, [], [[]], {}, {"a": None}]
CLEAR = {-32600, -32602, -32002, -32601, -32000}


def methods(session: str, cwd: str) -> dict[str, dict[str, Any]]:
    """Good params of every method that changes nothing which the others need."""
    server = {"name": "s", "command": "/bin/true", "args": ["a"], "env": [{"name": "A", "value": "b"}]}
    place = {"cwd": cwd, "mcpServers": [], "additionalDirectories": [cwd], "_meta": {"a": 1}}
    resource = {"type": "resource", "resource": {"uri": "file:///x.py", "text": "X"}}
    info = {"name": "n", "version": "1", "title": "t"}
    offers = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False, "auth": {"terminal": False}}
    return {
        "initialize": {"protocolVersion": 1, "clientCapabilities": offers, "clientInfo": info},
        "authenticate": {"methodId": "setup"},
        "session/new": {**place, "mcpServers": [server]},
        "session/load": {"sessionId": session, **place},
        "session/resume": {"sessionId": session, **place},
        "session/fork": {"sessionId": session, **place},
        "session/list": {"cwd": cwd, "cursor": None, "_meta": {}},
        "session/set_mode": {"sessionId": session, "modeId": "ask"},
        "session/set_config_option": {"sessionId": session, "configId": "mode", "value": "ask"},
        "session/prompt": {
            "sessionId": session,
            "prompt": [{"type": "text", "text": "hi", "annotations": {}}, resource],
        },
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every field and item inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def put(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    changed = deepcopy(value)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = wrong
    return changed


async def test_no_wrong_value_in_any_field_is_a_bug(lab: Lab) -> None:
    lab.model.add(T("one"))
    client = await lab.start()
    session = await client.new(lab.project)
    client.unseen.add(session)  # no panel has the prompts that are written by hand
    await client.prompt(session, "first")
    unclear = []
    for method, params in methods(session, str(lab.project)).items():
        for path in places(params):
            for wrong in WRONG:
                try:
                    await client.request(method, put(params, path, wrong))
                except RpcError as error:
                    prompted = method == "session/prompt" and "no step left" in error.message
                    if error.code not in CLEAR and not prompted:
                        unclear.append((method, path, wrong if wrong != WRONG[10] else "long", str(error)))
    assert not unclear
    lab.model.steps.clear()
    lab.model.add(T("still here"))
    assert (await client.prompt(session, "hi")).text == "still here"
