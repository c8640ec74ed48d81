"""Modes and config options: always a choice that exists, and one state under both names."""

from __future__ import annotations

from typing import Any

from tests.clients.checks.rule import Answer, Asked, Fault, Rule


def values(option: dict[str, Any]) -> list[str]:
    """The values that a select option offers, its groups opened."""
    found: list[str] = []
    for entry in option.get("options") or ():
        found += [inner["value"] for inner in entry["options"]] if "options" in entry else [entry["value"]]
    return found


class ChoicesExist(Rule):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self._modes: dict[str, set[str]] = {}

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        session = str(answer.fields.get("sessionId") or asked.session)
        modes, options = answer.fields.get("modes"), answer.fields.get("configOptions")
        if modes:
            self._check_modes(session, modes)
        self._check_options(session, options or [])
        mode = next((option for option in options or () if option.get("id") == "mode"), None)
        if modes and mode and mode.get("currentValue") != modes.get("currentModeId"):
            self.fault(f"the mode is {modes['currentModeId']!r} as a mode but {mode['currentValue']!r} as an option")

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        if kind == "current_mode_update":
            self._check_mode(session, update.get("currentModeId"))
        elif kind == "config_option_update":
            self._check_options(session, update.get("configOptions") or [])

    def _check_modes(self, session: str, modes: dict[str, Any]) -> None:
        ids = [mode["id"] for mode in modes["availableModes"]]
        if len(set(ids)) != len(ids):
            self.fault(f"a mode is offered twice: {ids}")
        self._modes[session] = set(ids)
        self._check_mode(session, modes["currentModeId"])

    def _check_mode(self, session: str, mode: Any) -> None:
        if session in self._modes and mode not in self._modes[session]:
            self.fault(f"the current mode {mode!r} is none of the offered ones")

    def _check_options(self, session: str, options: list[dict[str, Any]]) -> None:
        ids = [option.get("id") for option in options]
        if len(set(ids)) != len(ids):
            self.fault(f"a config option is shown twice: {ids}")
        for option in options:
            if option.get("type") == "select" and option.get("currentValue") not in values(option):
                self.fault(f"option {option['id']!r} has the value {option['currentValue']!r}, which it does not offer")
            if option.get("id") == "mode":
                self._check_mode(session, option.get("currentValue"))
