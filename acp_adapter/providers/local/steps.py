"""The next step of the small model as a JSON Schema: one tool call, or a word to the user.

Constrained by it, the model can't name a tool that does not exist, leave an argument out or talk beside it. The
names are plainer than the tools' own: measured, `search_text` is chosen rightly where `grep` is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

SAY = "say"
"""The step that is no tool call: `{"tool": "say", "arguments": {"text": …}}`."""

NAMES = {
    "read_file": "read_file",
    "list_directory": "list_folder",
    "glob": "find_files",
    "grep": "search_text",
    "write_file": "write_file",
    "edit_file": "edit_file",
    "run_command": "run_command",
}
"""The tools that the small model is offered, by the agent's names, with the names that it sees."""

OWN_NAMES = {seen: name for name, seen in NAMES.items()}

PATH, PATTERN, COMMAND, TEXT, CONTENT, LINE = 160, 100, 240, 900, 1600, 240
"""The longest values, in characters: what bounds the time of a step that has gone astray."""

ARGUMENTS: dict[str, dict[str, int]] = {
    "read_file": {"path": PATH},
    "list_directory": {"path": PATH},
    "glob": {"pattern": PATTERN},
    "grep": {"pattern": PATTERN},
    "write_file": {"path": PATH, "content": CONTENT},
    "run_command": {"command": COMMAND},
}


@frozen
class Editable:
    """A file that was just read, and those of its lines that edit_file can replace: each is there only once."""

    path: str
    lines: Sequence[str]


@frozen
class Offer:
    """What the next step may be. `tools` are the agent's names.

    `editable` are the files that edit_file may edit, `reads` those that read_file may read, `folders` those that
    list_directory may list (empty: any); `under` is the folder in which glob looks (None: any). Talking is always on
    offer unless `silent`.
    """

    tools: frozenset[str] = frozenset()
    editable: Sequence[Editable] = ()
    reads: Sequence[str] = ()
    folders: Sequence[str] = ()
    under: str | None = None
    silent: bool = False

    def without(self, tool: str) -> Offer:
        return evolve(self, tools=self.tools - {tool})


@frozen
class Step:
    """What the model decided. `tool` is the agent's name, or SAY with the argument `text`."""

    tool: str
    arguments: Mapping[str, Any] = field(factory=dict)

    def written(self) -> str:
        """As the model writes it, byte by byte: the conversation is told in this form."""
        seen = NAMES.get(self.tool, self.tool)
        return json.dumps({"tool": seen, "arguments": dict(self.arguments)}, ensure_ascii=False)

    def arguments_text(self) -> str:
        return json.dumps(dict(self.arguments), ensure_ascii=False)

    @classmethod
    def read(cls, text: str) -> Step:
        """Raises ValueError for a text that is no whole step."""
        try:
            raw = json.loads(text, strict=False)
            return cls(OWN_NAMES.get(raw["tool"], raw["tool"]), raw["arguments"])
        except (KeyError, TypeError) as fault:
            raise ValueError(f"not a step: {fault}") from fault


def schema(offer: Offer) -> dict[str, Any]:
    """The JSON Schema of a step. The same offer gives the same bytes."""
    forms = [_form(tool, _arguments(tool, offer)) for tool in ARGUMENTS if tool in offer.tools]
    if "edit_file" in offer.tools:
        forms += [_form("edit_file", _edit(file)) for file in offer.editable if file.lines]
    if not offer.silent or not forms:
        forms.append(_form(SAY, {"text": _string(TEXT)}))
    return {"oneOf": forms}


def _form(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return _object({"tool": {"const": NAMES.get(tool, tool)}, "arguments": _object(arguments)})


def _arguments(tool: str, offer: Offer) -> dict[str, Any]:
    paths = {"read_file": offer.reads, "list_directory": offer.folders}.get(tool)
    if paths:
        return {"path": {"enum": list(paths)}}
    if tool == "glob" and offer.under:
        folder = re.sub(r"[.]", r"\\.", offer.under)
        return {"pattern": {"type": "string", "pattern": f"^{folder}/[A-Za-z0-9_.*?/{{}},-]{{1,60}}$"}}
    return {name: _string(longest, name != "content") for name, longest in ARGUMENTS[tool].items()}


def _string(longest: int, needed: bool = True) -> dict[str, Any]:
    return {"type": "string", "minLength": int(needed), "maxLength": longest}


def _edit(file: Editable) -> dict[str, Any]:
    return {
        "path": {"const": file.path},
        "old_text": {"enum": list(file.lines)},
        "new_text": {"type": "string", "maxLength": LINE},
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
