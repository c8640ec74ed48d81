"""Only what the client offered is asked of it or shown to it, and what it lends is given back."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from tests.clients.checks.rule import Answer, Asked, Fault, Prompts, Rule

NEEDS = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/create": ("terminal",),
    "terminal/output": ("terminal",),
    "terminal/wait_for_exit": ("terminal",),
    "terminal/kill": ("terminal",),
    "terminal/release": ("terminal",),
    "elicitation/create": ("elicitation",),
    "session/request_permission": (),
}
SHOWN = {"notice": ("session", "notices"), "compaction_update": ("session", "compaction")}
PATHS = {"fs/read_text_file": "path", "fs/write_text_file": "path", "terminal/create": "cwd"}


class OnlyWhatIsOffered(Rule):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self._offered: dict[str, Any] = {}
        self._initialized = False

    def client_asked(self, asked: Asked) -> None:
        if asked.method == "initialize":
            self._offered = asked.params.get("clientCapabilities") or {}

    def agent_asked(self, asked: Asked) -> None:
        self._require_initialized(asked.method)
        if asked.method not in NEEDS or not self._offers(NEEDS[asked.method]):
            self.fault(f"{asked.method} is asked of a client that does not offer it")
        path = asked.params.get(PATHS.get(asked.method, ""))
        if path is not None and not PurePath(str(path)).is_absolute():
            self.fault(f"{asked.method} has the relative path {path!r}")

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        self._require_initialized(kind)
        if not self._offers(SHOWN.get(kind, ())):
            self.fault(f"{kind} is sent to a client that does not show it")
        self._check_options(update.get("configOptions"))

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        self._check_options(answer.fields.get("configOptions"))
        if asked.method != "initialize" or answer.error is not None:
            return
        self._initialized = True
        if answer.fields.get("protocolVersion") != 1:
            self.fault(f"the agent answers protocol version {answer.fields.get('protocolVersion')!r}, it speaks 1")
        terminal = any(method.get("type") == "terminal" for method in answer.fields.get("authMethods") or [])
        if terminal and not self._offers(("auth", "terminal")):
            self.fault("a terminal auth method is offered to a client that can't run it")

    def _require_initialized(self, what: str) -> None:
        if not self._initialized:
            self.fault(f"{what} comes before the answer to initialize")
            self._initialized = True

    def _check_options(self, options: Any) -> None:
        boolean = any(option.get("type") == "boolean" for option in options or ())
        if boolean and not self._offers(("session", "configOptions", "boolean")):
            self.fault("a boolean config option is shown to a client that knows none")

    def _offers(self, keys: tuple[str, ...]) -> bool:
        value: Any = self._offered
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value not in (None, False)


class TerminalsAreReleased(Rule):
    """A terminal is used by the session that made it, first shown while it lives, and released when its turn ends.

    What was shown before the release stays: a later update, which replaces a call's content, names it again.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self._open: dict[str, str] = {}
        self._shown: set[tuple[str, str]] = set()
        self._prompts = Prompts()

    def client_asked(self, asked: Asked) -> None:
        self._prompts.asked(asked)

    def client_answered(self, asked: Asked, answer: Answer) -> None:
        if asked.method == "terminal/create" and answer.fields.get("terminalId"):
            self._open[str(answer.fields["terminalId"])] = asked.session

    def agent_asked(self, asked: Asked) -> None:
        if not asked.method.startswith("terminal/") or asked.method == "terminal/create":
            return
        terminal = str(asked.params.get("terminalId"))
        if self._open.get(terminal) != asked.session:
            self.fault(f"{asked.method} names {terminal!r}, which is no open terminal of this session")
        if asked.method == "terminal/release":
            self._open.pop(terminal, None)

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        for shown in update.get("content") or () if kind.startswith("tool_call") else ():
            if shown.get("type") == "terminal":
                self._check_shown(session, kind, str(shown.get("terminalId")))

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        if self._prompts.answered(asked):
            for terminal in [name for name, session in self._open.items() if session == asked.session]:
                self.fault(f"terminal {terminal!r} was not released when the prompt was answered")
                del self._open[terminal]

    def _check_shown(self, session: str, kind: str, terminal: str) -> None:
        if self._open.get(terminal) == session:
            self._shown.add((session, terminal))
        elif (session, terminal) not in self._shown:
            self.fault(f"{kind} shows {terminal!r}, which is no open terminal of this session")
