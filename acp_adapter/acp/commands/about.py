"""Slash commands that tell: what was used, what the model can do, what is wrong."""

from __future__ import annotations

import asyncio
import textwrap

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.agent.base import StopReason
from acp_adapter.agent.permissions import decide
from acp_adapter.doctor import CHECKS, Check, model, own_agent
from acp_adapter.ledger.db import SessionDB
from acp_adapter.tools.port import Intent, Tool
from acp_adapter.tools.toolbox import ACTIONS

VERDICTS = {"allow": "runs", "ask": "asks first", "reject": "is refused"}
MARKS = {"ok": "✔", "warn": "!", "fail": "✗"}


async def show_usage(asked: Asked) -> StopReason:
    total = await asked.services.ledger(SessionDB.current, asked.session.id)
    spent = await asked.services.ledger(SessionDB.spent, asked.session.id)
    rows = [
        f"- model calls: {total.api_call_count:,}",
        f"- tokens in: {total.input_tokens:,} (of which from the provider's cache: {total.cache_read_tokens:,})",
        f"- tokens out: {total.output_tokens:,}, of which reasoning: {total.reasoning_tokens:,}",
        f"- cost: ${spent.session_cost:,.4f}, today in all sessions ${spent.day_cost:,.4f} (where prices are known)",
        f"- messages: {total.message_count:,}, tool calls: {total.tool_call_count:,}",
    ]
    beside = await asked.services.ledger(SessionDB.beside, asked.session.id)
    rows += _beside("helpers", beside.helper_calls, beside.helper_tokens)
    rows += _beside("names and summaries", beside.small_calls, beside.small_tokens)
    return await asked.say("\n".join(["This session so far:", "", *rows]))


def _beside(who: str, calls: int, tokens: int) -> list[str]:
    """A line about calls that are no part of the conversation, where there were any."""
    return [f"- beside that, {who}: {calls:,} model calls, {tokens:,} tokens"] if calls else []


async def show_tools(asked: Asked) -> StopReason:
    """What a call inside the session's folders would do now; a rule for certain commands may say otherwise."""
    rows = [_tool_line(asked, tool) for tool in asked.session.agent.tools.values()]
    return await asked.say("\n".join([f"In the mode `{asked.session.mode}`:", "", *rows]))


async def show_doctor(asked: Asked) -> StopReason:
    """Each check in a thread of its own: some read the disk for long. Who answers here is well enough to be asked."""
    needless = () if asked.session.has_model else (own_agent, model)
    checks = [check for check in CHECKS if check not in needless]
    found = [await asyncio.to_thread(asyncio.run, check(asked.services.config)) for check in checks]
    text = "\n".join(map(_finding_line, found))
    return await asked.say(asked.services.redactor.text(text))


def _tool_line(asked: Asked, tool: Tool) -> str:
    session = asked.session
    intent = Intent(tool.name, "other", ACTIONS.get(tool.name, "execute"), session.workspace.roots[:1])
    rules = asked.services.rules(session.cwd)
    verdict = decide(session.mode, tool.name, intent, session.workspace.roots, rules).verdict
    sentence = " ".join(tool.description.split()).partition(". ")[0].rstrip(".")
    return f"- `{tool.name}` {VERDICTS[verdict]}: {textwrap.shorten(sentence, 200, placeholder='…')}."


def _finding_line(finding: Check) -> str:
    advice = f"  \n  {finding.advice}" if finding.advice else ""
    return f"- {MARKS[finding.verdict]} **{finding.name}**: {finding.detail}{advice}"


ABOUT = [
    Command("usage", "Show what this session has used", show_usage),
    Command("tools", "List what the model can do, and what asks first", show_tools),
    Command("doctor", "Check what this agent needs", show_doctor),
]
