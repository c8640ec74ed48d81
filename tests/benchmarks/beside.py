"""A turn of one session while another one is held up, against the same turn while nothing else goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from attrs import field, frozen

from tests.benchmarks.agent import Agent, running
from tests.benchmarks.figure import Figure, against
from tests.benchmarks.turns import stub

ROUNDS = 4
"""Times that a session is held up and let go again; what the machine does meanwhile is the same for both."""
KINDS = str(Path(__file__).parents[1] / "mcp" / "kinds_server.py")
MODEL: dict[str, Any] = {"ACP_ADAPTER_MODEL": "openai:stub-1", "OPENAI_API_KEY": "none"}
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


@frozen
class Hold:
    """What holds session A up. Nothing that the agent asks is answered here, so a question stays open."""

    name: str
    step: dict[str, Any]
    servers: list[dict[str, Any]] = field(factory=list)
    mode: str = "bypass"


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"C": ["a1", tool, arguments]}


HOLDS = [
    Hold("a model that does not answer", {"HANG": True}),
    Hold("an MCP server that does not start", {"HANG": True}, [{"name": "h", "command": "sleep", "args": ["999"]}]),
    Hold(
        "an MCP call that hangs", call("kinds__hangs"), [{"name": "kinds", "command": sys.executable, "args": [KINDS]}]
    ),
    Hold("an unanswered permission", call("run_command", command="true"), mode="ask"),
    Hold("an unanswered question", call("ask_user", question="What now?")),
    Hold("a helper that hangs", call("delegate_task", task="take A long time")),
    Hold("a command that prints without end", call("run_command", command="yes")),
]


def measure(folder: Path, turns: int) -> Iterator[Figure]:
    """`turns` are measured with and without each hold."""
    for hold in HOLDS:
        alone, beside = _latencies(folder, hold, turns // ROUNDS)
        label = f"without, {alone * 1000:.1f} ms"
        yield against(f"turn beside {hold.name}, wall", beside * 1000, "ms", label, alone * 1000)


def _latencies(folder: Path, hold: Hold, turns: int) -> tuple[float, float]:
    """Median wall seconds of a turn without and with the hold, taken in turn."""
    plain, held = list[float](), list[float]()
    steps = [{**step, "when": "A"} for step in (hold.step, {"HANG": True}) for _ in range(2 * ROUNDS)]
    steps += [{"T": "ok", "when": "B"}] * (2 * ROUNDS * turns + 10)
    home = folder / "".join(each for each in hold.name if each.isalpha())
    with stub(folder, steps) as url, running(home, FORMS, OPENAI_BASE_URL=url, **MODEL) as agent:
        other = agent.new(folder)
        _walls(agent, other, 5)
        for _ in range(ROUNDS):
            plain += _walls(agent, other, turns)
            session, let_go = _hold(agent, folder, hold)
            held += _walls(agent, other, turns)
            let_go()
            agent.ask("session/close", sessionId=session)
    return median(plain), median(held)


def _hold(agent: Agent, folder: Path, hold: Hold) -> tuple[str, Callable[[], Any]]:
    """Hold a new session up; the session, and what lets it go."""
    servers = [{**server, "env": []} for server in hold.servers]
    session = str(agent.ask("session/new", cwd=str(folder), mcpServers=servers)["sessionId"])
    agent.ask("session/set_mode", sessionId=session, modeId=hold.mode)
    time.sleep(2 if hold.servers else 0)
    turn = agent.begin("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "A"}])
    time.sleep(0.5)

    def let_go() -> Any:
        agent.tell("session/cancel", sessionId=session)
        assert agent.result(turn)["stopReason"] == "cancelled", f"{hold.name} held nothing up"

    return session, let_go


def _walls(agent: Agent, session: str, turns: int) -> list[float]:
    walls = []
    for _ in range(turns):
        began = time.perf_counter()
        agent.prompt(session, "B")
        walls.append(time.perf_counter() - began)
    return walls
