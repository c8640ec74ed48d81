"""The Gate: whether a call runs, by mode and rules, and by the user's word where those say `ask`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from acp_adapter.agent.calls import Ruling, Workspace
from acp_adapter.agent.permissions import Choice, Decision, Mode, choices, decide
from acp_adapter.agent.rules_file import Rules
from acp_adapter.tools.port import Intent
from acp_adapter.transcript import ToolCall

NOT_ALLOWED = "The user did not allow this call. It was not run."


class Asker(Protocol):
    """Asks the user. None for anything but a valid choice: dismissed, failed, or silent too long."""

    async def __call__(self, call: ToolCall, intent: Intent, offered: Sequence[Choice]) -> Choice | None: ...


class Gate:
    """One session's gatekeeper. Fails closed: anything but a valid allow means that the call is not run."""

    def __init__(self, mode: Callable[[], Mode], workspace: Workspace, rules: Callable[[], Rules], ask: Asker) -> None:
        self._mode = mode
        self._workspace = workspace
        self._rules = rules
        self._ask = ask

    async def permit(self, call: ToolCall, intent: Intent) -> Ruling:
        return self.unasked(call, intent, self._mode()) or await self._by_user(call, intent)

    def unasked(self, call: ToolCall, intent: Intent, mode: Mode) -> Ruling | None:
        """What holds in that mode without the user's word; None where the user is to be asked."""
        decision = decide(mode, call.name, intent, self._workspace.roots, self._rules(), self._workspace.readable)
        if decision.verdict == "ask":
            return None
        refusal = None if decision.verdict == "allow" else decision.reason
        return Ruling(refusal, {"verdict": decision.verdict, **_decided(decision, mode)})

    def hiding(self, tool: str, asked: bool) -> Callable[[Path], bool]:
        return self._rules().book().hiding(tool, asked or self._mode() == "bypass")

    def reads(self, paths: Sequence[Path], passed: Sequence[Path]) -> bool:
        reading = Intent("", "read", "read", paths, passed=passed)
        workspace = self._workspace
        found = decide(self._mode(), "read_file", reading, workspace.roots, self._rules(), workspace.readable)
        return found.verdict == "allow"

    async def _by_user(self, call: ToolCall, intent: Intent) -> Ruling:
        offered = choices(call.name, intent, self._workspace.roots, self._rules())
        chosen = await self._ask(call, intent, offered)
        if chosen is None:
            return Ruling(NOT_ALLOWED, {"verdict": "reject", "by": "user", "choice": "none"})
        if chosen.rules:
            self._rules().remember(chosen.rules)
        verdict = "allow" if chosen.allows else "reject"
        record = {"verdict": verdict, "by": "user", "choice": chosen.id}
        return Ruling(None if chosen.allows else NOT_ALLOWED, record)


def _decided(decision: Decision, mode: Mode) -> dict[str, str]:
    return {"by": "rule", "rule": decision.rule.cited()} if decision.rule else {"by": "mode", "mode": mode}
