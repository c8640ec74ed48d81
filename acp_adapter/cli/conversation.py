"""One session as a terminal client holds it: opened or continued, prompted, and its questions answered."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Protocol

from attrs import define, field, frozen

from acp_adapter.cli import permission
from acp_adapter.cli.client import AgentError, Ask, Client
from acp_adapter.errors import InvalidParams

Json = dict[str, Any]

NOT_FOUND = -32002
SHOWN_TURNS = 2
"""How many of the last turns an interactive continuation shows again."""


class Display(Protocol):
    """Where a conversation is shown: the screen, or JSON lines."""

    def update(self, params: Json) -> None: ...

    def ended(self, session_id: str, result: Json) -> None: ...

    def note(self, message: str) -> None: ...


@frozen
class Wish:
    """What the command line asks of the session. `resume` is an id, the start of one, or a title."""

    cwd: Path
    resume: str | None = None
    newest: bool = False
    mode: str | None = None
    model: str | None = None
    replay: bool = False


@define
class Conversation:
    """`ask` is None where nobody can be asked: then `yes` decides, and a refusal is said. `fill_in` shows a form and
    gives the answer to `elicitation/create`; without it the agent puts its questions in words."""

    display: Display
    ask: Ask | None
    yes: bool = False
    fill_in: Ask | None = None
    session_id: str = ""
    modes: Json = field(factory=dict)
    options: list[Json] = field(factory=list)
    agent: Json = field(factory=dict)
    client: Client = field(init=False)
    _replayed: list[Json] | None = None

    def __attrs_post_init__(self) -> None:
        self.client = Client(self._updated, self._permission, self.fill_in)

    async def open(self, wish: Wish) -> None:
        """Start the agent and bring the session into the wished state. Raises AgentError, AgentGone, InvalidParams."""
        env = dict(os.environ)
        if wish.model:
            env["ACP_ADAPTER_MODEL"] = wish.model
        hello = await self.client.start(env=env)
        self.agent = hello.get("agentInfo") or {}
        answer = await self._session(wish)
        self.modes = answer.get("modes") or {}
        self.options = answer.get("configOptions") or []
        if wish.mode:
            await self._set_mode(wish.mode)
        if wish.model:
            await self._set_model(wish.model)

    async def turn(self, text: str) -> str:
        """Run one prompt; its stop reason. Cancelling this call cancels the turn."""
        result = await self.client.prompt(self.session_id, text)
        self.display.ended(self.session_id, result)
        return str(result.get("stopReason"))

    async def aclose(self) -> None:
        await self.client.aclose()

    async def _session(self, wish: Wish) -> Json:
        where: Json = {"cwd": str(wish.cwd), "mcpServers": []}
        if wish.newest:
            return await self._continue(await self._newest(wish.cwd), where, wish.replay)
        if wish.resume:
            return await self._resume(wish.resume, where, wish.replay)
        answer = dict(await self.client.request("session/new", where))
        self.session_id = str(answer["sessionId"])
        return answer

    async def _resume(self, name: str, where: Json, replay: bool) -> Json:
        try:
            return await self._continue(name, where, replay)
        except AgentError as fault:
            if fault.number != NOT_FOUND:
                raise
        return await self._continue(await self._search(name), where, replay)

    async def _continue(self, session_id: str, where: Json, replay: bool) -> Json:
        """Load a session, showing its last turns, or resume it without a word where no replay is wanted."""
        capable = (self.client.capabilities.get("sessionCapabilities") or {}).get("resume") is not None
        method = "session/resume" if capable and not replay else "session/load"
        self.session_id, self._replayed = session_id, []
        try:
            answer = dict(await self.client.request(method, {"sessionId": session_id, **where}))
            replayed = self._replayed
        finally:
            self._replayed = None
        for params in last_turns(replayed) if replay else ():
            self.display.update(params)
        return answer

    async def _newest(self, cwd: Path) -> str:
        page = await self.client.request("session/list", {"cwd": str(cwd)})
        for session in page.get("sessions") or ():
            return str(session["sessionId"])
        raise InvalidParams(f"There is no session of {cwd} to continue. `acp-adapter sessions --all` lists all others.")

    async def _search(self, name: str) -> str:
        """The one stored session whose id starts with `name`, or whose title it is."""
        found: set[str] = set()
        cursor: str | None = None
        while True:
            page = await self.client.request("session/list", {"cursor": cursor} if cursor else {})
            for session in page.get("sessions") or ():
                if str(session["sessionId"]).startswith(name) or session.get("title") == name:
                    found.add(str(session["sessionId"]))
            cursor = page.get("nextCursor")
            if not cursor or len(found) > 1:
                break
        if len(found) == 1:
            return found.pop()
        fault = f"{name!r} means more than one session" if found else f"There is no session {name!r}"
        raise InvalidParams(f"{fault}. `acp-adapter sessions --all` lists them with their ids.")

    async def _set_mode(self, mode: str) -> None:
        known = [str(item.get("id")) for item in self.modes.get("availableModes") or ()]
        if mode not in known:
            raise InvalidParams(f"There is no mode {mode!r}. The modes are: {', '.join(known) or 'none'}.")
        await self.client.request("session/set_mode", {"sessionId": self.session_id, "modeId": mode})
        self.modes["currentModeId"] = mode

    async def _set_model(self, model: str) -> None:
        """A new session has the model already, from the environment; a continued one has its own and is moved."""
        option = self.option("model")
        if option is None or option.get("currentValue") == model:
            return
        params = {"sessionId": self.session_id, "configId": option["id"], "value": model}
        answer = await self.client.request("session/set_config_option", params)
        self.options = answer.get("configOptions") or self.options

    def option(self, category: str) -> Json | None:
        """The session's config option of that category."""
        return next((option for option in self.options if option.get("category") == category), None)

    def _updated(self, params: Json) -> None:
        if self._replayed is not None:
            self._replayed.append(params)
        else:
            self.display.update(params)

    async def _permission(self, params: Json) -> Json:
        options = params.get("options") or []
        if self.yes:
            return permission.allow(options)
        if self.ask is not None:
            return await self.ask(params)
        title = (params.get("toolCall") or {}).get("title") or "a tool"
        self.display.note(f"Refused: {title}. There is no terminal to ask in; --yes allows what the agent asks for.")
        return permission.reject(options)


def last_turns(updates: list[Json], turns: int = SHOWN_TURNS) -> list[Json]:
    """The updates of the last turns, and of every kind that is not part of the conversation (commands, mode)."""
    starts = [at for at, params in enumerate(updates) if _starts_turn(updates, at, params)]
    first = starts[-turns] if len(starts) > turns else 0
    chatter = ("_chunk", "tool_call", "tool_call_update", "plan")
    return [p for at, p in enumerate(updates) if at >= first or not kind(p).endswith(chatter)]


def kind(params: Json) -> str:
    return str((params.get("update") or {}).get("sessionUpdate"))


def _starts_turn(updates: list[Json], at: int, params: Json) -> bool:
    return kind(params) == "user_message_chunk" and (at == 0 or kind(updates[at - 1]) != "user_message_chunk")


class JsonLines:
    """`--json`: every update as it came, one object a line, and each turn's result at its end."""

    def update(self, params: Json) -> None:
        self._write(params)

    def ended(self, session_id: str, result: Json) -> None:
        self._write({"sessionId": session_id, **result})

    def note(self, message: str) -> None:
        self._write({"note": message})

    def _write(self, value: Json) -> None:
        print(json.dumps(value, ensure_ascii=False), flush=True)
