"""What a rule of the referee may listen to. Every rule sees the same conversation, frame by frame, in order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from attrs import define, field

Fault = Callable[[str], None]


@define
class Asked:
    """A request of either side. `params` is an empty dict where the frame had none, or something else than that.

    `number` counts up: of two requests the earlier one has the smaller number.
    """

    id: Any
    method: str
    params: dict[str, Any]
    number: int = field(factory=count().__next__)

    @property
    def session(self) -> str:
        value = self.params.get("sessionId")
        return value if isinstance(value, str) else ""


@define
class Answer:
    """What came back: `result`, or `error` (a JSON-RPC error object) where it is not None."""

    result: Any
    error: dict[str, Any] | None

    @property
    def fields(self) -> dict[str, Any]:
        return self.result if isinstance(self.result, dict) else {}


class Prompts:
    """The prompts of each session that are not answered yet, oldest first: the first one's turn runs, others wait."""

    def __init__(self) -> None:
        self._open: dict[str, list[Asked]] = {}

    def running(self, session: str) -> bool:
        return bool(self._open.get(session))

    def asked(self, asked: Asked) -> None:
        if asked.method == "session/prompt":
            self._open.setdefault(asked.session, []).append(asked)

    def answered(self, asked: Asked) -> bool:
        """Note an answer; whether it ended a running turn, and not a prompt that waited behind it."""
        waiting = self._open.get(asked.session, [])
        if asked not in waiting:
            return False
        waiting.remove(asked)
        return not any(other.number < asked.number for other in waiting)


class Rule:
    """A rule overrides what it listens to, and calls `self.fault` with a sentence for each breach."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def client_asked(self, asked: Asked) -> None:
        """The client sent a request."""

    def client_told(self, method: str, params: dict[str, Any]) -> None:
        """The client sent a notification."""

    def client_answered(self, asked: Asked, answer: Answer) -> None:
        """The client answered a request of the agent."""

    def agent_asked(self, asked: Asked) -> None:
        """The agent sent a request."""

    def agent_told(self, method: str, params: dict[str, Any]) -> None:
        """The agent sent a notification other than `session/update`."""

    def agent_updated(self, session: str, kind: str, update: dict[str, Any]) -> None:
        """The agent sent a `session/update`."""

    def agent_answered(self, asked: Asked, answer: Answer) -> None:
        """The agent answered a request of the client."""
