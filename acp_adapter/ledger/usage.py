"""Counters: kept by the writer, in the transaction that writes the messages they count.

In the file input tokens are those that no cache had a part in, as all programs that share it have it; a `Usage` counts
the whole prompt as input.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from attrs import frozen

from acp_adapter.ledger import sessions, tree
from acp_adapter.transcript import Message, Usage


@frozen
class Spent:
    """What a conversation has cost so far, helper calls included, and this local calendar day over all sessions, those
    deleted since included. Tokens are prompts and answers together; cost is in US dollars, of the calls whose price
    was known."""

    session_tokens: int
    session_cost: float
    day_tokens: int
    day_cost: float


@frozen
class Beside:
    """Model calls that a conversation had made beside its own: by its helpers, and for names, summaries and the like.
    Tokens are prompts and answers together."""

    helper_calls: int
    helper_tokens: int
    small_calls: int
    small_tokens: int


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
    f"INSERT INTO session_model_usage(session_id, model, billing_provider, billing_base_url, task, api_call_count, "
    f"{', '.join(_TOKENS)}, estimated_cost_usd, first_seen, last_seen) VALUES (?{', ?' * 13}) "
    "ON CONFLICT(session_id, model, billing_provider, billing_base_url, billing_mode, task) DO UPDATE SET "
    + ", ".join(
        f"{column} = {column} + excluded.{column}" for column in ("api_call_count", *_TOKENS, "estimated_cost_usd")
    )
    + ", last_seen = excluded.last_seen"
)

_COUNT_DAY = """
    INSERT INTO daily_usage(day, tokens, cost) VALUES (?, ?, ?)
    ON CONFLICT(day) DO UPDATE SET tokens = tokens + excluded.tokens, cost = cost + excluded.cost"""

_ALL_TOKENS = "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens"


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
    if usage:
        sql.execute(_COUNT_TOKENS, (*_stored(usage), usage.cost, usage.cost, session_id))
    _count_calls(sql, session_id, (*_maker(sql, session_id, model, provider), ""), api_calls, usage or Usage())


def charge(
    sql: sqlite3.Connection, session_id: str, usage: Usage, task: str, model: str | None, provider: str | None
) -> None:
    """See `SessionDB.charge`. The session's own counters are those of its conversation and stay as they are."""
    maker = (model or "unknown", provider or "", "", task)
    _count_calls(sql, tree.tip(sql, session_id), maker, 1, usage)


def spent(sql: sqlite3.Connection, session_id: str) -> Spent:
    """See `SessionDB.spent`."""
    nodes = tree.chain(sql, session_id)
    nodes += [helper for node in nodes for helper in tree.children(sql, node, "delegate")]
    totals = f"""SELECT coalesce(sum({_ALL_TOKENS}), 0), coalesce(sum(estimated_cost_usd), 0.0)
        FROM session_model_usage WHERE session_id IN ({", ".join("?" * len(nodes))})"""
    day = sql.execute("SELECT tokens, cost FROM daily_usage WHERE day = ?", (_today(),)).fetchone()
    return Spent(*sql.execute(totals, nodes).fetchone(), *(day or (0, 0.0)))


def beside(sql: sqlite3.Connection, session_id: str) -> Beside:
    """See `SessionDB.beside`."""
    nodes = tree.chain(sql, session_id)
    helpers = [helper for node in nodes for helper in tree.children(sql, node, "delegate")]
    return Beside(*_calls(sql, helpers, "1"), *_calls(sql, nodes, "task != ''"))


def _calls(sql: sqlite3.Connection, nodes: Sequence[str], which: str) -> tuple[int, int]:
    """How many model calls these nodes made, and their tokens."""
    totals = f"""SELECT coalesce(sum(api_call_count), 0), coalesce(sum({_ALL_TOKENS}), 0)
        FROM session_model_usage WHERE {which} AND session_id IN ({", ".join("?" * len(nodes))})"""
    calls, tokens = sql.execute(totals, nodes).fetchone()
    return calls, tokens


def _count_calls(
    sql: sqlite3.Connection, session_id: str, maker: tuple[str, str, str, str], calls: int, usage: Usage
) -> None:
    now, cost = time.time(), usage.cost or 0.0
    sql.execute(_COUNT_MODEL, (session_id, *maker, calls, *_stored(usage), cost, now, now))
    sql.execute(_COUNT_DAY, (_today(), usage.input_tokens + usage.output_tokens, cost))


def _stored(usage: Usage) -> list[int]:
    """The values of the columns _TOKENS."""
    from_caches = usage.cache_read_tokens + usage.cache_write_tokens
    return [max(0, usage.input_tokens - from_caches), *(getattr(usage, column) for column in _TOKENS[1:])]


def _today() -> str:
    return time.strftime("%Y-%m-%d")


def _maker(sql: sqlite3.Connection, session_id: str, model: str | None, provider: str | None) -> tuple[str, str, str]:
    """Model, provider and base URL, as the table of usage tells them apart."""
    row = sql.execute("SELECT model, model_config FROM sessions WHERE id = ?", (session_id,)).fetchone()
    config = sessions.config_of(row["model_config"])
    own = provider is None or provider == config.get("provider")
    base_url = str(config.get("base_url") or "") if own else ""
    return model or row["model"] or "unknown", provider or str(config.get("provider") or ""), base_url
