"""session_search: the agent looks up what was said or done in any stored session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from acp_adapter.errors import AcpAdapterError, ToolError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.passages import FoundSession, Passage
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools.arguments import schema, text
from acp_adapter.tools.port import Intent, ToolContext, ToolResult

HITS = 20
LONGEST = 600
"""Characters of one message that a passage shows."""


@frozen
class SessionSearch:
    ledger: Ledger
    name = "session_search"
    description = (
        "Search all earlier sessions, also those of other programs and the compacted part of this one. Words must all "
        "occur; a quoted phrase is a phrase. Gives the best passages of each session with the messages around them."
    )
    parameters = schema(
        ["query"],
        query=text("Words that must all occur; punctuation means itself."),
        role={"type": "string", "enum": ["user", "assistant", "tool"], "description": "Only messages of this role."},
        session=text("Only this session: its id, the beginning of it, or its title."),
        source=text("Only sessions of this program, such as acp, cli or telegram."),
        cwd=text("Only sessions of this folder."),
        since=text("Only messages since this date, such as 2026-01-31."),
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        return Intent(f"Search sessions for {args['query']}", "search", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        try:
            found = await self._found(args)
        except AcpAdapterError as fault:
            raise ToolError(fault.message) from fault
        if not found:
            return ToolResult(f"No stored session holds {args['query']!r}.")
        return ToolResult("\n\n".join("\n".join(_lines(session)) for session in found))

    async def _found(self, args: dict[str, Any]) -> list[FoundSession]:
        wanted = args.get("session")
        hits = await self.ledger(
            SessionDB.search,
            args["query"],
            role=args.get("role"),
            session_id=await self.ledger(SessionDB.resolve, wanted) if wanted else None,
            source=args.get("source"),
            cwd=args.get("cwd"),
            since=_moment(args["since"]) if "since" in args else None,
            limit=HITS,
        )
        return await self.ledger(SessionDB.passages, hits)


def _moment(date: str) -> float:
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        raise ToolError(f"since must be a date such as 2026-01-31, not {date!r}.") from None


def _lines(found: FoundSession) -> Iterator[str]:
    yield f"## {found.title or '(no title)'} (session {found.session_id}, {found.source})"
    for passage in found.passages:
        yield from _passage(passage)


def _passage(passage: Passage) -> Iterator[str]:
    when = datetime.fromtimestamp(passage.hit.timestamp, UTC).strftime("%Y-%m-%d %H:%M")
    yield f"- {when}{', compacted since' if passage.hit.compacted else ''}:"
    for message in passage.messages:
        said = " ".join(message.text().split()) or ", ".join(f"calls {call.name}" for call in message.calls())
        shown = said if len(said) <= LONGEST else said[:LONGEST] + "…"
        mark = ">" if message.id == passage.hit.message_id else " "
        yield f"  {mark} {message.role}: {shown}"
