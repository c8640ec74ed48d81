"""SessionDB: everything that may be done with the ledger, each thing in one transaction."""

from __future__ import annotations

import contextlib
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import EllipsisType
from typing import Any, TypeVar

from acp_adapter.errors import LedgerError
from acp_adapter.ledger import (
    branches,
    drafts,
    fulltext,
    history,
    leases,
    listing,
    opening,
    passages,
    salvage,
    search,
    sessions,
    trace,
    tree,
    trimming,
)
from acp_adapter.ledger import usage as usages
from acp_adapter.ledger.connection import Connection
from acp_adapter.ledger.faults import Damaged, Unexplained
from acp_adapter.ledger.leases import Lease
from acp_adapter.ledger.listing import Page
from acp_adapter.ledger.passages import FoundSession
from acp_adapter.ledger.search import Hit, Where
from acp_adapter.ledger.sessions import SessionRow
from acp_adapter.ledger.trace import TracedCall
from acp_adapter.ledger.usage import Spent
from acp_adapter.transcript import Message, Usage

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def reads(method: F) -> F:
    """Marks a method that a `Ledger` may run while another one waits to write."""
    method.lane = "reads"  # type: ignore[attr-defined]
    return method


def takes_long(method: F) -> F:
    """Marks a method for which neither reads nor writes should wait: seconds, in a large ledger."""
    method.lane = "long"  # type: ignore[attr-defined]
    return method


class SessionDB:
    """The ledger's file, open. For one thread at a time; `worker.Ledger` gives it a thread of its own.

    Every method is one transaction: what it says is on the disk when it returns, and nothing of it where it
    raises. All raise LedgerError (LedgerUnavailable names the cause), and SessionNotFound for an unknown id.
    A session id that was compacted away goes on working: what continues a conversation finds its newest node.
    `notices` are sentences for the user about what happened at opening. For care of the file see `care.Care`.
    """

    def __init__(
        self, connection: Connection, program: str, token: str | None = None, notices: Sequence[str] = ()
    ) -> None:
        self.connection = connection
        self.program = program
        self.token = token or uuid.uuid4().hex
        self.notices = list(notices)

    @classmethod
    def open(
        cls, path: Path, *, program: str = "acp-adapter", read_only: bool = False, token: str | None = None
    ) -> SessionDB:
        """Open the ledger, made new where there is none, brought up to date where it is older.

        A ledger of a newer schema, or one that may not be written, opens for reading only; a damaged one is kept
        aside and a new one made from what can be read; `notices` say so. `program` names us to other processes;
        `token` is given where several connections shall count as one holder of leases. Raises LedgerUnavailable.
        """
        connection, notices = opening.opened_read_only(path) if read_only else opening.opened(path)
        return cls(connection, program, token, notices)

    def close(self) -> None:
        """Give back our leases and close the file. May be called twice."""
        if not self.connection.closed:
            if self.connection.refusal is None:
                self.connection.write_if_possible(lambda sql: leases.release_all(sql, self.token))
            self.connection.close()

    # Sessions

    def create_session(
        self,
        session_id: str,
        *,
        source: str = "acp",
        model: str | None,
        model_config: Mapping[str, Any],
        cwd: str,
        system_prompt: str | None = None,
        parent: str | None = None,
        title: str | None = None,
    ) -> SessionRow:
        """A new session without messages. Raises InvalidParams when the id or the title is taken."""
        return self._write(
            lambda sql: sessions.create(
                sql,
                session_id,
                source=source,
                model=model,
                model_config=model_config,
                cwd=cwd,
                system_prompt=system_prompt,
                parent=parent,
                title=title,
            )
        )

    @reads
    def session(self, session_id: str) -> SessionRow:
        """That very node."""
        return self._read(lambda sql: sessions.get(sql, session_id))

    @reads
    def current(self, session_id: str) -> SessionRow:
        """The node where the conversation goes on: the newest of its chain."""
        return self._read(lambda sql: sessions.get(sql, tree.tip(sql, session_id)))

    @reads
    def chain(self, session_id: str) -> list[SessionRow]:
        """All nodes of the conversation, from the first to the newest."""
        return self._read(lambda sql: [sessions.get(sql, node) for node in tree.chain(sql, session_id)])

    def update_session(
        self,
        session_id: str,
        *,
        model: str | EllipsisType | None = ...,
        model_config: Mapping[str, Any] | None = None,
        system_prompt: str | EllipsisType | None = ...,
        title: str | EllipsisType | None = ...,
        cwd: str | None = None,
    ) -> SessionRow:
        """Change what is given, in the node where the conversation goes on; None clears model, prompt and title.

        Keys of `model_config` are merged in; a key of value None is taken out. `cwd` moves the session to another
        folder. Raises InvalidParams, naming the other session, for a title that is taken: see `next_title`.
        """
        return self._write(
            lambda sql: sessions.update(
                sql,
                tree.tip(sql, session_id),
                model=model,
                model_config=model_config,
                system_prompt=system_prompt,
                title=title,
                cwd=cwd,
            )
        )

    @reads
    def next_title(self, base: str) -> str:
        """A free title along a lineage: `base`, or `base #2`, `base #3`, …, at most 100 characters."""
        return self._read(lambda sql: sessions.next_title(sql, base))

    @reads
    def resolve(self, text: str) -> str:
        """The id that a person means by an id, a title, or the beginning of an id.

        Raises SessionNotFound, and InvalidParams where several conversations begin so.
        """
        return self._read(lambda sql: sessions.resolve(sql, text))

    @reads
    def list_sessions(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        sources: Sequence[str] | None = None,
        include_archived: bool = False,
    ) -> Page:
        """Conversations by newest activity, one entry a compression chain, branches too, sub-agents' not.

        `cwd` is a folder under any spelling. `cursor` is the `next_cursor` of the page before, with the same
        filter: any other raises InvalidParams.
        """
        chosen = listing.Filter(cwd, None if sources is None else tuple(sources), include_archived)
        return self._read(lambda sql: listing.page(sql, chosen, cursor, limit))

    # Messages

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

    def save_draft(self, session_id: str, message: Message) -> None:
        """Keep a message that is still being streamed, apart from the history. See `recover`."""
        self._write(lambda sql: drafts.save(sql, tree.tip(sql, session_id), message))

    def recover(self, session_id: str) -> list[Message]:
        """Give a conversation the end that a killed process could not, once, and return what was added.

        Open tool calls of the last step get their closing result; what was streamed becomes an assistant
        message with finish reason `interrupted`. Writes nothing where there is nothing to do, and nothing while
        another process runs the session.
        """

        def needed(sql: sqlite3.Connection) -> bool:
            return history.needs_recovery(sql, session_id) and not self._held_by_another(sql, session_id)

        def close_up(sql: sqlite3.Connection) -> list[Message]:
            return history.recover(sql, session_id) if needed(sql) else []

        if self.connection.refusal is not None or not self._read(needed):
            return []
        return self._write(close_up)

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

    # The tree

    def branch(
        self,
        session_id: str,
        new_id: str,
        *,
        upto_message_id: str | None = None,
        cwd: str | None = None,
        model: str | None = None,
        model_config: Mapping[str, Any] | None = None,
        source: str | None = None,
    ) -> SessionRow:
        """A new session that begins as a copy of the conversation up to that message, or of all of it.

        Message ids, details, model, mode and system prompt are kept; both sessions live on. Raises InvalidParams
        for a message that is not in the conversation.
        """
        return self._write(
            lambda sql: branches.branch(
                sql,
                session_id,
                new_id,
                upto=upto_message_id,
                cwd=cwd,
                model=model,
                model_config=model_config,
                source=source,
            )
        )

    def continue_compressed(
        self, session_id: str, new_id: str, summary: Message, tail: Sequence[Message]
    ) -> SessionRow:
        """Go on in a new node with the summary and copies of the tail; the old node ends, and keeps everything."""
        return self._write(lambda sql: branches.continue_compressed(sql, session_id, new_id, summary, tail))

    def undo(self, session_id: str, upto: str) -> list[Message]:
        """Rewind: the message `upto` and all after it are marked, not deleted. Returns them.

        Raises InvalidParams for a message that is not active in the newest node, and for its summary of older ones.
        """
        return self._write(lambda sql: branches.undo(sql, session_id, upto))

    def archive(self, session_id: str, archived: bool = True) -> None:
        """Hide the conversation from the list, or show it again."""
        self._write(lambda sql: branches.archive(sql, session_id, archived))

    @takes_long
    def delete_session(self, session_id: str) -> bool:
        """Delete the conversation with all its nodes, messages, drafts and index entries; its branches stay whole.

        False where there is no such session. The text is gone from the file and its write-ahead log afterwards.
        Raises TurnInProgress while another process runs the session.
        """

        def delete(sql: sqlite3.Connection) -> bool:
            held = leases.holder(sql, session_id)
            if held and held.token != self.token:
                raise leases.in_progress(held)
            return branches.delete(sql, session_id)

        gone = self._write(delete)
        if gone:
            self.connection.purge(fulltext.TABLES)
        return gone

    # Search

    @takes_long
    def search(
        self,
        text: str,
        *,
        role: str | None = None,
        session_id: str | None = None,
        source: str | None = None,
        cwd: str | None = None,
        since: float | None = None,
        newest_first: bool = False,
        limit: int = 20,
    ) -> list[Hit]:
        """The messages that hold every word of `text` (a quoted phrase as a phrase), the best first.

        All signs mean themselves. Scripts without blanks are found by any part, from one character up. Compacted
        messages are found and marked, rewound ones are not. `since` is in seconds since 1970. Raises InvalidParams
        where `text` is blank.
        """
        where = Where(role, session_id, source, cwd, since)

        def look() -> list[Hit]:
            if not self._read(fulltext.is_whole):
                self.fill_index()
            hits = self._read(lambda sql: search.find(sql, text, where, newest_first, limit))
            if not hits and not self._read(lambda sql: all(fulltext.answers(sql, table) for table in fulltext.TABLES)):
                raise Unexplained("The full-text index has lost messages.")
            return hits

        try:
            return look()
        except LedgerError as fault:
            if isinstance(fault, Unexplained):
                with contextlib.suppress(LedgerError):
                    self.rebuild_index()
                    return look()
        return self._read(lambda sql: search.find_without_index(sql, text, where, limit))

    @reads
    def passages(self, hits: Sequence[Hit], *, per_session: int = 3, context: int = 2) -> list[FoundSession]:
        """What `search` found, by session, with `context` messages before and after each hit."""
        return self._read(lambda sql: passages.by_session(sql, hits, per_session, context))

    @reads
    def around(self, row: int, before: int = 2, after: int = 2) -> list[Message]:
        """A message that a search found, between its neighbours."""
        return self._read(lambda sql: passages.around(sql, row, before, after))

    def rebuild_index(self, progress: Callable[[int], None] | None = None) -> None:
        """Make the full-text indexes anew. `progress` is told how many rows remain, now and then."""
        self.connection.write(fulltext.begin)
        self.fill_index(progress)

    def fill_index(self, progress: Callable[[int], None] | None = None) -> None:
        """Finish indexes that were begun, in transactions that let other writers in between."""
        if not self._read(fulltext.is_begun):
            self.connection.write(fulltext.begin)
        while remaining := self.connection.write(fulltext.fill):
            if progress:
                progress(remaining)

    # Leases

    def acquire(self, session_id: str) -> Lease:
        """Say that we run the session now. Raises TurnInProgress, naming the holder, while another process does."""
        return self._write(lambda sql: leases.acquire(sql, session_id, self.token, self.program))

    def renew(self, session_id: str) -> Lease:
        """A sign of life, due every quarter of `leases.EXPIRES_AFTER`. Raises TurnInProgress if the lease was lost."""
        return self.acquire(session_id)

    def release(self, session_id: str) -> None:
        self._write(lambda sql: leases.release(sql, session_id, self.token))

    @reads
    def holder(self, session_id: str) -> Lease | None:
        """Who runs the session, ours or another's; None where nobody does (a dead holder is nobody)."""
        return self._read(lambda sql: leases.holder(sql, session_id))

    @reads
    def tool_trace(self, session_id: str) -> list[TracedCall]:
        """Every tool call of the conversation with how it went."""
        return trace.traced(self.replay(session_id))

    def _held_by_another(self, sql: sqlite3.Connection, session_id: str) -> bool:
        held = leases.holder(sql, session_id)
        return held is not None and held.token != self.token

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self.watched():
            return self.connection.read(work)

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A damaged full-text index never stops a write.

        It shows in many ways, so what fails for no outer reason is tried once more with new, empty indexes, in one
        transaction: if that fails too, nothing has changed and the first failure was not theirs.
        """
        try:
            return self.connection.write(work)
        except Unexplained as fault:
            first = fault

        def with_new_indexes(sql: sqlite3.Connection) -> T:
            fulltext.begin(sql)
            return work(sql)

        with self.watched():
            with contextlib.suppress(Unexplained):
                return self.connection.write(with_new_indexes)
            raise first

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Damage that is met in here is looked into, and repaired, when the ledger is opened next."""
        try:
            yield
        except Damaged:
            salvage.suspect(self.connection.path)
            raise
