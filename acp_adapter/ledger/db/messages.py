"""Messages in SessionDB: appended, read for the model, read for the editor; what they cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from acp_adapter.ledger import drafts, history, trace, tree, trimming
from acp_adapter.ledger import usage as usages
from acp_adapter.ledger.db.access import Access, reads
from acp_adapter.ledger.trace import TracedCall
from acp_adapter.ledger.usage import Beside, Spent
from acp_adapter.transcript import Message, Usage


class Messages(Access):
    """What a conversation holds, and what it cost."""

    def append(
        self,
        session_id: str,
        new: Sequence[Message],
        usage: Usage | None = None,
        *,
        model: str | None = None,
        provider: str | None = None,
    ) -> list[int]:
        """Store messages at the end of the conversation, count them and `usage`, drop their drafts. Their rows.

        May be repeated after an unclear failure: a message id that is stored already is not stored again.
        `model` and `provider` say who made them, where that is not the session's own model.
        """
        return self._write(lambda sql: history.append(sql, session_id, new, usage, model, provider))

    def trim(self, session_id: str, replacements: Mapping[str, str]) -> None:
        """Set what the model is sent in place of active messages of the newest node: message id → text.

        The messages stay whole: replay, search and export show `content` as before. Raises InvalidParams for a
        message that the model is not sent; nothing has changed then.
        """
        self._write(lambda sql: trimming.trim(sql, session_id, replacements))

    def charge(
        self, session_id: str, usage: Usage, *, task: str, model: str | None = None, provider: str | None = None
    ) -> None:
        """Count a model call that is no part of the conversation: `task` says what for, as "title", "compression".

        It is in `spent` and in the usage by model, not in the session's counters. None means unknown.
        """
        self._write(lambda sql: usages.charge(sql, session_id, usage, task, model, provider))

    @reads
    def spent(self, session_id: str) -> Spent:
        """What the conversation and this day have cost so far. Under a millisecond, for a look before each call."""
        return self._read(lambda sql: usages.spent(sql, session_id))

    def beside(self, session_id: str) -> Beside:
        """What the conversation's helpers and small calls have used so far."""
        return self._read(lambda sql: usages.beside(sql, session_id))

    def save_draft(self, session_id: str, message: Message) -> None:
        """Keep a message that is still being streamed, apart from the history. See `recover`."""
        self._write(lambda sql: drafts.save(sql, tree.tip(sql, session_id), message))

    @reads
    def messages(self, session_id: str) -> list[Message]:
        """The active messages of that very node, in order."""
        return self._read(lambda sql: history.of_node(sql, session_id))

    @reads
    def conversation(self, session_id: str) -> list[Message]:
        """What the model is sent when the session goes on: the active messages of the newest node of its chain."""
        return self._read(lambda sql: history.of_node(sql, tree.tip(sql, session_id)))

    @reads
    def replay(self, session_id: str) -> list[Message]:
        """What the editor is shown: the whole conversation from the first message of its chain, in order.

        Compacted messages are in it (`compacted`), rewound ones are not; a summary that stands for compacted
        messages has `details["summary"]` set.
        """
        return self._read(lambda sql: history.of_conversation(sql, session_id))

    @reads
    def call_ids(self, session_id: str) -> set[str]:
        """The ids of all tool calls that got a result, compacted and rewound ones too."""
        return self._read(lambda sql: history.call_ids(sql, session_id))

    @reads
    def messages_after(self, session_id: str, row: int) -> list[Message]:
        """The active messages beyond that row in the newest node: what another process appended."""
        return self._read(lambda sql: history.of_node(sql, tree.tip(sql, session_id), after=row))

    @reads
    def conversation_if_changed(self, session_id: str, known: Sequence[Message]) -> list[Message] | None:
        """`conversation`, if it is not made of the stored messages `known`; None if it is.

        For a look before each turn: another process may have appended, rewound, compacted or trimmed meanwhile.
        Costs about a microsecond a message.
        """

        def compare(sql: sqlite3.Connection) -> list[Message] | None:
            tip = tree.tip(sql, session_id)
            return None if trimming.are_all(sql, tip, known) else history.of_node(sql, tip)

        return self._read(compare)

    @reads
    def tool_trace(self, session_id: str) -> list[TracedCall]:
        """Every tool call of the conversation with how it went."""
        return trace.traced(self.replay(session_id))
