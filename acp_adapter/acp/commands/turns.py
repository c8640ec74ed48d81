"""Slash commands on turns: queue, steer, stop, retry, compact."""

from __future__ import annotations

import asyncio

from attrs import evolve

from acp_adapter.acp.commands import repertory
from acp_adapter.acp.commands.command import Asked, Command, Named
from acp_adapter.acp.turns import Turn
from acp_adapter.agent.base import StopReason
from acp_adapter.transcript import Content


async def queue(asked: Asked) -> StopReason:
    if not asked.argument:
        return await asked.say("Say what comes next: `/queue and then run the tests`. A second prompt waits too.")
    named = Named.of(asked.said)
    if named and (command := asked.commands.get(named.name)):
        return await _queued(command, evolve(asked, argument=named.argument, attached=named.attached))
    return await asked.session.prompt(asked.content, await _sent(asked, asked.said) or asked.said)


async def steer(asked: Asked) -> StopReason:
    if not asked.argument:
        return await asked.say("Say what the model should know while it works: `/steer use the other folder`.")
    return await asked.session.steer(asked.content, await _sent(asked, asked.said) or asked.said)


async def stop(asked: Asked) -> StopReason:
    if not asked.session.turns.busy:
        return await asked.say("Nothing runs here.")
    asked.session.cancel()
    return await asked.say("Stopped.")


async def compact(asked: Asked) -> StopReason:
    return await asked.session.compact(asked.argument or None)


async def retry(asked: Asked) -> StopReason:
    async def sent(prompt: Content) -> Content | None:
        named = Named.of(prompt)
        if named is None or named.name not in ("queue", "steer"):
            return await _sent(asked, prompt)
        return await _sent(asked, named.said) or named.said

    return await asked.session.retry(sent)


async def _sent(asked: Asked, prompt: Content) -> Content | None:
    """What the model reads in place of a prompt that names a skill or a prompt file; None for any other."""
    named = Named.of(prompt)
    return await asyncio.to_thread(repertory.meaning, named, asked.services, asked.session.cwd) if named else None


async def _queued(command: Command, asked: Asked) -> StopReason:
    """Run a command after all that waits now."""

    async def nothing(_: Turn) -> StopReason:
        return "end_turn"

    if not command.waits and await asked.session.turns.take(nothing) == "cancelled":
        return "cancelled"
    return await command.run(asked)


TURNS = [
    Command("queue", "Say what is to be done after the running turn", queue, "PROMPT", waits=True),
    Command("steer", "Tell the model something while it works", steer, "WORDS"),
    Command("stop", "Stop the running turn", stop),
    Command("retry", "Take back the last answer and ask again", retry, waits=True),
    Command("compact", "Put older messages into a summary to make room", compact, "[WHAT TO KEEP IN MIND]", True),
]
