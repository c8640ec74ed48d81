"""A small agent made with the official SDK, to try the harness on: its own faults are not the agent's.

It echoes the prompt as text. A prompt that starts with `break ` breaks the rule that it names.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, cast
from uuid import uuid4

import acp
from acp import schema


class EchoAgent:
    def __init__(self) -> None:
        self.client: Any = None

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(protocol_version=1)

    async def new_session(self, cwd: str, **_: Any) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id=uuid4().hex)

    async def cancel(self, session_id: str, **_: Any) -> None:
        pass

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> schema.PromptResponse:
        text = prompt[0].text
        if text == "break stdout":
            print("hello from a library", flush=True)
        if text == "break stderr":
            print("Traceback (most recent call last)", file=sys.stderr, flush=True)
        if text == "break exit":
            asyncio.get_running_loop().call_later(0.05, sys.exit, 3)
        target = "someone else" if text == "break session" else session_id
        chunk = schema.AgentMessageChunk(
            session_update="agent_message_chunk",
            content=schema.TextContentBlock(type="text", text=text),
            message_id=None if text == "break id" else uuid4().hex,
        )
        if text != "break silence":
            await self.client.session_update(session_id=target, update=chunk)
        return schema.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast(acp.Agent, EchoAgent())))
