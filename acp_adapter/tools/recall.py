"""recall: the model fetches back what was left out of its own conversation to save room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from acp_adapter.errors import AcpAdapterError, ToolError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.search import Hit
from acp_adapter.ledger.worker import Ledger
from acp_adapter.tools.arguments import count, schema, text
from acp_adapter.tools.port import Intent, ToolContext, ToolResult
from acp_adapter.transcript import Message

SHOWN = 20_000
"""Characters of one message that a call gives."""
HITS = 10
LOOKED_AT = 200
"""Messages that hold the words, of which those are shown that the model does not see."""


@frozen
class Recall:
    ledger: Ledger
    name = "recall"
    description = (
        "Get back what was left out of this conversation to save room: a message by its id, whole and in parts, or the "
        "messages that hold some words."
    )
    parameters = schema(
        [],
        message=text("The id of a message, or its beginning, as a note or a search gave it."),
        query=text("Words that must all occur; a quoted phrase is a phrase."),
        start=count("The character of the message to begin at, 1 if not given."),
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        given = [args[name] for name in ("message", "query") if args.get(name, "").strip()]
        if len(given) != 1 or len(args.keys() & {"message", "query"}) != 1:
            raise ToolError("Give either message or query, and not an empty one.")
        return Intent(f"Recall {given[0]}", "search", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        try:
            if "message" in args:
                found = await self.ledger(SessionDB.find_message, ctx.session_id, args["message"])
                return ToolResult(_part(found, args.get("start", 1)))
            hits = await self._left_out(args["query"], ctx.session_id)
        except AcpAdapterError as fault:
            raise ToolError(fault.message) from fault
        return ToolResult("\n".join(_lines(hits)) or "[Nothing that was left out holds that.]")

    async def _left_out(self, query: str, session_id: str) -> list[Hit]:
        """What holds the words and is not before the model's eyes as it stands."""
        hits = await self.ledger(SessionDB.search, query, session_id=session_id, limit=LOOKED_AT)
        sent = await self.ledger(SessionDB.conversation, session_id)
        seen = {message.id for message in sent if message.api_content is None}
        return [hit for hit in hits if hit.message_id not in seen][:HITS]


def _part(message: Message, start: int) -> str:
    whole = message.text()
    for call in message.calls():
        whole += f"\n[calls {call.name} {call.arguments}]"
    if not whole:
        return "[That message holds no text.]"
    if start > len(whole):
        raise ToolError(f"The message has {len(whole):,} characters, so it can't begin at {start:,}.")
    part = whole[start - 1 : start - 1 + SHOWN]
    left = len(whole) - (start - 1 + len(part))
    name = f" of {message.tool_name}" if message.tool_name else ""
    more = f"\n[{left:,} more characters: ask with start={start + len(part)}.]" if left else ""
    return f"[{message.role}{name}, message {message.id[:8]}]\n{part}{more}"


def _lines(hits: list[Hit]) -> Iterator[str]:
    for hit in hits:
        yield f"- message {hit.message_id[:8]} ({hit.role}): {' '.join(hit.snippet.split())}"
