"""Slash commands on turns: queue, steer, stop, retry, compact."""

from __future__ import annotations

import asyncio

from acp_adapter.acp.commands import repertory
from acp_adapter.acp.commands.command import Asked, Command, Named
from acp_adapter.agent.base import StopReason
from acp_adapter.transcript import Content


async def queue(asked: Asked) -> StopReason:
    if not asked.argument:
        return await asked.say("Say what comes next: `/queue and then run the tests`. A second prompt waits too.")
    return await asked.session.prompt(asked.content, await _meaning(asked))


async def steer(asked: Asked) -> StopReason:
    if not asked.argument:
        return await asked.say("Say what the model should know while it works: `/steer use the other folder`.")
    return await asked.session.steer(asked.content, await _meaning(asked))


async def stop(asked: Asked) -> StopReason:
    if not asked.session.turns.busy:
        return await asked.say("Nothing runs here.")
    asked.session.cancel()
    return await asked.say("Stopped.")


async def compact(asked: Asked) -> StopReason:
    return await asked.session.compact(asked.argument or None)


async def retry(asked: Asked) -> StopReason:
    return await asked.session.retry()


async def _meaning(asked: Asked) -> Content:
    """What follows the command, where that is the name of a skill or a prompt with its words in its place."""
    said = asked.meaning(asked.argument)
    named = Named.of(said)
    piece = await asyncio.to_thread(repertory.meaning, named, asked.services, asked.session.cwd) if named else None
    return said if piece is None else piece


TURNS = [
    Command("queue", "Say what is to be done after the running turn", queue, "PROMPT"),
    Command("steer", "Tell the model something while it works", steer, "WORDS"),
    Command("stop", "Stop the running turn", stop),
    Command("retry", "Take back the last answer and ask again", retry),
    Command("compact", "Put older messages into a summary to make room", compact, "[WHAT TO KEEP IN MIND]"),
]
