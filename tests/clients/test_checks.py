"""Each rule of the referee, seen to fail: a good conversation passes, and one broken frame in it is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.checks import Connection, Referee

Frame = dict[str, Any]


class Talk:
    """Plays both sides of one connection to the referee."""

    def __init__(self, **offers: Any) -> None:
        self.referee = Referee(secrets=["sk-secret"])
        self.connection: Connection = self.referee.connection("talk")
        self.asks(1, "initialize", protocolVersion=1, clientCapabilities=offers)
        self.answers(1, {"protocolVersion": 1})
        self.asks(2, "session/new", cwd="/p", mcpServers=[])
        self.answers(2, {"sessionId": "S"})

    def asks(self, request: Any, method: str, **params: Any) -> None:
        self.connection.sent(_line({"id": request, "method": method, "params": params}))

    def prompts(self, request: Any = 3, session: str = "S") -> None:
        self.asks(request, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}])

    def loads(self, request: Any = 9, session: str = "S") -> None:
        self.asks(request, "session/load", sessionId=session, cwd="/p", mcpServers=[])

    def client(self, frame: Frame) -> None:
        self.connection.sent(_line(frame))

    def agent(self, frame: Frame) -> None:
        self.connection.received(_line(frame))

    def answers(self, request: Any, result: Any) -> None:
        self.agent({"id": request, "result": result})

    def fails(self, request: Any, code: int = -32602, message: str = "no") -> None:
        self.agent({"id": request, "error": {"code": code, "message": message}})

    def ends(self, request: Any = 3, reason: str = "end_turn") -> None:
        self.answers(request, {"stopReason": reason})

    def update(self, update: str, /, session: str = "S", **fields: Any) -> None:
        params = {"sessionId": session, "update": {"sessionUpdate": update, **fields}}
        self.agent({"method": "session/update", "params": params})

    def says(self, text: str = "hello", message: str | None = "m1", kind: str = "agent_message_chunk") -> None:
        self.update(kind, content={"type": "text", "text": text}, messageId=message)

    def call(self, call_id: str = "c1", **fields: Any) -> None:
        self.update("tool_call", **{"toolCallId": call_id, "title": "t", "name": "n", "kind": "read", **fields})

    def changes(self, status: str, call_id: str = "c1", **fields: Any) -> None:
        self.update("tool_call_update", toolCallId=call_id, status=status, **fields)

    def permission(self, call: Frame, kinds: tuple[str, ...] = ("allow_once", "reject_once")) -> None:
        options = [{"optionId": f"o{n}", "name": "x", "kind": kind} for n, kind in enumerate(kinds)]
        params = {"sessionId": "S", "toolCall": call, "options": options}
        self.agent({"id": "p", "method": "session/request_permission", "params": params})


def _line(frame: Frame) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **frame}).encode()


def test_a_good_conversation_passes() -> None:
    talk = Talk(terminal=True, fs={"readTextFile": True}, session={"notices": {}})
    talk.update("available_commands_update", availableCommands=[])
    talk.prompts()
    talk.says("think", "t1", "agent_thought_chunk")
    talk.says()
    talk.says(" world")
    talk.call(status="pending", rawInput={"command": "x"})
    talk.permission({"toolCallId": "c1"})
    talk.client({"id": "p", "result": {"outcome": {"outcome": "cancelled"}}})
    talk.changes("in_progress")
    talk.agent({"id": "t", "method": "terminal/create", "params": {"sessionId": "S", "command": "x", "cwd": "/p"}})
    talk.client({"id": "t", "result": {"terminalId": "T"}})
    talk.changes("in_progress", content=[{"type": "terminal", "terminalId": "T"}])
    talk.agent({"id": "r", "method": "terminal/release", "params": {"sessionId": "S", "terminalId": "T"}})
    talk.client({"id": "r", "result": {}})
    talk.changes("completed", locations=[{"path": "/p/x"}])
    talk.says("done", "m2")
    talk.update("notice", severity="info", title="x")
    talk.ends()
    talk.update("usage_update", used=1, size=2)
    talk.loads()
    talk.says("hi", "u1", "user_message_chunk")
    talk.says("hello world", "m1")
    talk.call(status="completed")
    talk.says("done", "m2")
    talk.answers(9, {})
    talk.connection.sent(b"{broken")
    talk.agent({"id": None, "error": {"code": -32700, "message": "not JSON"}})
    assert talk.referee.faults == []
    assert talk.connection.unanswered() == []


def _turn(*steps: Callable[[Talk], None]) -> Callable[[Talk], None]:
    def play(talk: Talk) -> None:
        talk.prompts()
        for step in steps:
            step(talk)
        talk.says("bye", "last")
        talk.ends()

    return play


def _raw(line: bytes) -> Callable[[Talk], None]:
    return lambda talk: talk.connection.received(line)


def _all(*steps: Callable[[Talk], None]) -> Callable[[Talk], None]:
    def play(talk: Talk) -> None:
        for step in steps:
            step(talk)

    return play


def _terminal(talk: Talk) -> None:
    talk.agent({"id": "t", "method": "terminal/create", "params": {"sessionId": "S", "command": "x"}})
    talk.client({"id": "t", "result": {"terminalId": "T"}})


def _modes(current: str, option: str = "a") -> Frame:
    modes = {"currentModeId": current, "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}
    values = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
    mode = {"id": "mode", "name": "Mode", "type": "select", "currentValue": option, "options": values}
    return {"sessionId": "S2", "modes": modes, "configOptions": [mode]}


def _new(result: Frame) -> Callable[[Talk], None]:
    return _all(lambda t: t.asks(5, "session/new", cwd="/p", mcpServers=[]), lambda t: t.answers(5, result))


def _list(*rows: Frame) -> Callable[[Talk], None]:
    return _all(lambda t: t.asks(5, "session/list"), lambda t: t.answers(5, {"sessions": list(rows)}))


BROKEN: dict[str, tuple[Callable[[Talk], None], str]] = {
    "no JSON": (_raw(b"hello"), "is not JSON"),
    "an empty line": (_raw(b""), "is not JSON"),
    "NaN": (_raw(b'{"jsonrpc":"2.0","id":1,"result":NaN}'), "is not JSON"),
    "a key twice": (_raw(b'{"jsonrpc":"2.0","id":1,"id":2,"result":1}'), "a key twice"),
    "no version": (_raw(b'{"id":1,"result":{}}'), '"jsonrpc": "2.0"'),
    "a lone surrogate": (lambda t: t.fails(1, message="\ud800"), "lone surrogate"),
    "result and error": (
        lambda t: t.agent({"id": 1, "result": 1, "error": {"code": 1, "message": "x"}}),
        "has the keys",
    ),
    "answered twice": (lambda t: t.answers(2, {"sessionId": "S"}), "was answered before"),
    "another type of id": (_all(lambda t: t.prompts(7), lambda t: t.says(), lambda t: t.ends("7")), "not asked"),
    "a notification answered": (lambda t: t.agent({"id": None, "result": None}), "not asked"),
    "an unknown method": (lambda t: t.agent({"method": "session/hello", "params": {}}), "no notification that ACP"),
    "a wrong field": (
        _turn(lambda t: t.update("agent_message_chunk", content={"type": "text"})),
        "SessionNotification",
    ),
    "a misspelt field": (_turn(lambda t: t.call(tool_call_id="x")), "ACP knows no field 'tool_call_id'"),
    "a wrong stop reason": (_all(lambda t: t.prompts(), lambda t: t.ends(reason="error")), "PromptResponse"),
    "an unknown session": (_turn(lambda t: t.update("plan", session="X", entries=[])), "does not know"),
    "before the new response": (
        _all(
            lambda t: t.asks(5, "session/new", cwd="/p", mcpServers=[]),
            lambda t: t.update("available_commands_update", session="S2", availableCommands=[]),
        ),
        "does not know",
    ),
    "after the close": (
        _all(
            lambda t: t.asks(5, "session/close", sessionId="S"),
            lambda t: t.answers(5, {}),
            lambda t: t.update("session_info_update", title="x"),
        ),
        "does not know, or no longer",
    ),
    "an update without a turn": (lambda t: t.says(), "outside any turn"),
    "an update after the response": (_all(_turn(), lambda t: t.says()), "outside any turn"),
    "a resume that replays": (
        _all(lambda t: t.asks(5, "session/resume", sessionId="S", cwd="/p"), lambda t: t.says()),
        "a resume must not replay",
    ),
    "an empty end of turn": (_all(lambda t: t.prompts(), lambda t: t.ends()), "nothing was said"),
    "a list out of order": (
        _list(
            {"sessionId": "a", "cwd": "/p", "updatedAt": "2024-01-01T00:00:00Z"},
            {"sessionId": "b", "cwd": "/p", "updatedAt": "2025-01-01T00:00:00Z"},
        ),
        "newest first",
    ),
    "a list with a relative folder": (_list({"sessionId": "a", "cwd": "p"}), "relative folder"),
    "a list with a wrong time": (_list({"sessionId": "a", "cwd": "/p", "updatedAt": "today"}), "ISO 8601"),
    "a list with a session twice": (_list(*[{"sessionId": "a", "cwd": "/p"}] * 2), "twice"),
    "an update of an unknown call": (_turn(lambda t: t.changes("in_progress")), "before its tool_call"),
    "a call announced twice": (
        _turn(lambda t: t.call(), lambda t: t.call(), lambda t: t.changes("failed")),
        "a second time",
    ),
    "a call without a kind": (_turn(lambda t: t.call(kind=None, status="failed")), "has no kind"),
    "a call that did not begin": (_turn(lambda t: t.call(status="completed")), "before it began"),
    "a call that skips a status": (_turn(lambda t: t.call(), lambda t: t.changes("completed")), "pending to completed"),
    "a call that goes back": (
        _turn(lambda t: t.call(status="in_progress"), lambda t: t.changes("pending"), lambda t: t.changes("failed")),
        "in_progress to pending",
    ),
    "a call that changes when done": (
        _turn(lambda t: t.call(status="failed"), lambda t: t.changes("failed")),
        "after it",
    ),
    "a call left open": (_turn(lambda t: t.call(status="in_progress")), "still in_progress although its prompt"),
    "a call replayed open": (
        _all(lambda t: t.loads(), lambda t: t.call(status="in_progress"), lambda t: t.answers(9, {})),
        "still in_progress although the load",
    ),
    "a relative location": (_turn(lambda t: t.call(status="failed", locations=[{"path": "x"}])), "relative path"),
    "a relative diff": (
        _turn(lambda t: t.call(status="failed", content=[{"type": "diff", "path": "x", "newText": ""}])),
        "relative path",
    ),
    "permission for nothing": (_turn(lambda t: t.permission({"toolCallId": "c9"})), "never announced"),
    "permission without input": (
        _turn(lambda t: t.permission({"toolCallId": "c9", "title": "t", "kind": "read"})),
        "without rawInput",
    ),
    "permission without a no": (
        _turn(
            lambda t: t.call(status="failed", rawInput={}),
            lambda t: t.permission({"toolCallId": "c1"}, ("allow_once",)),
        ),
        "must offer allow_once and reject_once",
    ),
    "permission too late": (
        _turn(lambda t: t.call(status="failed", rawInput={}), lambda t: t.permission({"toolCallId": "c1"})),
        "which is failed already",
    ),
    "permission without a turn": (
        lambda t: t.permission({"toolCallId": "c9", "title": "t", "kind": "read", "rawInput": {}}),
        "outside any turn",
    ),
    "a chunk without an id": (_turn(lambda t: t.says(message=None)), "has no messageId"),
    "an id for two roles": (_turn(lambda t: t.says(), lambda t: t.says(kind="agent_thought_chunk")), "is used for"),
    "a message that comes back": (
        _turn(lambda t: t.says(), lambda t: t.says(message="m2"), lambda t: t.says()),
        "which had ended",
    ),
    "a message of an earlier turn": (
        _all(_turn(lambda t: t.says()), lambda t: t.prompts(4), lambda t: t.says()),
        "which had ended",
    ),
    "fs that is not offered": (
        _turn(
            lambda t: t.agent({"id": "f", "method": "fs/read_text_file", "params": {"sessionId": "S", "path": "/x"}})
        ),
        "does not offer it",
    ),
    "a relative fs path": (
        _turn(lambda t: t.agent({"id": "f", "method": "fs/read_text_file", "params": {"sessionId": "S", "path": "x"}})),
        "relative path",
    ),
    "a notice that is not shown": (_turn(lambda t: t.update("notice", severity="info", title="x")), "does not show it"),
    "a terminal left open": (_turn(_terminal), "was not released"),
    "a terminal that is not there": (
        _turn(lambda t: t.call(status="failed", content=[{"type": "terminal", "terminalId": "X"}])),
        "no open terminal",
    ),
    "an unknown mode": (_new(_modes("z")), "none of the offered ones"),
    "two states of one mode": (_new(_modes("b")), "but 'a' as an option"),
    "an unknown option value": (_new(_modes("a", "z")), "which it does not offer"),
    "an unknown error code": (_all(lambda t: t.prompts(), lambda t: t.fails(3, -1)), "unknown error code"),
    "an error without words": (_all(lambda t: t.prompts(), lambda t: t.fails(3, message=" ")), "has no message"),
    "a traceback": (_all(lambda t: t.prompts(), lambda t: t.fails(3, message="Traceback (most")), "with a traceback"),
    "a secret": (_all(lambda t: t.prompts(), lambda t: t.fails(3, message="key sk-secret")), "a secret"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_referee_catches(name: str) -> None:
    play, fault = BROKEN[name]
    talk = Talk()
    play(talk)
    assert any(fault in found for found in talk.referee.faults), talk.referee.faults


def test_a_second_initialize_may_not_echo_the_version() -> None:
    talk = Talk()
    talk.asks(5, "initialize", protocolVersion=99)
    talk.answers(5, {"protocolVersion": 99})
    assert any("it speaks 1" in fault for fault in talk.referee.faults)


def test_a_waiting_prompt_may_be_answered_before_the_running_one() -> None:
    talk = Talk()
    talk.prompts(3)
    talk.call(status="in_progress")
    talk.says()
    talk.prompts(4)
    talk.fails(4, -32800)
    talk.says(" goes on")
    talk.changes("completed")
    talk.ends(3)
    assert talk.referee.faults == []


def test_an_allowed_fault_is_not_reported() -> None:
    talk = Talk()
    talk.referee.allow("is not JSON")
    talk.connection.received(b"hello")
    assert talk.referee.faults == []


def test_ids_keep_their_role_over_a_restart() -> None:
    talk = Talk()
    talk.prompts()
    talk.says()
    talk.ends()
    talk.connection = talk.referee.connection("restarted")
    talk.asks(1, "initialize", protocolVersion=1)
    talk.answers(1, {"protocolVersion": 1})
    talk.loads()
    talk.says(kind="user_message_chunk")
    assert any("is used for answer and for user" in fault for fault in talk.referee.faults)
