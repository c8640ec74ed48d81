"""Compaction: a summary in place of the older part of a conversation, and a tail kept as it is.

The ledger keeps everything; only what the model is sent changes. The tail never begins with a tool result, so no call
is cut from its result. A summary that fails, or that saves nothing, raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_adapter.agent.sizes import Sizes
from acp_adapter.agent.small_call import Charge, small_call
from acp_adapter.errors import ContextTooLong
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Message

FULL = 0.8
"""Share of the context window at which room is made before the next model call."""
TAIL = 0.25
"""Share of the window that the tail may take."""
UNKNOWN_WINDOW = 32_000
SUMMARY_TOKENS = 2_000
RESULT_CHARACTERS = 1_500
"""What of one tool result the summariser is shown."""
SHOWN = 2.5
"""Bytes for each token of the window that the summariser is shown: about six tenths of it."""
BEGINNING = 0.3
"""Share of what is shown that is from the beginning, where the middle is left out."""

SYSTEM = (
    "You summarise a conversation between a user and a coding agent, so that the agent can go on without it. Write "
    "what was asked, what was found out, what was done to which files, what was decided and why, what is open. Keep "
    "names, paths, numbers and exact wording that matter. Invent nothing. Answer with the summary alone."
)
HEADING = (
    "Summary of the conversation so far. Older messages were left out to save room; `recall` finds in them what the "
    "summary lacks:\n\n"
)


def is_full(used: int, window: int | None) -> bool:
    return window is not None and used > window * FULL


def tail_tokens(window: int | None) -> int:
    return int((window or UNKNOWN_WINDOW) * TAIL)


def split(messages: Sequence[Message], window: int | None, sizes: Sizes) -> int:
    """Where the tail begins. Raises ContextTooLong where there is nothing before it to summarise."""
    starts = [at for at, message in enumerate(messages) if message.role in ("user", "assistant") and at > 0]
    if not starts:
        raise ContextTooLong("There is nothing to compact yet.")
    earliest = _earliest(messages, tail_tokens(window), sizes)
    fitting = [at for at in starts if at >= earliest]
    asked = [at for at in fitting if messages[at].role == "user"]
    return (asked or fitting or starts[-1:])[0]


async def summarise(
    provider: Provider, messages: Sequence[Message], sizes: Sizes, charge: Charge, focus: str | None = None
) -> Message:
    """The messages' summary, as a user message that may stand in their place. Not part of any session.

    Raises ProviderError, and ContextTooLong for a summary that is empty or no shorter than what it stands for.
    """
    window = provider.card.context_window or UNKNOWN_WINDOW
    asked = rendered(messages, int(window * SHOWN))
    if focus:
        asked += f"\n\nPay special attention to: {focus}"
    most = min(SUMMARY_TOKENS, tail_tokens(window))
    text = await small_call(provider, SYSTEM, asked, max_tokens=most, task="compression", charge=charge)
    summary = Message(role="user", content=HEADING + text, details={"summary": True})
    if not text or sizes.of([summary]) > max(sizes.of(messages) // 2, 200):
        raise ContextTooLong("The model's summary saves no room. Start a new session, or choose another model.")
    return summary


def rendered(messages: Sequence[Message], most: int) -> str:
    """The conversation as text of at most so many bytes, about: its middle left out where it is longer.

    Its beginning is kept because a summary of what came still before stands there.
    """
    text = "\n\n".join(line for message in messages for line in _lines(message)).encode("utf-8", "replace")
    if len(text) <= most:
        return text.decode()
    first = int(most * BEGINNING)
    parts = text[:first], b"\n[\xe2\x80\xa6 the middle of the conversation is not shown]\n", text[first - most :]
    return b"".join(parts).decode("utf-8", "ignore")


def _earliest(messages: Sequence[Message], budget: int, sizes: Sizes) -> int:
    """The first position from which on all messages together fit the budget."""
    used = 0
    for at in range(len(messages) - 1, -1, -1):
        used += sizes.of([messages[at]])
        if used > budget:
            return at + 1
    return 0


def _lines(message: Message) -> Iterator[str]:
    text = message.text()
    if message.role == "tool":
        yield f"RESULT of {message.tool_name}: {text[:RESULT_CHARACTERS]}"
    elif text:
        yield f"{message.role.upper()}: {text}"
    for call in message.calls():
        yield f"CALL {call.name} {call.arguments[:RESULT_CHARACTERS]}"
