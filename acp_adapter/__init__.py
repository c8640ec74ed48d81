"""An AI agent in every editor's agent panel, over the Agent Client Protocol.

For authors of agents: `serve`, and what an agent gets and says (docs/reference/agents.md). Importing this costs
nothing; each name is loaded when it is asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_adapter.own.said import Plan as Plan
    from acp_adapter.own.said import Thought as Thought
    from acp_adapter.own.said import Usage as Usage
    from acp_adapter.own.turn import Agent as Agent
    from acp_adapter.own.turn import Call as Call
    from acp_adapter.own.turn import Factory as Factory
    from acp_adapter.own.turn import Turn as Turn

__version__ = "0.1.0"

_HOMES = {
    **dict.fromkeys(("Plan", "Thought", "Usage"), "acp_adapter.own.said"),
    **dict.fromkeys(("Agent", "Call", "Factory", "Turn"), "acp_adapter.own.turn"),
}


def serve(agent: str | Agent | Factory) -> int:
    """Serve an editor on stdin and stdout with this agent, until it closes them; the exit code.

    `agent` is a function that answers a turn, or one without parameters that makes such a function for each session,
    or the name of either, as `module:name`. What it needs is best imported in there: an editor waits until `serve` is
    called, and not for what is imported later.
    """
    from acp_adapter.acp import stdio

    return stdio.serve(agent)


if not TYPE_CHECKING:  # or else a type checker would find any name here

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
