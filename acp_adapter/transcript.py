"""A conversation, whole: Message, and Transcript with the one write path into the ledger.

A Message keeps everything that a provider needs to be fed back (tool calls, reasoning, opaque provider
items) and everything that an editor was shown (`details`), so that a stored session can be continued,
replayed, searched and exported. The field names are those of the ledger's columns.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import operator
import time
import uuid
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

from attrs import evolve, field, frozen

from acp_adapter.errors import InvalidParams, LedgerError

T = TypeVar("T")

Role = Literal["system", "user", "assistant", "tool"]
Part = dict[str, Any]
"""One OpenAI content part (`text`, `image_url`, `input_audio`, …) or one ACP `resource`/`resource_link` block."""
Content = str | list[Part]
"""What a message holds: plain text, or parts in order."""


def new_id() -> str:
    return str(uuid.uuid4())


@frozen
class Usage:
    """Tokens of one model call, as the provider counted them: `input_tokens` is the whole prompt, what came from
    the provider's cache included, and `output_tokens` the whole answer, its reasoning included. `cost` is in US
    dollars, None where unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None


@frozen
class ToolCall:
    """A view of one entry of `Message.tool_calls`. `arguments` is the model's own text, perhaps not JSON."""

    id: str
    name: str
    arguments: str

    @classmethod
    def of(cls, raw: dict[str, Any]) -> ToolCall:
        function = raw.get("function") or {}
        arguments = function.get("arguments", "")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return cls(str(raw.get("id", "")), str(function.get("name", "")), text)

    def raw(self) -> dict[str, Any]:
        """The OpenAI form, as it is stored."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@frozen
class Message:
    """One stored message. Once it is in the ledger only `api_content` may change; `row` is None until then.

    `id` is the stable ACP `messageId` (column `platform_message_id`; rows without one are `row-<n>`).
    `content` is what the user or model wrote; `api_content` is what the model is sent in its place, where the two
    differ (an expanded resource link, a result cut short to save room). `details` is what the editor was shown of a
    tool call beyond its text: title, kind, status, locations, content, duration (see `acp_adapter.agent.projection`).
    """

    role: Role
    content: str | list[Part] | None = None
    id: str = field(factory=new_id)
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    finish_reason: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[Any] | None = None
    codex_reasoning_items: list[Any] | None = None
    codex_message_items: list[Any] | None = None
    api_content: str | list[Part] | None = None
    timestamp: float = field(factory=time.time)
    token_count: int | None = None
    details: dict[str, Any] | None = None
    row: int | None = None
    active: bool = True
    compacted: bool = False

    def calls(self) -> list[ToolCall]:
        return [ToolCall.of(raw) for raw in self.tool_calls or ()]

    def text(self) -> str:
        """The text of `content`, its parts joined; empty for a message that has none."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.get("text", "") for part in self.content or () if part.get("type") == "text")


def common_beginning(one: Sequence[Message], other: Sequence[Message]) -> int:
    """How many messages at the beginning of both are the very same objects."""
    if all(map(operator.is_, one, other)):
        return min(len(one), len(other))
    return next(at for at, (mine, its) in enumerate(zip(one, other, strict=False)) if mine is not its)


class Store(Protocol):
    """Where a Transcript puts its messages; the ledger implements it. All methods raise LedgerError."""

    async def append(self, session_id: str, messages: Sequence[Message], usage: Usage | None) -> list[int]:
        """Store all messages in one transaction, count them and `usage`, drop the draft; their row ids."""
        ...

    async def save_draft(self, session_id: str, message: Message) -> None:
        """Remember a message that is still being streamed, or that waits for its place, so that a killed process
        loses at most a tail."""
        ...

    async def compress(self, session_id: str, summary: Message, tail: Sequence[Message]) -> list[Message]:
        """Go on with the summary and the tail; all that was stored stays. The messages to go on with."""
        ...

    async def rewind(self, session_id: str, message_id: str) -> None:
        """Take that message and all after it out of the conversation; they are marked, not deleted."""
        ...

    async def trim(self, session_id: str, replacements: Mapping[str, str]) -> None:
        """Set the `api_content` of messages of the conversation: message id → text."""
        ...

    async def charge(
        self, session_id: str, usage: Usage, *, task: str, model: str | None = None, provider: str | None = None
    ) -> None:
        """Count a model call that is no part of the conversation; `task` says what it was for."""
        ...

    async def call_ids(self, session_id: str) -> set[str]:
        """The ids of all tool calls with a result that the conversation ever had."""
        ...


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end even if the caller is cancelled meanwhile; only then does the cancellation go on.

    For everything where memory and the ledger must agree afterwards.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as stop:
            if task.cancelled():
                raise
            cancelled = stop
        except Exception:  # noqa: BLE001  (the task keeps it; it is raised below, after a pending cancellation)
            break
    if cancelled is not None:
        task.exception()
        raise cancelled
    return task.result()


class Transcript:
    """The messages of one session in order, stored before they are remembered.

    With `store=None` nothing is kept: helper calls (titles, summaries) are not part of a session.
    """

    def __init__(self, session_id: str, store: Store | None, messages: Sequence[Message] = ()) -> None:
        self.session_id = session_id
        self.messages: list[Message] = list(messages)
        self._store = store
        self._unsaved: list[tuple[tuple[Message, ...], Usage | None]] = []
        self._lock = asyncio.Lock()

    @property
    def unsaved(self) -> int:
        """How many messages are in memory only because the ledger refused them."""
        return sum(len(batch) for batch, _ in self._unsaved)

    async def append(self, *messages: Message, usage: Usage | None = None) -> None:
        """Store the messages in one transaction, then remember them, in the order of the calls.

        Raises LedgerError when they could only be remembered: nothing is lost in memory, the next append or
        flush tries again in the same order, and the caller must tell the user.
        """
        await uninterrupted(self._append(messages, usage))

    async def flush(self) -> None:
        """Store what could not be stored before, oldest first. Raises LedgerError."""
        await uninterrupted(self._flush())

    async def draft(self, message: Message) -> None:
        """Store a message that is still streaming. A failure here is left to the append that follows."""
        if self._store and not self._unsaved:
            with contextlib.suppress(LedgerError):
                await uninterrupted(self._store.save_draft(self.session_id, message))

    async def hold(self, message: Message) -> None:
        """Store a message whose place is not known yet; the append that follows puts it there. Raises LedgerError."""
        if self._store:
            await uninterrupted(self._store.save_draft(self.session_id, message))

    async def compress(self, summary: Message, tail: Sequence[Message]) -> None:
        """Go on with `summary` and `tail`, which are messages of this transcript. Raises LedgerError: unchanged."""
        await uninterrupted(self._compress(summary, tail))

    async def rewind(self, message_id: str) -> list[Message]:
        """Take that message and all after it out of the conversation; what was taken out.

        Raises LedgerError, and InvalidParams for a message that is not in it: nothing has changed then.
        """
        return await uninterrupted(self._rewind(message_id))

    async def trim(self, replacements: Mapping[str, str]) -> None:
        """Let the model be sent these texts in place of these messages from now on: message id → text.

        Raises LedgerError, and InvalidParams for a message that is not in the transcript: nothing has changed then.
        """
        await uninterrupted(self._trim(replacements))

    async def call_ids(self) -> set[str]:
        """The ids of the conversation's tool calls, compacted and rewound ones too; what the ledger can't tell now is
        left out."""
        with contextlib.suppress(LedgerError):
            return await self._store.call_ids(self.session_id) if self._store else set()
        return set()

    async def charge(self, usage: Usage, *, task: str, model: str | None = None, provider: str | None = None) -> None:
        """Count a model call that is no part of the conversation; `task` says what it was for. Raises LedgerError."""
        if self._store:
            charged = self._store.charge(self.session_id, usage, task=task, model=model, provider=provider)
            await uninterrupted(charged)

    async def _append(self, messages: tuple[Message, ...], usage: Usage | None) -> None:
        async with self._lock:
            self._unsaved.append((messages, usage))
            try:
                await self._save()
            except LedgerError:
                self.messages += messages
                raise

    async def _compress(self, summary: Message, tail: Sequence[Message]) -> None:
        async with self._lock:
            await self._save()
            kept = [summary, *tail]
            self.messages = await self._store.compress(self.session_id, summary, tail) if self._store else kept

    async def _rewind(self, message_id: str) -> list[Message]:
        async with self._lock:
            await self._save()
            at = next((at for at, message in enumerate(self.messages) if message.id == message_id), None)
            if at is None:
                raise InvalidParams(f"There is no message {message_id!r} in what the model is sent.")
            if self._store:
                await self._store.rewind(self.session_id, message_id)
            kept, gone = self.messages[:at], self.messages[at:]
            self.messages = kept
            return gone

    async def _trim(self, replacements: Mapping[str, str]) -> None:
        async with self._lock:
            await self._save()
            unknown = replacements.keys() - {message.id for message in self.messages}
            if unknown:
                raise InvalidParams(f"There is no message {min(unknown)!r} in what the model is sent.")
            if self._store:
                await self._store.trim(self.session_id, replacements)
            self.messages = [
                evolve(message, api_content=replacements[message.id]) if message.id in replacements else message
                for message in self.messages
            ]

    async def _flush(self) -> None:
        async with self._lock:
            await self._save()

    async def _save(self) -> None:
        while self._unsaved:
            batch, usage = self._unsaved[0]
            rows: Sequence[int | None] = [None] * len(batch)
            if self._store:
                rows = await self._store.append(self.session_id, batch, usage)
            self._unsaved.pop(0)
            for message, row in zip(batch, rows, strict=True):
                self._remember(evolve(message, row=row))

    def _remember(self, message: Message) -> None:
        """Add a stored message, or give one that was remembered unsaved its row."""
        for at in range(len(self.messages) - 1, -1, -1):
            if self.messages[at].row is not None:
                break
            if self.messages[at].id == message.id:
                self.messages[at] = message
                return
        self.messages.append(message)
