"""Permissions: what runs, what asks and what is refused, by mode and by what was remembered for the project.

Remembered choices are in `<home>/permissions/<folder>-<hash>.toml`, which a person may read and edit. Nothing in a
project's own folder grants a right.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from attrs import evolve, frozen

from acp_adapter.agent.command_prefix import covers, prefix_of
from acp_adapter.tools.paths import inside
from acp_adapter.tools.port import Intent

log = logging.getLogger(__name__)

Mode = Literal["ask", "accept_edits", "plan", "bypass"]
MODES: tuple[Mode, ...] = get_args(Mode)
Verdict = Literal["allow", "ask", "reject"]
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
"""ACP's PermissionOptionKind."""


@frozen
class Decision:
    """`reason` is a sentence: for the model where the verdict is reject, for the user where it is ask."""

    verdict: Verdict
    reason: str = ""


@frozen
class Rule:
    """One remembered choice: a tool, for commands with their exact text or the words they begin with.

    A rule for run_command that names neither is meant for every command; only a person writes that.
    """

    verdict: Literal["allow", "reject"]
    tool: str
    command: str | None = None
    prefix: str | None = None

    def matches(self, tool: str, intent: Intent) -> bool:
        if self.tool != tool:
            return False
        if self.command is not None:
            return intent.command == self.command
        if self.prefix is not None:
            return intent.command is not None and self._begins(intent.command)
        return True

    def _begins(self, command: str) -> bool:
        """An allowance covers plain commands only; a refusal also holds where more follows in the same line."""
        assert self.prefix is not None
        if self.verdict == "reject":
            return command.split()[: len(self.prefix.split())] == self.prefix.split()
        return covers(self.prefix, command)

    def named(self) -> str:
        """What it is about, in words for a button."""
        if self.command is not None:
            text = " ".join(self.command.split())
            return f"`{text if len(text) <= 60 else text[:60] + '…'}`"
        return f"commands that begin with `{self.prefix}`" if self.prefix is not None else f"{self.tool}"


@frozen
class Choice:
    """One option that the user is offered: ACP's PermissionOption, and the rule it makes, if any."""

    kind: OptionKind
    name: str
    rule: Rule | None = None

    @property
    def id(self) -> str:
        return self.kind

    @property
    def allows(self) -> bool:
        return self.kind in ("allow_once", "allow_always")

    @property
    def remembered(self) -> bool:
        return self.rule is not None


def decide(mode: Mode, tool: str, intent: Intent, roots: Sequence[Path], rules: Rules) -> Decision:
    """Whether a call may run.

    | mode         | reads | edits  | commands | outside the roots |
    |--------------|-------|--------|----------|-------------------|
    | ask          | run   | ask    | ask      | ask               |
    | accept_edits | run   | run    | ask      | ask               |
    | plan         | run   | refuse | refuse   | reads ask         |
    | bypass       | run   | run    | run      | run               |

    What was always rejected is refused in every mode, bypass too. What was always allowed runs in ask and
    accept_edits, inside the roots only. Two places ask even so: this program's own folder, which holds keys and
    these rules, and edits below `.git`, which git would run. A rules file that can't be read: everything asks.
    """
    remembered = rules.verdict(tool, intent)
    if remembered == "reject":
        return Decision("reject", f"The user has always rejected this ({tool}) in this project. Find another way.")
    if mode == "bypass" or intent.action == "none":
        return Decision("allow")
    if mode == "plan" and intent.action != "read":
        return Decision("reject", "The session is in plan mode: only reading is possible. Present your plan instead.")
    if reason := _always_asks(intent, roots, rules):
        return Decision("ask", reason)
    runs = intent.action == "read" or remembered == "allow" or (mode == "accept_edits" and intent.action == "edit")
    return Decision("allow") if runs else Decision("ask", f"In {mode} mode this asks first.")


def choices(tool: str, intent: Intent, roots: Sequence[Path], rules: Rules) -> list[Choice]:
    """What to offer the user. Only a choice that would hold the next time is offered as `always`."""
    rule = _rule(tool, intent)
    once = [Choice("allow_once", "Allow once"), Choice("reject_once", "Reject once")]
    if rules.problem:
        return once
    refused = Choice("reject_always", f"Always reject {rule.named()} in this project", evolve(rule, verdict="reject"))
    if _always_asks(intent, roots, rules):
        return [*once, refused]
    allowed = Choice("allow_always", f"Always allow {rule.named()} in this project", rule)
    return [once[0], allowed, once[1], refused]


class Rules:
    """What was always allowed or rejected in one project. Several processes may share the file.

    `problem` is None, or a sentence about a file that can't be understood; it is then left as it is, nothing is
    remembered, and everything asks.
    """

    def __init__(self, home: Path, cwd: Path) -> None:
        project = os.path.realpath(cwd)
        slug = re.sub(r"[^A-Za-z0-9]+", "-", Path(project).name).strip("-")[:40] or "root"
        digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:12]
        self.home = Path(os.path.realpath(home))
        self.path = self.home / "permissions" / f"{slug}-{digest}.toml"
        self.problem: str | None = None
        self._project = project
        self._rules: list[Rule] = []
        self._stamp: object = None

    @classmethod
    def load(cls, home: Path, cwd: Path) -> Rules:
        rules = cls(home, cwd)
        rules.refresh()
        return rules

    def refresh(self) -> None:
        """Read the file again if it has changed: another process or a person may have written to it."""
        try:
            status = self.path.stat()
            stamp: object = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._rules = list(_parsed(self.path.read_text("utf-8")))
            self._stamp, self.problem = stamp, None
        except FileNotFoundError:
            self._rules, self._stamp, self.problem = [], None, None
        except (OSError, ValueError) as fault:
            self._rules, self._stamp = [], None
            self.problem = f"{self.path} can't be used ({fault}), so everything asks. Mend or remove it."

    def verdict(self, tool: str, intent: Intent) -> Literal["allow", "reject"] | None:
        """What was remembered about such a call. A rejection outweighs an allowance."""
        self.refresh()
        found = {rule.verdict for rule in self._rules if rule.matches(tool, intent)}
        return "reject" if "reject" in found else "allow" if found else None

    def remember(self, choice: Choice) -> None:
        """Add the choice's rule to the file, which keeps all else it holds. If it can't be written, the log says so,
        and the choice was for this once."""
        self.refresh()
        if choice.rule is None or choice.rule in self._rules or self.problem:
            return
        try:
            self._append(_block(choice.rule))
        except OSError as fault:
            log.warning("%s can't be written (%s): the choice is not remembered", self.path, fault)
        self.refresh()

    def _append(self, block: str) -> None:
        """One write at the end of the file, so that two processes at once do not lose each other's rule."""
        for folder in (self.home, self.path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            data = (block if before else _HEADER.format(project=_quoted(self._project)) + block).encode()
            if os.write(descriptor, data) != len(data):
                os.ftruncate(descriptor, before)
                raise OSError("the disk is full")
        finally:
            os.close(descriptor)


_HEADER = """\
# What was always allowed or rejected in the project {project}.
# Each rule names a tool; for run_command its exact `command`, or the `prefix` it begins with.
# Change or delete rules as you like; a change holds from the next call on.
"""


def _always_asks(intent: Intent, roots: Sequence[Path], rules: Rules) -> str:
    """Why a call asks whatever was remembered; empty where it need not."""
    if rules.problem:
        return rules.problem
    for path in intent.paths:
        if not inside(path, roots):
            return f"{path} is outside the session's folders."
        if intent.action != "execute" and (inside(path, [rules.home]) or _searches(intent, path, rules.home)):
            return f"{rules.home} is the folder of this program, which holds keys and permissions."
        if intent.action == "edit" and ".git" in (part.casefold() for part in path.parts):
            return f"{path} belongs to git, which may run what is written there."
    return ""


def _searches(intent: Intent, path: Path, home: Path) -> bool:
    """Whether a search of `path` comes to `home`: searches leave out what is below a hidden folder."""
    if intent.kind != "search" or not inside(home, [path]):
        return False
    return not any(part.startswith(".") for part in home.relative_to(path).parts)


def _rule(tool: str, intent: Intent) -> Rule:
    if intent.command is None:
        return Rule("allow", tool)
    prefix = prefix_of(intent.command)
    return Rule("allow", tool, command=None if prefix else intent.command, prefix=prefix)


def _parsed(text: str) -> list[Rule]:
    table = tomllib.loads(text)
    if unknown := set(table) - {"allow", "reject"}:
        raise ValueError(f"it may hold [[allow]] and [[reject]], not {sorted(unknown)[0]}")
    return [_parsed_rule(verdict, raw) for verdict in ("allow", "reject") for raw in table.get(verdict, [])]


def _parsed_rule(verdict: Any, raw: Any) -> Rule:
    if not isinstance(raw, dict) or set(raw) - {"tool", "command", "prefix"} or "tool" not in raw:
        raise ValueError(f"each {verdict} needs a tool, and may have a command or prefix")
    if not all(isinstance(value, str) and value for value in raw.values()):
        raise ValueError(f"the values of {verdict} must be texts")
    return Rule(verdict, **raw)


def _block(rule: Rule) -> str:
    values = {"tool": rule.tool, "command": rule.command, "prefix": rule.prefix}
    lines = [f"{name} = {_quoted(value)}\n" for name, value in values.items() if value is not None]
    return f"\n[[{rule.verdict}]]\n" + "".join(lines)


def _quoted(text: str) -> str:
    """A TOML basic string. JSON's is one, but for DEL and for half characters, which TOML can't hold."""
    clean = text.encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007F")
