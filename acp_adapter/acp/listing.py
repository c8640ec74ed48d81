"""A session of the ledger as ACP's session/list tells it."""

from __future__ import annotations

from acp_adapter.acp import types
from acp_adapter.acp.updates import stamp
from acp_adapter.ledger.listing import ListedSession


def info_of(listed: ListedSession) -> types.SessionInfo:
    """`_meta` has what a panel can draw the tree with."""
    meta = {
        "messageCount": listed.message_count,
        "source": listed.session.source,
        "parentSessionId": listed.parent,
        "forkPoint": listed.fork_point,
        "branchCount": listed.branch_count,
    }
    return types.SessionInfo(
        session_id=listed.id,
        cwd=listed.session.cwd,
        additional_directories=listed.session.model_config.get("additional_directories", ()),
        title=listed.title,
        updated_at=stamp(listed.session.last_active),
        meta={name: value for name, value in meta.items() if value is not None},
    )
