"""The life of a tool call: announced, pending → in_progress → completed | failed, closed when its turn is."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from attrs import define, field

from tests.clients.checks.rule import Answer, Asked, Fault, Prompts, Rule

NEXT = {
    "pending": {"pending", "in_progress", "failed"},
    "in_progress": {"in_progress", "completed", "failed"},
}
FINAL = {"completed", "failed"}


@define
class Call:
    """What has been shown of one call so far."""

    shown: dict[str, Any] = field(factory=dict)

    @property
    def status(self) -> str:
        return self.shown.get("status") or "pending"


class ToolCallsLive(Rule):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self._calls: dict[str, dict[str, Call]] = {}
        self._loading: set[str] = set()
        self._prompts = Prompts()

    def client_asked(self, asked: Asked) -> None:
        if asked.method == "session/load":
            self._loading.add(asked.session)
            self._calls[asked.session] = {}
        self._prompts.asked(asked)

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        calls = self._calls.setdefault(session, {})
        call_id = str(update.get("toolCallId"))
        if kind == "tool_call":
            self._announced(session, call_id, update)
        elif kind == "tool_call_update" and call_id not in calls:
            self.fault(f"tool_call_update for {call_id!r} before its tool_call")
        elif kind == "tool_call_update":
            self._changed(call_id, calls[call_id], update)

    def agent_asked(self, asked: Asked) -> None:
        if asked.method != "session/request_permission":
            return
        wanted = asked.params.get("toolCall") or {}
        call = self._calls.get(asked.session, {}).get(str(wanted.get("toolCallId")))
        if call is None and "title" not in wanted:
            self.fault(f"permission is asked for {wanted.get('toolCallId')!r}, which was never announced")
        shown = {**(call.shown if call else {}), **wanted}
        for key in ("title", "kind", "rawInput"):
            if shown.get(key) is None:
                self.fault(f"permission is asked for a call without {key}")
        if call and call.status in FINAL:
            self.fault(f"permission is asked for {wanted.get('toolCallId')!r}, which is {call.status} already")
        self._check_options(asked.params.get("options") or [])

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        if self._prompts.answered(asked):
            self._all_closed(asked.session, "its prompt was answered")
        elif asked.method == "session/load":
            self._loading.discard(asked.session)
            if not self._prompts.running(asked.session):
                self._all_closed(asked.session, "the load was answered")

    def _announced(self, session: str, call_id: str, update: dict[str, Any]) -> None:
        if call_id in self._calls[session]:
            self.fault(f"tool_call {call_id!r} is announced a second time")
        for key in ("title", "name", "kind"):
            if not update.get(key):
                self.fault(f"tool_call {call_id!r} has no {key}")
        if session not in self._loading and update.get("status") == "completed":
            self.fault(f"tool_call {call_id!r} is completed before it began")
        self._check_paths(call_id, update)
        self._calls[session][call_id] = Call(dict(update))

    def _changed(self, call_id: str, call: Call, update: dict[str, Any]) -> None:
        if call.status in FINAL:
            self.fault(f"tool call {call_id!r} changes after it was {call.status}")
        status = update.get("status") or call.status
        if call.status in NEXT and status not in NEXT[call.status]:
            self.fault(f"tool call {call_id!r} goes from {call.status} to {status}")
        self._check_paths(call_id, update)
        call.shown.update({key: value for key, value in update.items() if value is not None})

    def _check_paths(self, call_id: str, update: dict[str, Any]) -> None:
        places = [place.get("path") for place in update.get("locations") or []]
        places += [shown.get("path") for shown in update.get("content") or [] if shown.get("type") == "diff"]
        for path in places:
            if not PurePath(str(path)).is_absolute():
                self.fault(f"tool call {call_id!r} shows the relative path {path!r}")

    def _check_options(self, options: list[dict[str, Any]]) -> None:
        kinds = {option.get("kind") for option in options}
        if not {"allow_once", "reject_once"} <= kinds:
            self.fault(f"a permission request must offer allow_once and reject_once, not {sorted(map(str, kinds))}")
        if len({option.get("optionId") for option in options}) != len(options):
            self.fault("a permission request offers one optionId twice")

    def _all_closed(self, session: str, when: str) -> None:
        for call_id, call in self._calls.get(session, {}).items():
            if call.status not in FINAL:
                self.fault(f"tool call {call_id!r} is still {call.status} although {when}")
