"""Slash commands that tell: what was used."""

from __future__ import annotations

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.agent.loop import StopReason


async def show_usage(asked: Asked) -> StopReason:
    total = await asked.session.usage()
    rows = [
        f"- model calls: {total.api_call_count:,}",
        f"- tokens in: {total.input_tokens:,} (of which from the provider's cache: {total.cache_read_tokens:,})",
        f"- tokens out: {total.output_tokens:,}, of which reasoning: {total.reasoning_tokens:,}",
        f"- messages: {total.message_count:,}, tool calls: {total.tool_call_count:,}",
    ]
    return await asked.say("\n".join(["This session so far:", "", *rows]))


ABOUT = [
    Command("usage", "Show what this session has used", show_usage),
]
