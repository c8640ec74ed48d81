"""The system prompt of a session: made once, stored as a snapshot, never changed under a running conversation.

A prompt that changed between turns would cost every provider's prefix cache and would rewrite history.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from acp_adapter.agent.repertoire import Piece

AGENTS_FILE = "AGENTS.md"
AGENTS_LIMIT = 32_000
SKILLS_LIMIT = 8_000
"""Characters of the list of skills."""
SKILLS = "These skills are there. Where one fits what is asked, read its file first and do as it says:"

BASE = """You are a coding agent in the user's editor. You work in the folder {cwd} on {system}.

Use the tools to look before you answer: read files instead of guessing, search before you say that something does \
not exist. Make the smallest change that does what was asked, in the style of the code around it. Run what checks \
it, where there is something to run. When a tool fails or the user rejects a call, say so and go on by another way, \
or ask. Answer in the user's language, short, and say what you did and what you did not check."""


def system_prompt(cwd: Path, skills: Sequence[Piece] = ()) -> str:
    """The prompt for a new session in `cwd`, with the folder's AGENTS.md if it has one (cut at 32,000 characters), and
    with the names of the skills that there are.

    The same folder with the same files gives the same bytes. An AGENTS.md that is no plain file, can't be read, or is
    a link out of the project counts as none.
    """
    text = BASE.format(cwd=cwd, system=platform.system() or "this machine")
    guidance = _guidance(cwd / AGENTS_FILE)
    if guidance:
        text += f"\n\nThe project's {AGENTS_FILE} says:\n\n{guidance}"
    return text + _told(skills)


def _told(skills: Sequence[Piece]) -> str:
    """The skills, for a model that finds out by itself when one fits; as many as there is room for."""
    lines, room = [], SKILLS_LIMIT
    for skill in skills:
        line = f"- {skill.name}: {skill.description[:300]} ({skill.path})"
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    return "\n\n" + "\n".join([SKILLS, *lines]) if lines else ""


def _project(cwd: Path) -> Path:
    """The repository that the folder is in, or the folder where that is none or the user's own folder."""
    for folder in (cwd, *cwd.parents):
        if folder == Path.home():
            break
        if os.path.lexists(folder / ".git"):
            return folder
    return cwd


def _guidance(path: Path) -> str:
    try:
        real = Path(os.path.realpath(path))
        if not real.is_file() or Path(os.path.realpath(_project(path.parent))) not in real.parents:
            return ""
        with real.open(encoding="utf-8", errors="replace") as file:
            text = file.read(AGENTS_LIMIT + 1).strip()
    except OSError:
        return ""
    if len(text) > AGENTS_LIMIT:
        return text[:AGENTS_LIMIT] + f"\n[… {AGENTS_FILE} goes on; read it for the rest]"
    return text
