"""Conversations for tests of the embedded model."""

from __future__ import annotations

import json
from typing import Any

from acp_adapter.transcript import Message, ToolCall, new_id


def asked(text: str) -> Message:
    return Message("user", text)


def answered(text: str) -> Message:
    return Message("assistant", text)


def called(tool: str, arguments: dict[str, Any], result: str, *, failed: bool = False) -> list[Message]:
    """A call and its result, as they stand in a transcript."""
    call = ToolCall(new_id(), tool, json.dumps(arguments))
    details = {"status": "failed" if failed else "completed"}
    return [
        Message("assistant", tool_calls=[call.raw()]),
        Message("tool", result, tool_call_id=call.id, tool_name=tool, details=details),
    ]
