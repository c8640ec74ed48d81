"""JSON-RPC 2.0 messages before they are trusted: what kind one is, and whether it wants an answer."""

from __future__ import annotations

from typing import Any, cast

from acp_adapter.errors import InvalidRequest

Id = int | str | None


def is_id(value: Any) -> bool:
    """JSON-RPC 2.0, section 4, and the schema's RequestId: a string, an integer or null. True is not 1."""
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))


def id_of(data: Any) -> Id:
    """The id to answer to, null where there is none that can be used."""
    value = data.get("id") if isinstance(data, dict) else None
    return cast(Id, value) if is_id(value) else None


def is_response(data: Any) -> bool:
    return isinstance(data, dict) and "method" not in data and ("result" in data or "error" in data)


def expects_answer(data: Any) -> bool:
    """All but responses and notifications does, broken messages too (JSON-RPC 2.0, section 7, the examples)."""
    if not isinstance(data, dict) or is_response(data):
        return not isinstance(data, dict)
    return "id" in data or not isinstance(data.get("method"), str)


def check_envelope(data: Any) -> None:
    """Raises InvalidRequest for what is not a JSON-RPC 2.0 request or notification."""
    if isinstance(data, list):
        raise InvalidRequest("Batches are not part of the protocol: send one message a line.")
    if not isinstance(data, dict):
        raise InvalidRequest("A message must be a JSON object.")
    if data.get("jsonrpc") != "2.0":
        raise InvalidRequest('A message must have "jsonrpc": "2.0".')
    if not is_id(data.get("id")):
        raise InvalidRequest("The id of a request must be a string, an integer or null.")
    if not isinstance(data.get("method"), str):
        raise InvalidRequest("The method of a request must be a string.")
    if not isinstance(data.get("params"), dict | list | None):
        raise InvalidRequest("The params of a request must be an object.")
