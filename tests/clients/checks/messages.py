"""Message ids: on every chunk, one role each, one stretch each, one turn each, the same again in every replay."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from tests.clients.checks.rule import Answer, Asked, Fault, Prompts, Rule

ROLES = {"user_message_chunk": "user", "agent_message_chunk": "answer", "agent_thought_chunk": "thought"}


class MessageIdsAreStable(Rule):
    """`roles` outlives the connection: (session, messageId) → role, so that a restart is held to it too."""

    def __init__(self, fault: Fault, roles: MutableMapping[tuple[str, str], str]) -> None:
        super().__init__(fault)
        self._roles = roles
        self._current: dict[tuple[str, str], str] = {}
        self._finished: set[tuple[str, str]] = set()
        self._prompts = Prompts()

    def client_asked(self, asked: Asked) -> None:
        self._prompts.asked(asked)
        if asked.method == "session/load":
            self._forget(asked.session)

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        role = ROLES.get(kind)
        if role is None:
            return
        message_id = update.get("messageId")
        if not message_id or not isinstance(message_id, str):
            self.fault(f"{kind} has no messageId")
            return
        if self._roles.setdefault((session, message_id), role) != role:
            self.fault(f"messageId {message_id!r} is used for {self._roles[session, message_id]} and for {role}")
        if (session, message_id) in self._finished:
            self.fault(f"{kind} goes on with message {message_id!r}, which had ended")
        before = self._current.get((session, role))
        if before not in (None, message_id):
            self._finished.add((session, str(before)))
        self._current[session, role] = message_id

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        """The messages of a turn end with it, those of a replay with the load."""
        if self._prompts.answered(asked) or asked.method == "session/load":
            for role in ROLES.values():
                if ended := self._current.pop((asked.session, role), None):
                    self._finished.add((asked.session, ended))

    def _forget(self, session: str) -> None:
        self._finished = {entry for entry in self._finished if entry[0] != session}
        self._current = {entry: last for entry, last in self._current.items() if entry[0] != session}
