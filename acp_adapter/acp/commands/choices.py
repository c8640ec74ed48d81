"""Slash commands for what is set in a session: mode, model, effort."""

from __future__ import annotations

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.acp.options import (
    DEFAULT,
    MODE_TEXTS,
    check_has_model,
    checked_effort,
    checked_mode,
    checked_model,
    shown,
)
from acp_adapter.agent.base import StopReason


async def show_mode(asked: Asked) -> StopReason:
    session = asked.session
    if asked.argument:
        await session.set_mode(checked_mode(asked.argument))
        session.options_changed()
        return await asked.say(f"Permissions: **{session.mode}**. {MODE_TEXTS[session.mode][1]}")
    rows = [f"- `{mode}`{' (now)' if mode == session.mode else ''}: {text}" for mode, (_, text) in MODE_TEXTS.items()]
    return await asked.say("\n".join(["Permission modes, set with `/mode NAME`:", "", *rows]))


async def show_model(asked: Asked) -> StopReason:
    session = asked.session
    check_has_model(session)
    offered = await asked.services.models.offered()
    if asked.argument:
        await session.set_model(checked_model(asked.argument, session, offered))
        session.options_changed()
        return await asked.say(
            f"The next prompt is answered by **{session.model or 'the first model that is reachable'}**."
        )
    few = shown(offered)
    rows = [f"- `{choice.provider}:{choice.model}`" for choice in few]
    if len(few) < len(offered):
        rows.append(f"- … and {len(offered) - len(few)} more that their providers list")
    now = session.model or "auto"
    return await asked.say("\n".join([f"Now: `{now}`. To change it: `/model NAME`, one of", "", "- `auto`", *rows]))


async def show_effort(asked: Asked) -> StopReason:
    check_has_model(asked.session)
    chosen = asked.session.chosen
    if asked.argument:
        await chosen.set_effort(checked_effort(asked.argument, asked.session))
        asked.session.options_changed()
        return await asked.say(f"Reasoning effort from the next step on: **{chosen.effort or DEFAULT}**.")
    known = chosen.card.efforts
    if not known:
        return await asked.say(f"`{asked.session.model or 'the model'}` can't be told how much to reason.")
    now = chosen.effort or DEFAULT
    rows = [f"- `{effort}`{' (now)' if effort == now else ''}" for effort in (DEFAULT, *known)]
    return await asked.say("\n".join(["Reasoning effort, set with `/effort NAME`:", "", *rows]))


CHOICES = [
    Command("mode", "Show or set what runs without asking", show_mode, "[MODE]"),
    Command("model", "Show or choose the model", show_model, "[PROVIDER:MODEL]"),
    Command("effort", "Show or set how much the model reasons", show_effort, "[EFFORT]"),
]
