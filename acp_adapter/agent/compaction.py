"""Compaction: a summary in place of the older part of a conversation, and a tail kept as it is.

The ledger keeps everything; only what the model is sent changes. The tail never begins with a tool result, so no call
is cut from its result. A summary that fails, or that saves nothing, raises. Pure but for the one call of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from acp_adapter.agent.sizes import Sizes
from acp_adapter.agent.small_call import Charge, small_call
from acp_adapter.errors import ContextTooLong
from acp_adapter.providers.content import sent, text_of
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Message

FULL = 0.8
"""Share of the context window at which room is made before the next model call."""
LEAST = 0.125
"""Share of the window that a conversation has in any case, however much the instructions and tools take."""
TAIL = 0.25
"""Share of the window that the tail may take."""
UNKNOWN_WINDOW = 32_000
SUMMARY_TOKENS = 2_000
WORDS = 0.6
"""Words in a token, about."""
SAID, RESULT = 8_000, 1_500
"""Characters that the summariser is shown of what somebody said, and of a result or a call."""
SHOWN = 0.7
"""Share of the window that the conversation may take which the summariser is shown."""
BEGINNING = 0.3
"""Share of what is shown that is from the beginning, where the middle is left out."""
LEAST_SHOWN = 500
"""Tokens of a conversation that are worth asking for a summary."""
REQUEST = 4_000
"""Characters of the running request that are kept word for word."""

SYSTEM = (
    "You summarise a conversation between a user and a coding agent, so that the agent can go on without it. Write "
    "what was asked, what was found out, what was done to which files, what was decided and why, what is open. Keep "
    "names, paths, numbers and exact wording that matter. Carry over what an earlier summary says. Invent nothing. "
    "Answer with the summary alone."
)
HEADING = (
    "Summary of the conversation so far. Older messages were left out to save room; `recall` finds in them what the "
    "summary lacks:\n\n"
)
RUNNING = "\n\nThe request that is being worked on, in the user's own words:\n\n"


@frozen
class Shares:
    """How a window is shared out, in tokens: what a request may take, its parts beside the conversation, and what of
    the conversation goes into a summary and stays as a tail."""

    window: int
    limit: int
    beside: int
    summary: int
    tail: int

    @classmethod
    def of(cls, window: int, beside: int) -> Shares:
        limit = max(int(window * FULL), beside + int(window * LEAST))
        left = limit - beside
        return cls(window, limit, beside, min(SUMMARY_TOKENS, left // 4), min(int(window * TAIL), left // 2))


def split(messages: Sequence[Message], tail: int, sizes: Sizes) -> int:
    """Where a tail of so many tokens begins. Raises ContextTooLong where there is nothing before it to summarise."""
    starts = [at for at, message in enumerate(messages) if message.role in ("user", "assistant") and at > 0]
    if not starts:
        raise ContextTooLong("There is nothing to compact yet.")
    earliest = _earliest(messages, tail, sizes)
    fitting = [at for at in starts if at >= earliest]
    asked = [at for at in fitting if messages[at].role == "user"]
    return (asked or fitting or starts[-1:])[0]


async def summarise(
    provider: Provider,
    messages: Sequence[Message],
    shares: Shares,
    sizes: Sizes,
    charge: Charge,
    focus: str | None = None,
    running: str | None = None,
) -> Message:
    """The messages' summary, as a user message that may stand in their place. Not part of any session.

    `running` is the request that is being worked on, kept word for word. Raises ProviderError, and ContextTooLong for
    a summary that is empty, no shorter than what it stands for, or too long for its share of the window.
    """
    text = await _asked(provider, messages, shares, sizes, charge, focus)
    details = {"summary": True} | ({"request": running} if running else {})
    content = HEADING + text + (RUNNING + running if running else "")
    summary = Message(role="user", content=content, details=details)
    most = max(min(sizes.of(messages) // 2, shares.tail + shares.summary), 200)
    if not text or sizes.text(text) > most:
        fact = "The model's summary saves no room." if text else "The model gave no summary."
        raise ContextTooLong(f"{fact} Start a new session, or choose another model.")
    return summary


def running_request(messages: Sequence[Message], most: int) -> str | None:
    """The user's last message among these, or the one that a summary among them has kept, in so many characters."""
    for message in reversed(messages):
        if message.role == "user":
            kept = (message.details or {}).get("request")
            said = kept if is_summary(message) else text_of(sent(message))
            return shortened(said, most) if said else None
    return None


def is_summary(message: Message) -> bool:
    return bool((message.details or {}).get("summary"))


async def _asked(
    provider: Provider, messages: Sequence[Message], shares: Shares, sizes: Sizes, charge: Charge, focus: str | None
) -> str:
    """The summary's text. Asked for again, of half as much, where the model says that it was shown too much."""
    shown = int(shares.window * SHOWN)
    wish = f"\n\nUse at most {int(shares.summary * WORDS)} words."
    wish += f" Pay special attention to: {focus}" if focus else ""
    while True:
        text = rendered(messages, shown, sizes)
        try:
            return await small_call(
                provider, SYSTEM, text + wish, max_tokens=shares.summary, task="compression", charge=charge
            )
        except ContextTooLong:
            shown = min(shown, sizes.text(text)) // 2
            if shown < max(LEAST_SHOWN, shares.window * SHOWN / 8):
                raise


def rendered(messages: Sequence[Message], most: int, sizes: Sizes) -> str:
    """The conversation as text of at most so many tokens, about: its middle left out where it is longer.

    A summary of what came still before stands at its beginning, and is kept whole if it takes no more than half.
    """
    lines = [line for message in messages for line in _lines(message)]
    text = "\n\n".join(lines)
    tokens = sizes.text(text)
    if tokens <= most:
        return text
    data = text.encode("utf-8", "replace")
    kept = len(data) * most // tokens
    first = int(kept * BEGINNING)
    if is_summary(messages[0]):
        first = min(max(first, len(lines[0].encode("utf-8", "replace"))), kept // 2)
    parts = data[:first], b"\n[\xe2\x80\xa6 the middle of the conversation is not shown]\n", data[first - kept :]
    return b"".join(parts).decode("utf-8", "ignore")


def shortened(text: str, most: int) -> str:
    """Head and tail of a text, with a note of how much lies between."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:]}"


def _earliest(messages: Sequence[Message], budget: int, sizes: Sizes) -> int:
    """The first position from which on all messages together fit the budget."""
    used = 0
    for at in range(len(messages) - 1, -1, -1):
        used += sizes.of([messages[at]])
        if used > budget:
            return at + 1
    return 0


def _lines(message: Message) -> Iterator[str]:
    text = text_of(message.content)
    if message.role == "tool":
        yield f"RESULT of {message.tool_name}: {shortened(text, RESULT)}"
    elif is_summary(message):
        yield f"EARLIER SUMMARY: {text.removeprefix(HEADING)}"
    elif text:
        yield f"{message.role.upper()}: {shortened(text, SAID)}"
    for call in message.calls():
        yield f"CALL {call.name} {shortened(call.arguments, RESULT)}"
