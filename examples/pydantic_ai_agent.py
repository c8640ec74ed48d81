"""A pydantic-ai agent: streams, thinks aloud, works with acp-adapter's tools, and goes on after a restart."""

import os

from pydantic_ai import Agent, ModelMessagesTypeAdapter, RunContext
from pydantic_ai.messages import (
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.run import AgentRunResultEvent
from pydantic_core import to_jsonable_python

from acp_adapter import Thought, Turn, Usage

# Reads OPENAI_API_KEY, and OPENAI_BASE_URL where it is set.
model = OpenAIChatModel(os.environ.get("EXAMPLE_MODEL", "gpt-5-mini"))
assistant = Agent(model, deps_type=Turn, instructions="You help with the user's project. Be brief.")


@assistant.tool
async def read_file(ctx: RunContext[Turn], path: str) -> str:
    """Read a file of the project."""
    return (await ctx.deps.call_tool("read_file", {"path": path})).text


@assistant.tool
async def run_command(ctx: RunContext[Turn], command: str) -> str:
    """Run a shell command in the project. The user is asked first."""
    return (await ctx.deps.call_tool("run_command", {"command": command})).text


async def agent(turn: Turn):
    history = ModelMessagesTypeAdapter.validate_python(turn.kept)
    async with assistant.run_stream_events(turn.prompt, deps=turn, message_history=history) as events:
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    yield text
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    yield text
                case PartStartEvent(part=ThinkingPart(content=text)):
                    yield Thought(text)
                case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)):
                    yield Thought(text or "")
                case AgentRunResultEvent(result=result):
                    turn.keep(*to_jsonable_python(result.new_messages()))
                    yield Usage(result.usage.input_tokens, result.usage.output_tokens)
