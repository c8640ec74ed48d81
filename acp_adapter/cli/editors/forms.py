"""How an editor is told of an agent: a member of its JSON settings, or lines in its init file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import field, frozen

from acp_adapter.cli.editors import jsonc
from acp_adapter.tools.text import Text


@frozen
class Started:
    """What an editor's settings say of this agent. `command` is empty where they leave it to the editor."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(factory=dict, repr=False)


class Form(Protocol):
    """Each raises jsonc.NotJsonc for a text that it does not understand; the text is then best left alone."""

    def started(self, text: str) -> Started | None:
        """What the text says of this agent, None where it says nothing."""

    def with_agent(self, text: str, command: Sequence[str]) -> str:
        """The text by which the editor starts this command: the same text where it does already."""

    def without_agent(self, text: str) -> str: ...

    def rest(self, text: str) -> Any:
        """What the text says of everything else."""


@frozen
class JsonEntry:
    """A member of JSON settings. `fixed` are fields that it has in every case."""

    path: tuple[str, str]
    fixed: Mapping[str, str] = field(factory=dict)

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        return {**self.fixed, "command": command[0], "args": list(command[1:]), "env": {}}

    def started(self, text: str) -> Started | None:
        node = jsonc.find(text, self.path)
        if node is None:
            return None
        entry = node.value if isinstance(node.value, dict) else {}
        words = [entry.get("command"), *_list(entry.get("args"))]
        env = entry["env"] if isinstance(entry.get("env"), dict) else {}
        known = tuple(str(word) for word in words) if isinstance(entry.get("command"), str) else ()
        return Started(known, {name: str(value) for name, value in env.items()})

    def with_agent(self, text: str, command: Sequence[str]) -> str:
        """Of an entry that is there only the fields that start another program change; `env` is the user's."""
        wanted = self.entry(command)
        node = jsonc.find(text, self.path)
        if node is None or not isinstance(node.value, dict):
            return jsonc.with_value(text, self.path, wanted)
        for name in reversed([*self.fixed, "command", "args"]):
            if node.value.get(name, [] if name == "args" else None) != wanted[name]:
                text = jsonc.with_value(text, (*self.path, name), wanted[name])
        return text

    def without_agent(self, text: str) -> str:
        return jsonc.without(text, self.path)

    def rest(self, text: str) -> Any:
        value = jsonc.value_of(self.without_agent(text))
        table, _ = self.path
        return {name: each for name, each in value.items() if name != table or each != {}}


@frozen
class JsonSettings:
    """Settings of our own extension: members whose names begin with `prefix`."""

    prefix: str

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        args = {f"{self.prefix}args": list(command[1:])} if command[1:] else {}
        return {f"{self.prefix}command": command[0], **args}

    def started(self, text: str) -> Started | None:
        known = {name: node.value for name in ("command", "args", "env") if (node := self._find(text, name))}
        if not known.get("command"):
            return None
        env = known["env"] if isinstance(known.get("env"), dict) else {}
        words = [known["command"], *_list(known.get("args"))]
        return Started(tuple(map(str, words)), {name: str(value) for name, value in env.items()})

    def with_agent(self, text: str, command: Sequence[str]) -> str:
        for name, wanted in (("args", list(command[1:])), ("command", command[0])):
            node = self._find(text, name)
            if (node.value if node else []) != wanted:
                text = jsonc.with_value(text, (self.prefix + name,), wanted)
        return text

    def without_agent(self, text: str) -> str:
        for name in ("command", "args"):
            text = jsonc.without(text, (self.prefix + name,))
        return text

    def rest(self, text: str) -> Any:
        return jsonc.value_of(self.without_agent(text))

    def _find(self, text: str, name: str) -> jsonc.Node | None:
        return jsonc.find(text, (self.prefix + name,))


@frozen
class Lines:
    """Lines at the end of an init file, between two comments. `body` writes them; a first list in it is the command."""

    comment: str
    body: Callable[[Sequence[str]], str]

    def started(self, text: str) -> Started | None:
        found = self._block.search(text)
        if found is None:
            return None
        words = re.findall(r'"(?:[^"\\]|\\.)*"', found["body"].strip().split("\n")[0])
        try:
            return Started(tuple(json.loads(word) for word in words))
        except ValueError:
            return Started(())

    def with_agent(self, text: str, command: Sequence[str]) -> str:
        newline = Text(text).newline
        begin = f"{self.comment} acp-adapter begins: made by “acp-adapter setup”, whose --undo takes it out"
        lines = [begin, *self.body(command).split("\n"), f"{self.comment} acp-adapter ends", ""]
        block = newline.join(lines)
        found = self._block.search(text)
        if found:
            return text[: found.start()] + block + text[found.end() :]
        apart = "" if not text or text.endswith(newline) else newline
        return text + apart + block

    def without_agent(self, text: str) -> str:
        return self._block.sub("", text, count=1)

    def rest(self, text: str) -> Any:
        return self.without_agent(text).rstrip("\r\n")

    @property
    def _block(self) -> re.Pattern[str]:
        mark = re.escape(self.comment)
        return re.compile(
            rf"^{mark} acp-adapter begins[^\n]*\n(?P<body>.*?)^{mark} acp-adapter ends[ \t]*(?:\r?\n|\Z)",
            re.DOTALL | re.MULTILINE,
        )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
