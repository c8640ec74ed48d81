"""One live session on a real ledger, with a model and a tool that go on only when the test lets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from acp_adapter.acp.chosen_model import ChosenModel
from acp_adapter.acp.services import Services
from acp_adapter.acp.session import SessionState
from acp_adapter.acp.titles import Title
from acp_adapter.agent.budget import Budget
from acp_adapter.agent.calls import Workspace
from acp_adapter.agent.events import TurnEvent
from acp_adapter.agent.models import Wanted
from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.usage import Spent
from acp_adapter.ledger.worker import Ledger
from acp_adapter.project_defaults import Limit
from acp_adapter.providers.card import ModelCard
from acp_adapter.providers.port import Completed, ModelRequest, StreamEvent, TextDelta
from acp_adapter.tools.mcp.session_servers import SessionServers
from acp_adapter.tools.port import Intent, ToolContext, ToolResult
from acp_adapter.transcript import Message, ToolCall, Transcript


@define(eq=False)
class Gate:
    """Lets one through for each `open`, which says what is to be done. `kept` counts those that wait."""

    kept: int = 0
    words: asyncio.Queue[str] = field(factory=asyncio.Queue)

    async def wait(self) -> str:
        self.kept += 1
        try:
            return await self.words.get()
        finally:
            self.kept -= 1


@define(eq=False)
class GatedModel:
    """A model that answers as the gate says: `text`, `call`, or an error. One that is `silent` says nothing before."""

    gate: Gate
    silent: bool = False
    requests: list[ModelRequest] = field(factory=list)
    name: str = "gated"
    model: str = "gated-1"
    base_url: str = ""
    card: ModelCard = field(factory=ModelCard)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(request)
        number = len(self.requests)
        if not self.silent:
            yield TextDelta(f"answer {number}")
        word = await self.gate.wait()
        if self.silent:
            yield TextDelta(f"answer {number}")
        calls = [ToolCall(f"c{number}", WaitingTool.name, "{}").raw()] if word == "call" else None
        finish = {"call": "tool_calls", "length": "length"}.get(word, "stop")
        message = Message(role="assistant", content=f"answer {number}", tool_calls=calls)
        yield Completed(message, finish)  # type: ignore[arg-type]

    async def aclose(self) -> None:
        pass


@define(eq=False)
class WaitingTool:
    gate: Gate
    name = "wait"
    description = "Waits."
    parameters = {"type": "object", "properties": {}}  # noqa: RUF012  (as every tool has it)

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        return Intent("Wait", "other", "none")

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        return ToolResult(await self.gate.wait())


class OneModel:
    """Stands where `Models` stands: there is one, and it is always there."""

    def __init__(self, model: GatedModel) -> None:
        self._model = model

    async def get(self, wanted: Wanted, on_retry: Any) -> tuple[GatedModel, None]:
        return self._model, None


@define(eq=False)
class House:
    session: SessionState
    model: GatedModel
    gate: Gate
    ledger: Ledger
    shown: list[TurnEvent] = field(factory=list)

    async def stored(self) -> list[Message]:
        return await self.ledger(SessionDB.conversation, self.session.id)

    async def until_kept(self) -> bool:
        """Wait until the model or the tool waits for the gate, or no turn runs: then false."""
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            while self.session.turns.busy and not (self.gate.kept and self.gate.words.empty()):
                await asyncio.sleep(0.001)
        return self.session.turns.busy

    async def settle(self, *asked: asyncio.Task[Any]) -> None:
        """Let everything end with plain answers."""
        async with asyncio.timeout(20):
            while not all(task.done() for task in asked):
                if self.gate.kept and self.gate.words.empty():
                    self.gate.words.put_nowait("text")
                await asyncio.sleep(0.001)


async def _no_limits() -> dict[str, Limit]:
    return {}


async def _nothing_spent() -> Spent:
    return Spent(0, 0.0, 0, 0.0)


@asynccontextmanager
async def house(folder: Path, session_id: str = "s") -> AsyncIterator[House]:
    ledger, gate, shown = Ledger(folder / "state.db"), Gate(), list[TurnEvent]()
    model = GatedModel(gate)
    config = Config(home=folder, ledger=folder / "state.db", titles=False)
    services = Services(config, ledger, OneModel(model), {"wait": WaitingTool(gate)})  # type: ignore[arg-type]
    await ledger(SessionDB.create_session, session_id, source="acp", model=None, model_config={}, cwd=str(folder))
    session = SessionState(
        id=session_id,
        workspace=Workspace(session_id, folder, [folder.resolve()]),
        transcript=Transcript(session_id, ledger),
        system_prompt="",
        is_instructed=True,
        client=_NoEditor(),  # type: ignore[arg-type]
        services=services,
        emit=shown.append,
        chosen=ChosenModel(session_id, services, shown.append),
        title=Title(session_id, ledger, shown.append),
        budget=Budget({}, _no_limits, _nothing_spent, shown.append),
        servers=SessionServers(folder, dict),
    )
    try:
        yield House(session, model, gate, ledger, shown)
    finally:
        await session.end()
        await ledger.aclose()


class _NoEditor:
    async def ask(self, *_: Any) -> None:
        raise AcpAdapterError("nobody is here")
