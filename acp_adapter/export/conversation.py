"""One conversation as it is taken out: what every format for people and for training is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import frozen

from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.sessions import SessionRow
from acp_adapter.pairing import paired
from acp_adapter.redaction import Redactor
from acp_adapter.transcript import Message, ToolCall


@frozen
class Conversation:
    """A whole chain from its first message, every call with its result directly after it, secrets taken out.

    `session` is its newest node. Rewound messages are not in it.
    """

    id: str
    title: str | None
    session: SessionRow
    system_prompt: str | None
    messages: list[Message]


@frozen
class Step:
    """A message, and the calls that it made with their results."""

    message: Message
    calls: Sequence[tuple[ToolCall, Message]]

    @property
    def is_summary(self) -> bool:
        """It stands for messages that are all there."""
        return bool((self.message.details or {}).get("summary"))


Write = Callable[[str], object]


def conversations(db: SessionDB, ids: Sequence[str], redactor: Redactor) -> Iterator[Conversation]:
    """One after the other: only one is in memory. Raises SessionNotFound for one that was deleted meanwhile."""
    for session_id in ids:
        chain = db.chain(session_id)
        yield Conversation(
            id=session_id,
            title=redactor.value(db.title(session_id)),
            session=chain[-1],
            system_prompt=redactor.value(chain[-1].system_prompt),
            messages=paired([redactor.message(message) for message in db.replay(session_id)]),
        )


def steps(conversation: Conversation) -> Iterator[Step]:
    messages = iter(conversation.messages)
    for message in messages:
        yield Step(message, [(call, next(messages)) for call in message.calls()])


def tool_title(call: ToolCall, result: Message) -> str:
    """What a person is told the call was."""
    return str((result.details or {}).get("title") or call.name or "tool")


def tool_status(result: Message) -> str:
    return str((result.details or {}).get("status", "completed"))
