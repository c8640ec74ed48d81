"""One prompt and what came of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.clients.fold import Item, panel

if TYPE_CHECKING:
    from tests.clients.raw import RawClient

FINAL = ("completed", "failed")


class Turn:
    """A running or finished prompt. The views show what came so far, of this turn only."""

    def __init__(self, client: RawClient, session: str, blocks: list[dict[str, Any]]) -> None:
        self._client, self.session, self.blocks = client, session, blocks
        self._first: int | None = None
        self._end: int | None = None
        self.id: Any = None
        self.name: str | None = None
        """How the panel names the user's message, once the turn has begun."""
        self.response: Any = None

    def begun(self) -> None:
        """The prompts before this one are answered: what comes now belongs to it, and the panel shows it."""
        if self._first is None:
            self._first = len(self._client.updates(self.session))
            shown = self._client.live.setdefault(self.session, [])
            self.name = f"own-{len(shown)}"
            for block in self.blocks:
                shown.append({"sessionUpdate": "user_message_chunk", "content": block, "messageId": self.name})

    def ended(self, data: dict[str, Any]) -> None:
        """The response came. A prompt that was refused as invalid never was part of the conversation."""
        self._end = len(self._client.updates(self.session))
        if data.get("error", {}).get("code") in (-32600, -32602):
            shown = self._client.live[self.session]
            shown[:] = [update for update in shown if update.get("messageId") != self.name]

    @property
    def updates(self) -> list[dict[str, Any]]:
        return [] if self._first is None else self._client.updates(self.session)[self._first : self._end]

    @property
    def panel(self) -> list[Item]:
        return panel(self.updates)

    @property
    def text(self) -> str:
        """The answer's text."""
        return "".join(item.text for item in self.panel if item.role == "answer")

    @property
    def calls(self) -> list[Item]:
        return [item for item in self.panel if item.role == "call"]

    @property
    def stop_reason(self) -> str | None:
        return self.response["stopReason"] if self.response else None

    @property
    def notices(self) -> list[dict[str, Any]]:
        return [update for update in self.updates if update["sessionUpdate"] == "notice"]

    def call(self, call_id: str) -> dict[str, Any]:
        """The merged fields of a call."""
        return next((item.fields for item in self.calls if item.id == call_id), {})

    async def call_is(self, status: str, call_id: str | None = None, timeout: float = 20) -> dict[str, Any]:
        """Wait until a call (that one, or any) has the status; its fields."""

        def found() -> dict[str, Any]:
            some = (c.fields for c in self.calls if call_id in (None, c.id) and c.fields.get("status") == status)
            return next(some, {})

        return await self._client.until(found, f"tool call {call_id or ''} {status}", timeout)

    async def says(self, text: str, timeout: float = 20) -> None:
        """Wait until the answer holds the text."""
        await self._client.until(lambda: text in self.text, f"the text {text!r}", timeout)

    async def permission_asked(self, count: int = 1, timeout: float = 20) -> list[dict[str, Any]]:
        """Wait until permission was asked that often in this session; the requests' params."""

        def asked() -> list[dict[str, Any]]:
            found = [f.data["params"] for f in self._client.received("session/request_permission")]
            mine = [params for params in found if params["sessionId"] == self.session]
            return mine if len(mine) >= count else []

        return await self._client.until(asked, "a permission request", timeout)

    async def done(self, timeout: float = 20) -> str:
        """Wait for the response; its stop reason. Raises RpcError."""
        self.response = await self._client.result(self.id, timeout)
        return str(self.response["stopReason"])

    async def cancel(self, timeout: float = 20) -> str:
        await self._client.cancel(self.session)
        return await self.done(timeout)


def output(call: dict[str, Any]) -> str:
    """All text that a call shows, without the fence around what is not Markdown."""
    blocks = [shown.get("content") or {} for shown in call.get("content") or () if shown.get("type") == "content"]
    shown = "".join(block.get("text", "") for block in blocks)
    fenced = re.fullmatch(r"(`{3,})\n(.*)\n\1", shown, re.DOTALL)
    return fenced[2] if fenced else shown
