"""A law over every test: what is replayed of a session is what its editor was shown of it live.

At the end of a test the ledger is read, and each session that a client saw from its beginning is told again as a load
would tell that very client. What may differ, and nothing else:

    a command's own answer         is no part of the conversation, and neither is the command
    what hangs on a user's text    (annotations, unknown fields) is not kept
    a notice in words              is a live event (see `fold.differences`)
    a terminal                     lives no longer; the replay has its output (see `fold.differences`)
    a sign-in that is missing      is told in words beside the error, so that no editor stays silent

A session is not judged where the editor can't have seen all of it: it resumed or forked it, its agent was killed,
another agent wrote to it meanwhile, or something was taken back.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from acp_adapter.acp.converter import structure, unstructure
from acp_adapter.acp.types import InitializeRequest
from acp_adapter.acp.updates import Presents, updates_of
from acp_adapter.agent.projection import events_of
from acp_adapter.errors import AcpAdapterError
from acp_adapter.ledger.db import SessionDB
from tests.clients.fold import differences
from tests.clients.raw import RawClient

Update = dict[str, Any]

AUTH_REQUIRED = -32000


def breaches(ledger: Path, clients: Sequence[RawClient]) -> Iterator[str]:
    """Where a replay differs from what was shown live, a line each."""
    if not ledger.exists():
        return
    with closing(SessionDB.open(ledger, read_only=True)) as db:
        for number, client in enumerate(clients, 1):
            for session in client.live:
                if _saw_all(client, session, clients) and not _taken_back(ledger, session):
                    yield from (f"agent {number}, {session[:8]}: {line}" for line in _differences(db, client, session))


def _differences(db: SessionDB, client: RawClient, session: str) -> list[str]:
    try:
        stored = db.replay(session)
    except AcpAdapterError:
        return []  # deleted since, or never stored
    offers = {"protocolVersion": 1, "clientCapabilities": client.editor.offers}
    presents = Presents.of(structure(offers, InitializeRequest).client_capabilities)
    told = [update for event in events_of(stored) for update in updates_of(event, presents)]
    replayed: list[Update] = json.loads(json.dumps([unstructure(update) for update in told]))
    return differences(_conversation(client, session, replayed), replayed)


def _conversation(client: RawClient, session: str, replayed: Iterable[Update]) -> list[Update]:
    """What was shown live, without commands, their answers, and words about a sign-in."""
    replayed = list(replayed)
    known = {update.get("messageId") for update in replayed}
    asked = {_text(update) for update in replayed if update["sessionUpdate"] == "user_message_chunk"}
    answers = _answers_of_commands(client, session)
    kept, commands = [], set()
    for update in client.live[session]:
        name = update.get("messageId")
        if update["sessionUpdate"] == "user_message_chunk":
            if _text(update).lstrip().startswith("/") and _text(update) not in asked:
                commands.add(name)
            update = {**update, "content": _bare(update["content"])}
        ours = update["sessionUpdate"] == "agent_message_chunk" and name not in known
        if name not in commands and not (ours and (name in answers or _wants_sign_in(client, session))):
            kept.append(update)
    return kept


def _answers_of_commands(client: RawClient, session: str) -> set[Any]:
    """The ids of the messages that were shown while a command waited for its answer."""
    open_commands, found = set[Any](), set[Any]()
    for frame in client.frames:
        data = frame.data if isinstance(frame.data, dict) else {}
        params = _params(frame) if data else {}
        if frame.sent and data.get("method") == "session/prompt" and params.get("sessionId") == session:
            if str(_first_text(params)).lstrip().startswith("/"):
                open_commands.add(str(data.get("id")))
        elif not frame.sent and "method" not in data:
            open_commands.discard(str(data.get("id")))
        elif open_commands and params.get("sessionId") == session:
            found.add(params.get("update", {}).get("messageId"))
    return found - {None}


def _first_text(params: dict[str, Any]) -> Any:
    prompt = params.get("prompt")
    first = prompt[0] if isinstance(prompt, list) and prompt else {}
    return first.get("text", "") if isinstance(first, dict) else ""


def _text(update: Update) -> str:
    return str(update["content"].get("text", ""))


def _bare(block: dict[str, Any]) -> dict[str, Any]:
    """A text as it is kept: what an editor may hang on it is not."""
    return {"type": "text", "text": block["text"]} if block.get("type") == "text" else block


def _saw_all(client: RawClient, session: str, clients: Sequence[RawClient]) -> bool:
    """From its beginning to its end: it made or loaded the session, and nobody else wrote to it meanwhile."""
    made = any(frame.data["result"]["sessionId"] == session for frame in _answers(client, "session/new"))
    loaded = any(_params(frame).get("sessionId") == session for frame in _sent(client, "session/load"))
    if not (made or loaded) or client.process.code != 0 or session in client.unseen:
        return False
    began = client.frames[0].at
    writers = [other for other in clients if other is not client and _prompted(other, session)]
    return all(other.frames[-1].at < began for other in writers)


def _prompted(client: RawClient, session: str) -> bool:
    return any(_params(frame).get("sessionId") == session for frame in _sent(client, "session/prompt"))


def _sent(client: RawClient, method: str) -> list[Any]:
    return [f for f in client.frames if f.sent and isinstance(f.data, dict) and f.data.get("method") == method]


def _answers(client: RawClient, method: str) -> Iterator[Any]:
    ids = [frame.data.get("id") for frame in _sent(client, method)]
    for frame in client.frames:
        answers = not frame.sent and isinstance(frame.data, dict) and frame.data.get("id") in ids
        result = frame.data.get("result") if answers else None
        if isinstance(result, dict) and "sessionId" in result:
            yield frame


def _params(frame: Any) -> dict[str, Any]:
    params = frame.data.get("params") if isinstance(frame.data, dict) else None
    return params if isinstance(params, dict) else {}


def _wants_sign_in(client: RawClient, session: str) -> bool:
    ids = [f.data.get("id") for f in _sent(client, "session/prompt") if _params(f).get("sessionId") == session]
    return any(
        not frame.sent
        and isinstance(frame.data, dict)
        and frame.data.get("id") in ids
        and frame.data.get("error", {}).get("code") == AUTH_REQUIRED
        for frame in client.frames
    )


def _taken_back(ledger: Path, session: str) -> bool:
    query = "SELECT 1 FROM messages WHERE session_id = ? AND active = 0 AND compacted = 0"
    name = session.encode("utf-8", "replace").decode()
    with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query, (name,)).fetchone() is not None
