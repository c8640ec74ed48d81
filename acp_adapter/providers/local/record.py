"""What was really done in a turn, read from the transcript: the model's own account of it is not to be trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from acp_adapter.providers.local.steps import LINE, Editable, Step
from acp_adapter.transcript import Message, ToolCall

EDITS = ("write_file", "edit_file")
CHANGES = (*EDITS, "run_command")
"""The tools after which the same look may show something else."""
EDITABLE_LINES = 100
EMPTY = frozenset("a an and as by for from i in is it make not of on or the this to with you".split())
"""Words that say nothing about which line is meant."""
EDITABLE_FILES = 2


@frozen
class Call:
    """A tool call with its result."""

    tool: str
    arguments: Mapping[str, Any]
    result: str
    failed: bool

    @property
    def path(self) -> str:
        return str(self.arguments.get("path", ""))

    def account(self) -> str:
        """For a call that edits: what it did to the file, or that it did nothing and why."""
        if self.failed:
            return f"{self.path or 'The file'} was not changed: {self.result}"
        if self.tool == "edit_file" and "\n" not in f"{self.arguments['old_text']}{self.arguments['new_text']}":
            return f"{self.result}\n- {self.arguments['old_text']}\n+ {self.arguments['new_text']}"
        return self.result


@frozen
class Turn:
    """The newest user message and what was done since. `known` are the files that were read or written before, too."""

    asked: str
    calls: Sequence[Call]
    known: frozenset[str]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Turn:
        start = max((at for at, m in enumerate(messages) if m.role == "user"), default=-1)
        every = list(_calls(messages))
        known = {plain(call.path) for call in every if call.tool in ("read_file", *EDITS) and not call.failed}
        asked = sent_text(messages[start]) if start >= 0 else ""
        return cls(asked, list(_calls(messages[start + 1 :])), frozenset(known))

    def repeats(self, step: Step) -> bool:
        """Whether the step is a call that was made already, with nothing since that could change its result."""
        for call in reversed(self.calls):
            if (call.tool, dict(call.arguments)) == (step.tool, dict(step.arguments)):
                return True
            if call.tool in CHANGES:
                return False
        return False

    def overwrites(self, step: Step) -> bool:
        """Whether the step would write a whole file over one that is known to exist."""
        return step.tool == "write_file" and plain(str(step.arguments.get("path"))) in self.known

    def editable(self) -> list[Editable]:
        """The files that were read in this turn and not changed since, the newest first."""
        found: dict[str, Editable | None] = {}
        for call in reversed(self.calls):
            if call.tool in EDITS:
                found.setdefault(plain(call.path), None)
            elif call.tool == "read_file" and not call.failed:
                found.setdefault(plain(call.path), Editable(call.path, _lines(call.result, self.asked)))
        return [file for file in found.values() if file and file.lines][:EDITABLE_FILES]

    def account(self) -> str:
        """What the turn's edits did to the files, attempts that were made good left out; empty where there was none."""
        edits = [call for call in self.calls if call.tool in EDITS]
        good = {plain(call.path) for call in edits if not call.failed}
        return "\n".join(call.account() for call in edits if not call.failed or plain(call.path) not in good)

    @property
    def ends_with_edit(self) -> bool:
        return bool(self.calls) and self.calls[-1].tool in EDITS

    @property
    def changed(self) -> bool:
        """Whether anything was done that could have changed a file."""
        return any(call.tool in CHANGES for call in self.calls)


def sent_text(message: Message) -> str:
    """The text of what a model is sent of a message; other parts are named in brackets."""
    content = message.content if message.api_content is None else message.api_content
    if isinstance(content, str):
        return content
    return "".join(_part(part) for part in content or ())


def plain(path: str) -> str:
    """A path as a name for comparing: `./a//b` and `a/b` are the same."""
    return re.sub(r"^(\./)+", "", re.sub(r"[/\\]+", "/", path.strip()))


def _part(part: Mapping[str, Any]) -> str:
    if part.get("type") == "text":
        return str(part.get("text", ""))
    return f"[{part.get('type', 'something')}: this model reads text only]"


def _calls(messages: Sequence[Message]) -> Iterator[Call]:
    asked: dict[str, ToolCall] = {}
    for message in messages:
        asked |= {call.id: call for call in message.calls()}
        call = asked.pop(message.tool_call_id or "", None) if message.role == "tool" else None
        if call:
            failed = (message.details or {}).get("status") == "failed"
            yield Call(call.name, _arguments(call), sent_text(message), failed)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        read = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _lines(text: str, asked: str) -> list[str]:
    """The lines that may be meant, in file order: those that share the most words with the request, else all."""
    every = [line for line in text.splitlines() if line.strip() and len(line) <= LINE]
    once = [line for line in every if every.count(line) == 1]
    words = _words(asked)
    shared = {line: len(words & _words(line)) for line in once}
    best = max(shared.values(), default=0)
    return [line for line in once if 2 * shared[line] >= best][:EDITABLE_LINES]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\w.]*\w", text.lower())) - EMPTY
