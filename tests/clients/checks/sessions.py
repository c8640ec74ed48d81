"""Who may hear of a session, and when a turn may speak."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import PurePath
from typing import Any

from tests.clients.checks.rule import Answer, Asked, Fault, Rule

ANY_TIME = {
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "notice",
}
"""The kinds of update that belong to the session rather than to a turn: they may come between turns too."""

OPENING = {"session/load", "session/resume"}


class KnownSessions(Rule):
    """Nothing is said about a session before the client knows its id, nor after it was closed or deleted."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self._known: set[str] = set()

    def client_asked(self, asked: Asked) -> None:
        if asked.method in OPENING | {"session/prompt"}:
            self._known.add(asked.session)

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        if asked.method in {"session/new", "session/fork"} and answer.error is None:
            self._known.add(str(answer.fields.get("sessionId")))
        unknown = answer.error is not None and answer.error.get("code") == -32002
        gone = answer.error is None and asked.method in {"session/close", "session/delete"}
        if unknown or gone:
            self._known.discard(asked.session)

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        if session not in self._known:
            self.fault(f"{kind} for session {session[:60]!r}, which the client does not know, or no longer")

    def agent_asked(self, asked: Asked) -> None:
        if asked.session not in self._known:
            self.fault(f"{asked.method} for session {asked.session[:60]!r}, which the client does not know")


class TurnsSpeakInTime(Rule):
    """What belongs to a turn comes between a prompt and its response; a replay before the load response.

    A resume replays nothing. Who answers `end_turn` has said something.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self._prompts: Counter[str] = Counter()
        self._opening: dict[str, Counter[str]] = {method: Counter() for method in OPENING}
        self._said: Counter[str] = Counter()

    def client_asked(self, asked: Asked) -> None:
        if asked.method == "session/prompt":
            self._prompts[asked.session] += 1
        elif asked.method in OPENING:
            self._opening[asked.method][asked.session] += 1

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        self._said[session] += kind not in ANY_TIME or kind == "notice"
        if kind in ANY_TIME or self._prompts[session] or self._opening["session/load"][session]:
            return
        resuming = " (a resume must not replay)" if self._opening["session/resume"][session] else ""
        self.fault(f"{kind} outside any turn of session {session[:60]!r}{resuming}")

    def agent_asked(self, asked: Asked) -> None:
        if not self._prompts[asked.session]:
            self.fault(f"{asked.method} outside any turn of session {asked.session[:60]!r}")

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        if asked.method in OPENING:
            self._opening[asked.method][asked.session] -= 1
        elif asked.method == "session/prompt":
            self._prompts[asked.session] -= 1
            said = self._said.pop(asked.session, 0)
            if answer.fields.get("stopReason") == "end_turn" and not said:
                self.fault("a prompt ended as end_turn although nothing was said or done")


class SessionsAreListedWell(Rule):
    """`session/list`: absolute folders, no session twice on a page, newest first, times in ISO 8601."""

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        if asked.method != "session/list" or answer.error is not None:
            return
        rows = answer.fields.get("sessions") or []
        if len({row["sessionId"] for row in rows}) != len(rows):
            self.fault("session/list shows a session twice")
        self.fault_if_relative(rows)
        times = [self._time(row["updatedAt"]) for row in rows if row.get("updatedAt")]
        if times != sorted(times, reverse=True):
            self.fault("session/list is not sorted by updatedAt, newest first")

    def fault_if_relative(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if not PurePath(row["cwd"]).is_absolute():
                self.fault(f"session/list shows the relative folder {row['cwd']!r}")

    def _time(self, text: str) -> float:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self.fault(f"updatedAt {text!r} is not an ISO 8601 time")
            return 0.0
        if moment.tzinfo is None:
            self.fault(f"updatedAt {text!r} has no time zone")
        return moment.timestamp()
