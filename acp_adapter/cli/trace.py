"""The tool calls of a session as a table: `acp-adapter sessions trace`."""

from __future__ import annotations

import json

from attrs import asdict

from acp_adapter.cli.columns import aligned
from acp_adapter.cli.terminal import one_line
from acp_adapter.ledger.db import SessionDB
from acp_adapter.sizes import size


def show(db: SessionDB, session_id: str, as_json: bool) -> int:
    """Each call on a line; sizes in bytes and seconds as numbers with `as_json`."""
    calls = db.tool_trace(session_id)
    if as_json:
        for call in calls:
            print(json.dumps(asdict(call), ensure_ascii=False))
    elif not calls:
        print("No tool was called in this session.")
    else:
        head = ["TOOL", "STATUS", "ARGUMENTS", "RESULT", "SECONDS", "CALL"]
        rows = [
            [
                one_line(call.name, 40),
                one_line(call.status, 20),
                size(call.argument_bytes),
                size(call.result_bytes),
                "" if call.duration is None else f"{call.duration:.1f}",
                one_line(call.call_id, 40),
            ]
            for call in calls
        ]
        print("\n".join(aligned([head, *rows], right={2, 3, 4})))
    return 0
