"""The files that rules are in: read again whenever they change, added to in one write, mended only by a person."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from acp_adapter.agent.command_line import bare_words
from acp_adapter.agent.rules import Rule, Rulebook, Verdict
from acp_adapter.tools.fetch import HOST

log = logging.getLogger(__name__)

TABLES: dict[str, Verdict] = {"allow": "allow", "ask": "ask", "reject": "reject", "deny": "reject"}
FIELDS = ("tool", "command", "prefix", "path", "domain")

_HEADER = """\
# What was always allowed or rejected in the project {project}.
# Each rule names a tool, and may have one of: `command` (its exact text), `prefix` (the words it begins with),
# `path` (a pattern as in .gitignore), `domain`. Change or delete rules as you like: that holds from the next call on.
"""


class Rules:
    """What holds in one project: its own rules, and those for everywhere. Several processes may share the files.

    `problem` is None, or a sentence about a file that can't be understood; it is then left as it is, nothing is
    remembered, and everything asks.
    """

    def __init__(self, home: Path, cwd: Path) -> None:
        project = os.path.realpath(cwd)
        slug = re.sub(r"[^A-Za-z0-9]+", "-", Path(project).name).strip("-")[:40] or "root"
        digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:12]
        self.home = Path(os.path.realpath(home))
        self.path = self.home / "permissions" / f"{slug}-{digest}.toml"
        self._project = Path(project)
        self._files = (_RulesFile(self.path), _RulesFile(self.home / "permissions" / "everywhere.toml"))

    @classmethod
    def load(cls, home: Path, cwd: Path) -> Rules:
        rules = cls(home, cwd)
        rules.refresh()
        return rules

    @property
    def problem(self) -> str | None:
        return next((file.problem for file in self._files if file.problem), None)

    def refresh(self) -> None:
        """Read the files again if they have changed: another process or a person may have written to them."""
        for file in self._files:
            file.refresh()

    def book(self) -> Rulebook:
        """The rules as they stand now."""
        self.refresh()
        return Rulebook(self._project, [rule for file in self._files for rule in file.rules])

    def remember(self, rules: Iterable[Rule]) -> None:
        """Add rules to the project's file, which keeps all else it holds. If it can't be written, the log says so, and
        the choice was for this once."""
        self.refresh()
        own = self._files[0]
        blocks = "".join(_block(rule) for rule in rules if rule not in own.rules)
        if not blocks or self.problem:
            return
        try:
            self._append(blocks)
        except OSError as fault:
            log.warning("%s can't be written (%s): the choice is not remembered", self.path, fault)
        self.refresh()

    def _append(self, blocks: str) -> None:
        """One write at the end of the file, so that two processes at once do not lose each other's rules."""
        for folder in (self.home, self.path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            data = (blocks if before else _HEADER.format(project=_quoted(str(self._project))) + blocks).encode()
            if os.write(descriptor, data) != len(data):
                os.ftruncate(descriptor, before)
                raise OSError("the disk is full")
        finally:
            os.close(descriptor)


class _RulesFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.rules: list[Rule] = []
        self.problem: str | None = None
        self._stamp: object = None

    def refresh(self) -> None:
        try:
            status = self.path.stat()
            stamp: object = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self.rules = parsed(self.path.read_text("utf-8"), self.path.name)
            self._stamp, self.problem = stamp, None
        except FileNotFoundError:
            self.rules, self._stamp, self.problem = [], None, None
        except (OSError, ValueError) as fault:
            self.rules, self._stamp = [], None
            self.problem = f"{self.path} can't be used ({fault}), so everything asks. Mend or remove it."


def parsed(text: str, origin: str) -> list[Rule]:
    """The rules of a file's text. Raises ValueError that says what is wrong."""
    table = tomllib.loads(text)
    if unknown := set(table) - set(TABLES):
        raise ValueError(f"it may hold [[allow]], [[ask]] and [[reject]], not {sorted(unknown)[0]}")
    return [_rule(TABLES[name], raw, origin) for name, entries in table.items() for raw in _entries(name, entries)]


def _entries(name: str, entries: Any) -> list[Any]:
    if not isinstance(entries, list):
        raise ValueError(f"{name} must be written as [[{name}]]")
    return entries


def _rule(verdict: Verdict, raw: Any, origin: str) -> Rule:
    if not isinstance(raw, dict) or set(raw) - set(FIELDS) or "tool" not in raw or len(raw) > 2:
        raise ValueError(f"each {verdict} needs a tool, and may have one of {', '.join(FIELDS[1:])}")
    if not all(isinstance(value, str) and value for value in raw.values()):
        raise ValueError(f"the values of {verdict} must be texts")
    for name, value in raw.items():
        can_meet, needed = _NEEDED[name]
        if not can_meet(value):
            raise ValueError(f"{name} = {_quoted(value)} meets no call: it must be {needed}")
    return Rule(verdict, **raw, origin=origin)


def _is_pattern(path: str) -> bool:
    """A negation, a comment or a way up: as a pattern they mean nothing, and a refusal would not hold."""
    return bool(path.strip()) and path[0] not in "!#" and ".." not in re.split(r"[/\\]", path)


_NEEDED: Mapping[str, tuple[Callable[[str], object], str]] = {
    "tool": (str.strip, "the name of a tool"),
    "command": (bool, "the text of a command"),
    "prefix": (bare_words, "the words that a command begins with"),
    "path": (
        _is_pattern,
        "a pattern within the project, or from `/` or `~`, without `..`, `!` and `#` at its beginning",
    ),
    "domain": (
        lambda domain: HOST.fullmatch(domain.removeprefix("*.")),
        "a host, such as example.com or *.example.com, in ASCII (`xn--…`), without https://, port and path",
    ),
}


def _block(rule: Rule) -> str:
    values: Mapping[str, str | None] = {name: getattr(rule, name) for name in FIELDS}
    lines = [f"{name} = {_quoted(value)}\n" for name, value in values.items() if value is not None]
    return f"\n[[{rule.verdict}]]\n" + "".join(lines)


def _quoted(text: str) -> str:
    """A TOML basic string. JSON's is one, but for DEL and for half characters, which TOML can't hold."""
    clean = text.encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007F")
