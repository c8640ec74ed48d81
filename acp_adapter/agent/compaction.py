"""Compaction: a summary in place of the older part of a conversation, and a tail kept as it is.

The ledger keeps everything; only what the model is sent changes. The tail never begins with a tool result, so no call
is cut from its result. A summary that fails, or that saves nothing, raises: nothing is tried again by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing

from acp_adapter.errors import ContextTooLong, ProviderError
from acp_adapter.providers.port import Completed, ModelRequest, Provider
from acp_adapter.transcript import Message

FULL = 0.8
"""Share of the context window at which the conversation is compacted before the next model call."""
TAIL = 0.25
"""Share of the window that the tail may take."""
UNKNOWN_WINDOW = 32_000
SUMMARY_TOKENS = 2_000
RESULT_CHARACTERS = 1_500
"""What of one tool result the summariser is shown."""

SYSTEM = (
    "You summarise a conversation between a user and a coding agent, so that the agent can go on without it. Write "
    "what was asked, what was found out, what was done to which files, what was decided and why, what is open. Keep "
    "names, paths, numbers and exact wording that matter. Invent nothing. Answer with the summary alone."
)
HEADING = "Summary of the conversation so far (older messages were left out to save room):\n\n"


def tokens(messages: Sequence[Message]) -> int:
    """A rough count, about four characters a token; images count as a thousand."""
    return sum(_size(message) for message in messages)


def is_full(used: int, window: int | None) -> bool:
    return window is not None and used > window * FULL


def split(messages: Sequence[Message], window: int | None) -> int:
    """Where the tail begins. Raises ContextTooLong where there is nothing before it to summarise."""
    budget = int((window or UNKNOWN_WINDOW) * TAIL)
    starts = [at for at, message in enumerate(messages) if message.role in ("user", "assistant") and at > 0]
    fitting = [at for at in starts if tokens(messages[at:]) <= budget]
    asked = [at for at in fitting if messages[at].role == "user"]
    if not starts:
        raise ContextTooLong("There is nothing to compact yet.")
    return (asked or fitting or starts[-1:])[0]


async def summarise(provider: Provider, messages: Sequence[Message], focus: str | None = None) -> Message:
    """The messages' summary, as a user message that may stand in their place. Not part of any session.

    Raises ProviderError, and ContextTooLong for a summary that is empty or no shorter than what it stands for.
    """
    window = provider.card.context_window or UNKNOWN_WINDOW
    asked = _rendered(messages, characters=int(window * 2.5))
    if focus:
        asked += f"\n\nPay special attention to: {focus}"
    request = ModelRequest(SYSTEM, [Message(role="user", content=asked)], max_tokens=SUMMARY_TOKENS)
    text = (await _answer(provider, request)).message.text().strip()
    summary = Message(role="user", content=HEADING + text, details={"summary": True})
    if not text or tokens([summary]) > max(tokens(messages) // 2, 200):
        raise ContextTooLong("The model's summary saves no room. Start a new session, or choose another model.")
    return summary


async def _answer(provider: Provider, request: ModelRequest) -> Completed:
    async with aclosing(provider.stream(request)) as events:
        async for event in events:
            if isinstance(event, Completed):
                return event
    raise ProviderError("The model gave no summary.")


def _size(message: Message) -> int:
    content = message.content if message.api_content is None else message.api_content
    if isinstance(content, list):
        characters = sum(len(part["text"]) if part.get("type") == "text" else 4_000 for part in content)
    else:
        characters = len(content or "")
    calls = len(json.dumps(message.tool_calls)) if message.tool_calls else 0
    return (characters + calls) // 4 + 8


def _rendered(messages: Sequence[Message], characters: int) -> str:
    """The conversation as text, its oldest part left out where it is longer than `characters`."""
    text = "\n\n".join(line for message in messages for line in _lines(message))
    return text if len(text) <= characters else "[…]\n" + text[-characters:]


def _lines(message: Message) -> Iterator[str]:
    text = message.text()
    if message.role == "tool":
        yield f"RESULT of {message.tool_name}: {text[:RESULT_CHARACTERS]}"
    elif text:
        yield f"{message.role.upper()}: {text}"
    for call in message.calls():
        yield f"CALL {call.name} {call.arguments[:RESULT_CHARACTERS]}"
