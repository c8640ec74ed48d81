"""What one client asked and was answered about one session, read from the frames that went over its connection."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from acp_adapter.transcript import Message
from tests.clients.raw import Frame, RawClient

AUTH_REQUIRED = -32000


@define
class Exchange:
    """A request of the client's with its answer. `shown` are the session's updates that came between the two."""

    method: str
    params: dict[str, Any]
    answer: dict[str, Any] = field(factory=dict)
    shown: list[dict[str, Any]] = field(factory=list)

    @property
    def result(self) -> dict[str, Any]:
        return _object(self.answer.get("result"))

    @property
    def text(self) -> str:
        """The first text of a prompt."""
        prompt = self.params.get("prompt")
        first = prompt[0] if isinstance(prompt, list) and prompt else None
        return str(_object(first).get("text", ""))

    @property
    def wants_sign_in(self) -> bool:
        return _object(self.answer.get("error")).get("code") == AUTH_REQUIRED


def exchanges(client: RawClient, session: str) -> list[Exchange]:
    """Those about the session, in the order of the requests."""
    waiting, found = dict[str, Exchange](), list[Exchange]()
    for frame in client.frames:
        data = _object(frame.data)
        name = json.dumps(data.get("id"))
        if frame.sent and "method" in data and "id" in data:
            waiting[name] = Exchange(str(data["method"]), _object(data.get("params")))
            found.append(waiting[name])
        elif not frame.sent and "method" not in data and name in waiting:
            waiting.pop(name).answer = data
        elif not frame.sent and _object(data.get("params")).get("sessionId") == session:
            for exchange in waiting.values():
                exchange.shown.append(_object(data["params"].get("update")))
    return [each for each in found if session in (each.params.get("sessionId"), each.result.get("sessionId"))]


def saw_the_beginning(exchanged: list[Exchange], session: str) -> bool:
    """Whether the client made the session, or loaded it, before it saw anything else of it."""
    made = [each for each in exchanged if each.method == "session/new" and each.result.get("sessionId") == session]
    loaded = [each for each in exchanged if each.method == "session/load" and each.result]
    return bool(made or loaded)


def was_there_for(client: RawClient, session: str, message: Message) -> bool:
    """Whether the client, where it loaded the session, was shown the message then, or the message is newer."""
    loads = [frame.at for frame in client.frames if frame.sent and _loads(_object(frame.data), session)]
    age = time.monotonic() - max(loads, default=0.0)
    shown = {update.get(name) for update in client.live[session] for name in ("messageId", "toolCallId")}
    names = {message.id, message.tool_call_id, *(call.id for call in message.calls())}
    return message.timestamp > time.time() - age or bool(shown & names - {None})


def _loads(data: dict[str, Any], session: str) -> bool:
    return data.get("method") == "session/load" and _object(data.get("params")).get("sessionId") == session


def answers_of_commands(exchanged: list[Exchange]) -> set[str]:
    """The ids of the messages that were shown while a command waited for its answer."""
    commands = [each for each in exchanged if each.method == "session/prompt" and each.text.lstrip().startswith("/")]
    return {update["messageId"] for each in commands for update in each.shown if update.get("messageId")}


def options_told(client: RawClient, session: str, exchanged: list[Exchange]) -> dict[str, Any]:
    """The current values of the config options as the client last heard of them: from an update, or in an answer."""
    answers = {id(each.answer): each.result.get("configOptions") for each in exchanged}
    told: list[dict[str, Any]] = []
    for frame in client.frames:
        data = _object(frame.data)
        told = answers.get(id(data)) or _updated(frame, session).get("configOptions") or told
    return {option["id"]: option["currentValue"] for option in told}


def last(client: RawClient, session: str, kind: str) -> dict[str, Any]:
    """The newest update of that kind; empty where there was none."""
    return next(filter(None, (_newest(client, session, kind))), {})


def _newest(client: RawClient, session: str, kind: str) -> Iterator[dict[str, Any]]:
    return (update for update in reversed(client.updates(session)) if update.get("sessionUpdate") == kind)


def _updated(frame: Frame, session: str) -> dict[str, Any]:
    params = _object(_object(frame.data).get("params"))
    return _object(params.get("update")) if not frame.sent and params.get("sessionId") == session else {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
