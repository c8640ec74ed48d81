"""Slash commands on what the agent did: undo, redo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.agent.base import StopReason
from acp_adapter.agent.checkpoints import Outcome, Planned
from acp_adapter.errors import InvalidParams
from acp_adapter.tools.paths import shown
from acp_adapter.transcript import Message

WHAT = ("files", "conversation", "both")
OVERWRITE = "overwrite"
"""The word that puts a file back although somebody else has changed it since."""


async def undo(asked: Asked) -> StopReason:
    """`/undo [files|conversation|both] [overwrite]`, in turn; what it does is shown first where files are at stake."""
    what, overwrite = _wish(asked)
    return await asked.session.turns.take(lambda _: _undo(asked, what, overwrite))


async def redo(asked: Asked) -> StopReason:
    return await asked.session.turns.take(lambda _: _redo(asked))


async def _undo(asked: Asked, what: str | None, overwrite: bool) -> StopReason:
    checkpoints, prompt = asked.session.checkpoints, asked.session.last_prompt()
    story = await checkpoints.story()
    steps = story.back_to(prompt.id) if prompt else []
    if what == "conversation" or (not steps and what != "files"):
        gone = await asked.session.undo()
        return await asked.say(f"Taken back, with all that followed: {_quoted(gone)}. Files stay as they are.")
    if what is None:
        return await asked.say("\n".join(_preview(asked, prompt, await checkpoints.plan_undo(steps))))
    steps = steps if what == "both" else story.done[-1:]
    if not steps:
        raise InvalidParams("There is no change of a file to take back.")
    plan, turn = await checkpoints.plan_undo(steps), steps[-1].turn
    outcome = await checkpoints.apply(plan, "undo", turn, overwrite=overwrite)
    told = [f"Files as they were before {_prompt_of(asked, turn)}:", "", *_told(asked, outcome)]
    if what == "both":
        gone = await asked.session.undo()
        told += ["", f"Taken back, with all that followed: {_quoted(gone)}."]
    if outcome.restored:
        told += ["", "`/redo` brings the files back."]
    return await asked.say("\n".join(told))


async def _redo(asked: Asked) -> StopReason:
    word = asked.argument
    if word not in ("", OVERWRITE):
        raise InvalidParams(f"Type `/redo`, or `/redo {OVERWRITE}`.")
    checkpoints = asked.session.checkpoints
    story = await checkpoints.story()
    if not story.undone:
        raise InvalidParams("There is nothing to bring back: no files were taken back since the last change.")
    undone = story.undone[-1]
    outcome = await checkpoints.apply(await checkpoints.plan_redo(undone), "redo", undone.turn, overwrite=bool(word))
    return await asked.say("\n".join(["Brought back:", "", *_told(asked, outcome)]))


def _wish(asked: Asked) -> tuple[str | None, bool]:
    """Raises InvalidParams for words that mean nothing here."""
    words = asked.argument.split()
    overwrite = words[1:] == [OVERWRITE]
    if words and (words[0] not in WHAT or (len(words) > 1 and not overwrite)):
        raise InvalidParams(f"Type `/undo` to see what would change, or `/undo {'|'.join(WHAT)} [{OVERWRITE}]`.")
    return (words[0] if words else None), overwrite


def _preview(asked: Asked, prompt: Message | None, plan: Sequence[Planned]) -> Iterator[str]:
    yield f"{_quoted(prompt)} changed files. Taking them back would do this:"
    yield ""
    yield from (_line(asked, planned) for planned in plan)
    yield ""
    yield "- `/undo both` takes back the prompt, what followed it, and these changes"
    yield "- `/undo files` takes back the changes alone, `/undo conversation` the prompt alone"
    if any(planned.verdict == "foreign" for planned in plan):
        yield f"- `/undo files {OVERWRITE}` and `/undo both {OVERWRITE}` also put back what somebody else has changed"
    yield "- `/redo` brings back the files that were taken back"


def _line(asked: Asked, planned: Planned) -> str:
    name = f"`{shown(planned.path, asked.session.workspace.context(''))}`"
    if planned.verdict == "same":
        return f"- {name} is already as it was"
    if planned.verdict == "lost":
        return f"- {name} stays as it is: what it was is not kept"
    deed = f"{name} {_deed(planned)}"
    if planned.verdict == "foreign":
        return f"- {deed}; **changed since by somebody else**, so it stays as it is without the word `{OVERWRITE}`"
    return f"- {deed}"


def _deed(planned: Planned) -> str:
    if planned.then.kind == "absent":
        return "is deleted again"
    numbers = "" if planned.added is None else f" (+{planned.added} −{planned.removed})"
    return ("is there again" if planned.now.kind == "absent" else "goes back") + numbers


def _told(asked: Asked, outcome: Outcome) -> Iterator[str]:
    for planned in outcome.restored:
        overwritten = planned.verdict == "foreign"
        yield _line(asked, evolve(planned, verdict="restore") if overwritten else planned)
    yield from (_line(asked, planned) for planned in outcome.left)
    yield from (f"- {sentence}" for sentence in outcome.failed)


def _prompt_of(asked: Asked, turn: str) -> str:
    return _quoted(next((message for message in asked.session.history if message.id == turn), None))


def _quoted(prompt: Message | None) -> str:
    text = " ".join(prompt.text().split())[:200] if prompt else ""
    return f"“{text}”" if text else "an earlier prompt"


CHANGES = [
    Command(
        "undo",
        "Take back the last prompt, what it changed, or both",
        undo,
        f"[files|conversation|both] [{OVERWRITE}]",
        waits=True,
    ),
    Command("redo", "Bring back files that were taken back", redo, f"[{OVERWRITE}]", waits=True),
]
