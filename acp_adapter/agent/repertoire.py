"""The repertoire: skills and custom prompts that a person keeps as files, each a slash command of the panel.

A skill is a folder with a `SKILL.md`, whose front matter has a name and a description (the open Agent Skills form). A
custom prompt is a Markdown file, perhaps with a front matter (`description`, `argument-hint`), in whose text
`$ARGUMENTS`, `$1`, `$2` … stand for what is typed after its name.

    user       <home>/skills, ~/.agents/skills, <home>/prompts
    project    .acp-adapter/skills, .agents/skills, .claude/skills, .acp-adapter/prompts

What a project has goes before what the user has under the same name. Nothing in them is run: they are words for a
model.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import field, frozen

SKILL = "SKILL.md"
LARGEST = 100_000
"""Bytes of one file."""
FRONT = 4_000
"""Characters of a front matter: it is read whenever a session begins."""
MOST = 100
"""Files of one folder that are looked at."""
DESCRIBED = 1_000
"""Characters of a description."""
IN_PROJECT = {
    "skills": (".acp-adapter/skills", ".agents/skills", ".claude/skills"),
    "prompts": (".acp-adapter/prompts",),
}

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])")


@frozen
class Piece:
    """One skill or custom prompt. `path` is its file; `hint` says what may be typed after its name."""

    kind: Literal["skill", "prompt"]
    name: str
    description: str
    path: Path
    hint: str | None = None

    def expansion(self, argument: str) -> str:
        """What the model is to read in the place of the command. Raises OSError and ValueError."""
        _, text = _parted(_read(self.path))
        if self.kind == "prompt":
            return _filled(text, argument)
        asked = f"\n\nThe user says to it: {argument}" if argument else ""
        return f"Use the skill {self.name!r}. Its folder is {self.path.parent}, and it says:\n\n{text.strip()}{asked}"


@frozen
class Repertoire:
    """`problems` are sentences about files that are no such thing, and about names that are taken."""

    pieces: Mapping[str, Piece] = field(factory=dict)
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, cwd: Path, home: Path, user_home: Path, taken: Collection[str] = ()) -> Repertoire:
        """What is there now. Reads files; never raises for what they hold. `taken` are names of commands."""
        pieces: dict[str, Piece] = {}
        problems: list[str] = []
        for path, kind, inside in _files(cwd, home, user_home):
            try:
                piece = _piece(path, kind, inside)
            except (OSError, ValueError) as fault:
                problems.append(f"{path} is left out: {fault}.")
                continue
            if piece.name in taken:
                problems.append(f"{path} is left out: `/{piece.name}` is a command of this program.")
            elif piece.name in pieces:
                problems.append(f"{path} is left out: {pieces[piece.name].path} has the same name.")
            else:
                pieces[piece.name] = piece
        return cls(pieces, tuple(problems))

    @property
    def skills(self) -> list[Piece]:
        return [piece for piece in self.pieces.values() if piece.kind == "skill"]


def user_skill_folders(home: Path, user_home: Path) -> list[Path]:
    """Where the user's own skills are: what is in there may be read without asking."""
    return [home / "skills", user_home / ".agents" / "skills"]


def _files(cwd: Path, home: Path, user_home: Path) -> Iterator[tuple[Path, Literal["skill", "prompt"], Path | None]]:
    """Each candidate with its kind, the project's before the user's; and the folder that it must not lead out of."""
    for folder in IN_PROJECT["skills"]:
        yield from ((path, "skill", cwd) for path in _skills(cwd / folder))
    for folder in IN_PROJECT["prompts"]:
        yield from ((path, "prompt", cwd) for path in _prompts(cwd / folder))
    for own in user_skill_folders(home, user_home):
        yield from ((path, "skill", None) for path in _skills(own))
    yield from ((path, "prompt", None) for path in _prompts(home / "prompts"))


def _skills(folder: Path) -> list[Path]:
    return [found / SKILL for found in _entries(folder) if _is_file(found / SKILL)]


def _prompts(folder: Path) -> list[Path]:
    return [found for found in _entries(folder) if found.suffix == ".md" and _is_file(found)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a link to a name that can't be one
        return False


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())[:MOST]
    except OSError:
        return []


def _piece(path: Path, kind: Literal["skill", "prompt"], inside: Path | None) -> Piece:
    real = Path(os.path.realpath(path))
    if inside is not None and Path(os.path.realpath(inside)) not in real.parents:
        raise ValueError("it leads out of the project")
    front, text = _parted(_read(path))
    if not text.strip():
        raise ValueError("there is nothing in it for the model")
    usual = path.parent.name if kind == "skill" else path.stem
    name = str(front.get("name") or usual) if kind == "skill" else usual
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:80]!r} can't be a command: it needs small letters, digits, - and _")
    first = next((line.strip("# ") for line in text.splitlines() if line.strip("# ")), "")
    description = " ".join(str(front.get("description") or first).split())[:DESCRIBED]
    if kind == "skill" and not front.get("description"):
        raise ValueError("its front matter has no description")
    hint = front.get("argument-hint")
    return Piece(kind, name, description, path, str(hint) if hint else None)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST // 1000} KB")
    return data.decode("utf-8-sig")


def _parted(text: str) -> tuple[dict[str, Any], str]:
    """Front matter and text. Raises ValueError for a front matter that is no YAML mapping."""
    found = _FRONT.match(text)
    if not found:
        return {}, text
    if len(found[1]) > FRONT:
        raise ValueError(f"its front matter is longer than {FRONT} characters")
    import yaml  # 20 ms, and only where there is a front matter

    try:
        # Texts stay texts, and nothing refers to something else: a few lines could grow to gigabytes.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(found[1], yaml.SafeLoader)):
            raise ValueError("its front matter has aliases")
        front = yaml.load(found[1], yaml.BaseLoader) or {}
    except (yaml.YAMLError, RecursionError, TypeError) as fault:
        raise ValueError(f"its front matter is no YAML ({' '.join(str(fault).split())[:120]})") from fault
    if not isinstance(front, dict):
        raise ValueError("its front matter is no mapping")
    return front, text[found.end() :]


def _filled(text: str, argument: str) -> str:
    """With what was typed in its places; where there are none, after the text."""
    try:
        words = shlex.split(argument)
    except ValueError:
        words = argument.split()

    def typed(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return argument
        at = int(place[1]) - 1
        return words[at] if at < len(words) else ""

    if _PLACE.search(text):
        return _PLACE.sub(typed, text).strip()
    return f"{text.strip()}\n\n{argument}".strip()
