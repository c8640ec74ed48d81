"""Skills and custom prompts as slash commands: each is sent to the model in its own words, and kept as it was typed."""

from __future__ import annotations

from pathlib import Path

from acp_adapter.acp import types
from acp_adapter.acp.commands.command import Named
from acp_adapter.acp.services import Services
from acp_adapter.agent.repertoire import Piece, Repertoire
from acp_adapter.errors import InvalidParams
from acp_adapter.transcript import Content


def meaning(named: Named, services: Services, cwd: Path) -> Content | None:
    """What the model is to read in the place of the command; None where there is no such skill or prompt.

    Reads files. Raises InvalidParams for one that can't be read any more.
    """
    piece = services.repertoire(cwd).pieces.get(named.name)
    if piece is None:
        return None
    try:
        text = piece.expansion(named.argument)
    except (OSError, ValueError) as fault:
        raise InvalidParams(f"/{piece.name} can't be used: {piece.path}: {fault}.") from fault
    return [{"type": "text", "text": text}, *named.attached] if named.attached else text


def advertised(piece: Piece) -> types.AvailableCommand:
    hint = piece.hint or ("[WHAT FOR]" if piece.kind == "skill" else "[WORDS]")
    return types.AvailableCommand(piece.name, piece.description, types.UnstructuredCommandInput(hint))


def told(repertoire: Repertoire) -> list[str]:
    """Lines of Markdown for the help: what there is, and what was left out."""
    lines = []
    for kind, title in (("skill", "Skills"), ("prompt", "Your prompts")):
        found = [piece for piece in repertoire.pieces.values() if piece.kind == kind]
        if found:
            lines += ["", f"**{title}**", "", *(f"- `/{piece.name}`: {piece.description[:200]}" for piece in found)]
    if repertoire.problems:
        lines += ["", *(f"- {problem}" for problem in repertoire.problems)]
    return lines
