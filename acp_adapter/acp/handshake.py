"""The answer to `initialize` (ACP, "Initialization"). Imports next to nothing: it is given before the rest loads."""

from __future__ import annotations

import json

from acp_adapter import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROTOCOL_VERSION = 1

METHOD_ID = "setup"
"""The one auth method: `acp-adapter setup`, in which a person chooses a model."""


def negotiate(params: dict[str, Any]) -> dict[str, Any]:
    """The result of `initialize` for its params, both as JSON.

    It names the version that is spoken here whatever was asked for: the client decides whether it can go on.
    """
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {
                "list": {},
                "delete": {},
                "additionalDirectories": {},
                "resume": {},
                "close": {},
                "fork": {},
            },
            "auth": {"logout": {}},
        },
        "agentInfo": {"name": "acp-adapter", "title": "ACP Adapter", "version": __version__},
        "authMethods": [_auth_method(_opens_terminals(params))],
    }


def answer(line: bytes) -> tuple[bytes, dict[str, Any]] | None:
    """The response line to a well-formed `initialize` request, and the request's params.

    None for anything else: that is left to the peer, which knows what to say to it.
    """
    if b"\\ud" in line.lower():
        return None  # may hold a lone surrogate
    try:
        request = json.loads(line.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0" or request.get("method") != "initialize":
        return None
    params, msg_id = request.get("params"), request.get("id")
    if not isinstance(params, dict) or not _is_version(params.get("protocolVersion")) or type(msg_id) not in (int, str):
        return None
    response = {"jsonrpc": "2.0", "id": msg_id, "result": negotiate(params)}
    return json.dumps(response, separators=(",", ":")).encode("ascii") + b"\n", params


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _is_version(value: object) -> bool:
    """The schema's uint16."""
    return type(value) is int and 0 <= value < 2**16


def _opens_terminals(params: dict[str, Any]) -> bool:
    """Whether the client runs auth methods in a terminal. A capability of a wrong type counts as absent."""
    here: Any = params
    for key in ("clientCapabilities", "auth", "terminal"):
        here = here.get(key) if isinstance(here, dict) else None
    return here is True


def _auth_method(terminal: bool) -> dict[str, Any]:
    method: dict[str, Any] = {"id": METHOD_ID, "name": "Choose a model"}
    if terminal:
        return {**method, "description": "Choose a model or enter a key.", "type": "terminal", "args": ["setup"]}
    return {**method, "description": "Run `acp-adapter setup` in a terminal to choose a model or enter a key."}
