"""Counters: kept by the writer, in the transaction that writes the messages they count."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from acp_adapter.ledger import sessions
from acp_adapter.transcript import Message, Usage

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")

_COUNT_MESSAGES = """
    UPDATE sessions SET message_count = coalesce(message_count, 0) + ?,
        tool_call_count = coalesce(tool_call_count, 0) + ?,
        api_call_count = coalesce(api_call_count, 0) + ?
    WHERE id = ?"""

_COUNT_TOKENS = (
    "UPDATE sessions SET "
    + ", ".join(f"{column} = coalesce({column}, 0) + ?" for column in _TOKENS)
    + ", estimated_cost_usd = CASE WHEN ? IS NULL THEN estimated_cost_usd ELSE coalesce(estimated_cost_usd, 0) + ? END"
    + " WHERE id = ?"
)

_COUNT_MODEL = (
    f"INSERT INTO session_model_usage(session_id, model, billing_provider, billing_base_url, api_call_count, "
    f"{', '.join(_TOKENS)}, estimated_cost_usd, first_seen, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT(session_id, model, billing_provider, billing_base_url, billing_mode, task) DO UPDATE SET "
    + ", ".join(
        f"{column} = {column} + excluded.{column}" for column in ("api_call_count", *_TOKENS, "estimated_cost_usd")
    )
    + ", last_seen = excluded.last_seen"
)


def count(
    sql: sqlite3.Connection,
    session_id: str,
    messages: Sequence[Message],
    usage: Usage | None,
    model: str | None,
    provider: str | None,
) -> None:
    """Count new messages, their tool calls, the model calls that made them, and the tokens of those.

    `model` and `provider` None mean the session's own.
    """
    answers = sum(1 for message in messages if message.role == "assistant" and message.finish_reason)
    api_calls = max(answers, 1 if usage else 0)
    tool_calls = sum(len(message.tool_calls or ()) for message in messages)
    sql.execute(_COUNT_MESSAGES, (len(messages), tool_calls, api_calls, session_id))
    if not api_calls:
        return
    spent = usage or Usage()
    tokens = [getattr(spent, column) for column in _TOKENS]
    if usage:
        sql.execute(_COUNT_TOKENS, (*tokens, spent.cost, spent.cost, session_id))
    maker = _maker(sql, session_id, model, provider)
    now = time.time()
    sql.execute(_COUNT_MODEL, (session_id, *maker, api_calls, *tokens, spent.cost or 0.0, now, now))


def _maker(sql: sqlite3.Connection, session_id: str, model: str | None, provider: str | None) -> tuple[str, str, str]:
    """Model, provider and base URL, as the table of usage tells them apart."""
    row = sql.execute("SELECT model, model_config FROM sessions WHERE id = ?", (session_id,)).fetchone()
    config = sessions.config_of(row["model_config"])
    own = provider is None or provider == config.get("provider")
    base_url = str(config.get("base_url") or "") if own else ""
    return model or row["model"] or "unknown", provider or str(config.get("provider") or ""), base_url
