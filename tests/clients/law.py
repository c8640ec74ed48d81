"""A law over every test: what is replayed of a session is what its editor was shown of it live.

At the end of a test the ledger is read, and each session that a client saw is told again as a load would tell that
very client: messages, thoughts, calls, plans, compactions. What stands (title, mode, model, effort) must be in the
ledger as the client last heard of it. What may differ, and nothing else:

    a command's own answer         is no part of the conversation, and neither is the command; `/retry` stands for the
                                   prompt that it asks again
    what was taken back            is compared all the same, at its place, from the rows that are kept of it; of a
                                   client that loaded the session, what it was shown then or what came later
    what hangs on a user's text    (annotations, unknown fields) is not kept
    a notice in words              is a live event, and so is a compaction that failed (see `fold.differences`)
    a terminal                     lives no longer; the replay has its output (see `fold.differences`)
    a sign-in that is missing      is told in words beside the error, so that no editor stays silent
    what was before                a client that resumed or forked a session is shown only what comes then
    what came afterwards           when another agent went on with the session, or this one was killed in a turn, is not
                                   shown; all that was shown before is compared

Not judged is a session that another agent wrote to while this client was there (it is shown what the other wrote when
it next takes a turn), and one of `client.unseen`, where the test says why.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_adapter.acp.converter import structure, unstructure
from acp_adapter.acp.types import InitializeRequest
from acp_adapter.acp.updates import Presents, updates_of
from acp_adapter.agent.models import Wanted
from acp_adapter.agent.projection import events_of
from acp_adapter.errors import AcpAdapterError
from acp_adapter.ledger import messages, tree
from acp_adapter.ledger.attachments import Reader
from acp_adapter.ledger.db import SessionDB
from acp_adapter.transcript import Message
from tests.clients import seen
from tests.clients.fold import differences
from tests.clients.raw import RawClient

Update = dict[str, Any]


def breaches(ledger: Path, clients: Sequence[RawClient]) -> Iterator[str]:
    """Where a replay differs from what was shown live, a line each."""
    if not ledger.exists():
        return
    with closing(SessionDB.open(ledger, read_only=True)) as db, closing(_rows(ledger)) as sql:
        for number, client in enumerate(clients, 1):
            for session in client.live:
                others = _writers(client, session, clients)
                alone = all(other.frames[0].at > client.frames[-1].at for other in others)
                if alone and session not in client.unseen:
                    found = _Judged.of(db, sql, client, session, went_on=bool(others))
                    yield from (f"agent {number}, {session[:8]}: {line}" for line in found.differences())


def replayed(stored: Iterable[Message], client: RawClient) -> list[Update]:
    """What a load tells this client of these messages."""
    offers = {"protocolVersion": 1, "clientCapabilities": client.editor.offers}
    presents = Presents.of(structure(offers, InitializeRequest).client_capabilities)
    told = [update for event in events_of(stored) for update in updates_of(event, presents)]
    return list(json.loads(json.dumps([unstructure(update) for update in told])))


@frozen
class _Judged:
    """One session as one client saw it, to its end or not. `standing` is what the ledger says of it, None where it is
    not there."""

    client: RawClient
    session: str
    exchanged: list[seen.Exchange]
    stored: list[Message]
    standing: dict[str, Any] | None
    to_its_end: bool

    @classmethod
    def of(cls, db: SessionDB, sql: sqlite3.Connection, client: RawClient, session: str, went_on: bool) -> _Judged:
        exchanged = seen.exchanges(client, session)
        try:
            stored, row, title = db.replay(session), db.current(session), db.title(session)
        except AcpAdapterError:
            return cls(client, session, exchanged, [], None, False)  # deleted since, or never stored
        wanted = Wanted(row.model_config.get("provider"), row.model, row.model_config.get("base_url"))
        chosen = {name: row.model_config.get(name) for name in ("mode", "effort")}
        standing = {"title": title, "model": wanted.name or "auto", **chosen}
        gone = [
            message for message in _taken_back(sql, session, stored) if seen.was_there_for(client, session, message)
        ]
        whole = sorted([*stored, *gone], key=lambda message: message.row or 0) if gone else stored
        return cls(client, session, exchanged, whole, standing, not went_on and not client.process.code)

    def differences(self) -> Iterator[str]:
        if self.standing is None:
            return
        told = replayed(self.stored, self.client)
        begun = self.client.open_turns(self.session)
        joined = not seen.saw_the_beginning(self.exchanged, self.session)
        yield from differences(self._conversation(told, begun), told, joined, broken_off=not self.to_its_end)
        if self.to_its_end:
            yield from self._told_otherwise(self.standing)

    def _conversation(self, told: Sequence[Update], begun: set[str]) -> list[Update]:
        """What was shown live, without a turn that has no end, commands, their answers, and words about a sign-in."""
        live = self.client.live[self.session]
        end = next((at for at, update in enumerate(live) if update.get("messageId") in begun), len(live))
        known = {update.get("messageId") for update in told}
        spoken = seen.answers_of_commands(self.exchanged) - known
        if any(each.wants_sign_in for each in self.exchanged if each.method == "session/prompt"):
            spoken |= {u["messageId"] for u in live if u["sessionUpdate"] == "agent_message_chunk"} - known
        kept = [update for update in live[:end] if update.get("messageId") not in spoken]
        return list(_without_commands(kept, {_text(update) for update in told if _is_users(update)}))

    def _told_otherwise(self, standing: dict[str, Any]) -> Iterator[str]:
        heard: dict[str, Any] = seen.options_told(self.client, self.session, self.exchanged)
        heard = {name: value for name, value in heard.items() if (name, value) != ("effort", "default")}
        if mode := seen.last(self.client, self.session, "current_mode_update"):
            heard["mode"] = mode["currentModeId"]
        if "title" in (info := seen.last(self.client, self.session, "session_info_update")):
            heard["title"] = info["title"]
        for name, value in heard.items():
            if value != standing[name]:
                yield f"the {name} it heard of is {value!r}, the ledger has {standing[name]!r}"


def _without_commands(live: Iterable[Update], prompts: Collection[str]) -> Iterator[Update]:
    """A user's text that begins with a slash and is none of the `prompts` is a command, with all that hangs on it."""
    question: list[Update] = []
    command = ""
    for update in live:
        if not _is_users(update):
            yield update
        elif _text(update).strip() == "/retry":
            yield from ({**part, "messageId": update["messageId"]} for part in question)
        elif _text(update).lstrip().startswith("/") and _text(update) not in prompts:
            command = update["messageId"]
        elif update["messageId"] != command:
            bare = {**update, "content": _bare(update["content"])}
            question = [*(part for part in question if part["messageId"] == update["messageId"]), bare]
            yield bare


def _writers(client: RawClient, session: str, clients: Sequence[RawClient]) -> list[RawClient]:
    """The other clients that asked something in the session after this one had come."""
    later = [other for other in clients if other is not client and other.frames[-1].at > client.frames[0].at]
    return [other for other in later if any(e.method == "session/prompt" for e in seen.exchanges(other, session))]


def _taken_back(sql: sqlite3.Connection, session: str, stored: Sequence[Message]) -> list[Message]:
    """The messages of the session that nothing shows any more."""
    known, gone = {message.id for message in stored}, list[Message]()
    for node in tree.chain(sql, session):
        rows = sql.execute(f"{messages.SELECT} WHERE m.session_id = ? AND m.active = 0 AND m.compacted = 0", (node,))
        gone += [message for message in messages.of_rows(rows, Reader(sql)) if message.id not in known]
    return gone


def _rows(ledger: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def _is_users(update: Update) -> bool:
    return bool(update["sessionUpdate"] == "user_message_chunk")


def _text(update: Update) -> str:
    return str(update["content"].get("text", ""))


def _bare(block: dict[str, Any]) -> dict[str, Any]:
    """A text as it is kept: what an editor may hang on it is not."""
    return {"type": "text", "text": block["text"]} if block.get("type") == "text" else block
