"""JSON-RPC 2.0 and the schema: what each line must be on its own, and which request it answers.

Everything that is well formed goes on to the rules as an event.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.clients.checks.rule import Answer, Asked, Fault, Rule
from tests.clients.checks.schemas import for_method, stable

FRAME_KEYS = {
    "request": {"jsonrpc", "id", "method", "params"},
    "notification": {"jsonrpc", "method", "params"},
    "result": {"jsonrpc", "id", "result"},
    "error": {"jsonrpc", "id", "error"},
}


class Wire:
    """Both directions of one connection, in the order in which the client wrote and read them."""

    def __init__(self, fault: Fault, rules: Sequence[Rule]) -> None:
        self._fault = fault
        self._rules = rules
        self._to_agent: dict[str, list[Asked]] = {}
        self._to_client: dict[str, Asked] = {}
        self._ever_asked: set[str] = set()
        self._broken = 0

    def unanswered(self) -> list[Asked]:
        """The client's requests that the agent has not answered yet."""
        return [asked for queue in self._to_agent.values() for asked in queue]

    def sent(self, line: bytes) -> None:
        """The client wrote this line, perhaps not JSON at all."""
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            self._broken += bool(line.strip())
            return
        if not isinstance(frame, dict) or not _is_id(frame.get("id", 0)):
            self._broken += 1
        elif "id" in frame and ("result" in frame or "error" in frame):
            self._client_answered(frame)
        elif frame.get("id") is not None:
            asked = Asked(frame["id"], str(frame.get("method")), _object(frame.get("params")))
            self._to_agent.setdefault(_key(asked.id), []).append(asked)
            for rule in self._rules:
                rule.client_asked(asked)
        elif isinstance(frame.get("method"), str) and frame.get("jsonrpc") == "2.0" and "id" not in frame:
            for rule in self._rules:
                rule.client_told(frame["method"], _object(frame.get("params")))
        else:
            self._broken += 1

    def received(self, line: bytes) -> None:
        """The agent wrote this line; it must be one well-formed frame."""
        frame = self._frame(line)
        if frame is None:
            return
        form = "error" if "error" in frame else "result" if "result" in frame else "notification"
        if "method" in frame:
            form = "request" if "id" in frame else "notification"
        if strange := set(frame) - FRAME_KEYS[form]:
            self._fault(f"a {form} has the keys {sorted(strange)}, which JSON-RPC does not know")
        if form == "request":
            self._agent_asked(frame)
        elif form == "notification":
            self._agent_told(frame)
        else:
            self._agent_answered(frame)

    def _frame(self, line: bytes) -> dict[str, Any] | None:
        try:
            frame = json.loads(line.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=_without_doubles)
        except (ValueError, RecursionError) as fault:
            self._fault(f"a line on stdout is not JSON ({fault})")
            return None
        if not isinstance(frame, dict) or frame.get("jsonrpc") != "2.0":
            self._fault('a line on stdout is not an object with "jsonrpc": "2.0"')
            return None
        if b"\\ud" in line.lower() and _has_lone_surrogate(frame):
            self._fault("a frame holds a lone surrogate, which strict JSON readers refuse")
        return frame

    def _agent_asked(self, frame: dict[str, Any]) -> None:
        method, params = frame["method"], frame.get("params")
        if not _is_id(frame["id"]) or frame["id"] is None or _key(frame["id"]) in self._to_client:
            self._fault(f"the agent's request {method} has the id {frame['id']!r}: no valid id, or one in use")
        self._check("client", method, "Request", params)
        asked = Asked(frame["id"], method, _object(params))
        self._to_client[_key(asked.id)] = asked
        self._ever_asked.add(_key(asked.id))
        for rule in self._rules:
            rule.agent_asked(asked)

    def _agent_told(self, frame: dict[str, Any]) -> None:
        method, params = frame.get("method"), _object(frame.get("params"))
        if not isinstance(method, str):
            self._fault("a frame is neither request nor notification nor response")
            return
        self._check("client", method, "Notification", frame.get("params"))
        if method == "session/update":
            update = _object(params.get("update"))
            for rule in self._rules:
                rule.agent_updated(str(params.get("sessionId")), str(update.get("sessionUpdate")), update)
            return
        if method == "$/cancel_request" and _key(params.get("requestId")) not in self._ever_asked:
            self._fault(f"the agent cancels {params.get('requestId')!r}, which it did not ask")
        for rule in self._rules:
            rule.agent_told(method, params)

    def _agent_answered(self, frame: dict[str, Any]) -> None:
        error = frame.get("error")
        if error is not None or "error" in frame:
            for fault in stable().faults("Error", error):
                self._fault(fault)
        if "id" not in frame:
            self._fault("a response has no id")
            return
        queue = self._to_agent.get(_key(frame["id"]))
        if not queue:
            self._unasked(frame)
            return
        asked = queue.pop(0)
        if error is None:
            self._check("agent", asked.method, "Response", frame["result"])
        answer = Answer(frame.get("result"), error)
        for rule in self._rules:
            rule.agent_answered(asked, answer)

    def _unasked(self, frame: dict[str, Any]) -> None:
        """A broken line may be answered once, by an error with a null id; nothing else was asked for."""
        if frame["id"] is None and "error" in frame and self._broken > 0:
            self._broken -= 1
        else:
            self._fault(f"a response to {frame['id']!r}, which was not asked, or was answered before")

    def _client_answered(self, frame: dict[str, Any]) -> None:
        asked = self._to_client.pop(_key(frame["id"]), None)
        if asked is None:
            return
        answer = Answer(frame.get("result"), frame.get("error"))
        for rule in self._rules:
            rule.client_answered(asked, answer)

    def _check(self, side: str, method: str, form: str, value: Any) -> None:
        schemas = for_method(method)
        name = schemas.name(side, method, form)
        if name is None:
            self._fault(f"{method} is no {form.lower()} that ACP knows")
            return
        for fault in schemas.faults(name, value):
            self._fault(fault)


def _key(request_id: Any) -> str:
    return f"{type(request_id).__name__}:{request_id}"


def _is_id(value: Any) -> bool:
    return value is None or isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"an object has a key twice: {[key for key, _ in pairs]}")
    return found


def _has_lone_surrogate(frame: Any) -> bool:
    try:
        json.dumps(frame, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False
