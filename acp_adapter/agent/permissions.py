"""Permissions: what runs, what asks and what is refused, by mode and by rule."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from attrs import frozen

from acp_adapter.agent.rules import Rule, Verdict, allowance, refusal
from acp_adapter.agent.rules_file import Rules
from acp_adapter.project_defaults import NAME as PROJECT_DEFAULTS
from acp_adapter.tools.paths import inside
from acp_adapter.tools.port import Intent

Mode = Literal["ask", "accept_edits", "plan", "bypass"]
MODES: tuple[Mode, ...] = get_args(Mode)
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]
"""ACP's PermissionOptionKind."""


@frozen
class Decision:
    """`reason` is a sentence: for the model where the verdict is reject, for the user where it is ask. `rule` is the
    rule that decided; None where the mode did."""

    verdict: Verdict
    reason: str = ""
    rule: Rule | None = None


@frozen
class Choice:
    """One option that the user is offered: ACP's PermissionOption, and the rules it makes, if any."""

    kind: OptionKind
    name: str
    rules: tuple[Rule, ...] = ()

    @property
    def id(self) -> str:
        return self.kind

    @property
    def allows(self) -> bool:
        return self.kind in ("allow_once", "allow_always")


def decide(
    mode: Mode, tool: str, intent: Intent, roots: Sequence[Path], rules: Rules, readable: Sequence[Path] = ()
) -> Decision:
    """Whether a call may run. `readable` are folders outside the roots whose files are read like those inside.

    | mode         | reads | edits  | commands | fetches | outside the roots |
    |--------------|-------|--------|----------|---------|-------------------|
    | ask          | run   | ask    | ask      | ask     | ask               |
    | accept_edits | run   | run    | ask      | ask     | ask               |
    | plan         | run   | refuse | refuse   | ask     | reads ask         |
    | bypass       | run   | run    | run      | run     | run               |

    A rule that rejects holds in every mode, bypass too. One that asks holds in all but bypass; one that allows, in ask
    and accept_edits, inside the roots only (for a fetch in plan too). Three places ask even so: this program's own
    folder, which holds keys and these rules, edits below `.git`, which git would run, and edits of a project's
    defaults, which say in which mode the next session begins. A rules file that can't be read: everything asks.
    """
    rule = rules.book().ruling(tool, intent)
    if rule and rule.verdict == "reject":
        return Decision("reject", f"A rule of the user rejects this: {rule.named()}. Find another way.", rule)
    if mode == "bypass" or (intent.action == "none" and rule is None):
        return Decision("allow")
    if mode == "plan" and intent.action in ("edit", "execute"):
        return Decision("reject", "The session is in plan mode: only reading is possible. Present your plan instead.")
    if reason := _always_asks(intent, roots, rules, readable):
        return Decision("ask", reason)
    if rule:
        return Decision(rule.verdict, f"A rule asks first: {rule.named()}.", rule)
    runs = intent.action in ("read", "none") or (mode == "accept_edits" and intent.action == "edit")
    return Decision("allow") if runs else Decision("ask", f"In {mode} mode this asks first.")


def choices(tool: str, intent: Intent, roots: Sequence[Path], rules: Rules) -> list[Choice]:
    """What to offer the user. Only a choice that would hold the next time is offered as `always`."""
    once = [Choice("allow_once", "Allow once"), Choice("reject_once", "Reject once")]
    if rules.problem:
        return once
    rejecting = refusal(tool, intent)
    refused = Choice("reject_always", f"Always reject {rejecting.named()} in this project", (rejecting,))
    standing = rules.book().ruling(tool, intent)
    if _always_asks(intent, roots, rules) or (standing and standing.verdict == "ask"):
        return [*once, refused]
    allowing = allowance(tool, intent)
    named = " and ".join(rule.named() for rule in allowing)
    allowed = Choice("allow_always", f"Always allow {named} in this project", allowing)
    return [once[0], allowed, once[1], refused]


def _always_asks(intent: Intent, roots: Sequence[Path], rules: Rules, readable: Sequence[Path] = ()) -> str:
    """Why a call asks whatever the rules allow; empty where it need not."""
    if rules.problem:
        return rules.problem
    for path in intent.paths:
        if intent.action == "read" and inside(path, readable):
            continue
        if not inside(path, roots):
            return f"{path} is outside the session's folders."
        if intent.action != "execute" and (_is_in_home(path, rules.home) or _searches(intent, path, rules.home)):
            return f"{rules.home} is the folder of this program, which holds keys and permissions."
        if intent.action == "edit" and any(map(_is_git, path.parts)):
            return f"{path} belongs to git, which may run what is written there."
        if intent.action == "edit" and _folded(path.name) == PROJECT_DEFAULTS:
            return f"{path} says in which mode sessions begin."
    return ""


def _is_in_home(path: Path, home: Path) -> bool:
    """Whether some file system takes the path for one in there."""
    return [_folded(part) for part in path.parts[: len(home.parts)]] == [_folded(part) for part in home.parts]


def _is_git(part: str) -> bool:
    """Whether some file system takes the name for `.git`: ones that don't tell capitals, short names, or dots and
    spaces at the end, or that leave out what can't be seen."""
    return _folded(part) in (".git", "git~1")


def _folded(part: str) -> str:
    seen = "".join(sign for sign in part if unicodedata.category(sign) != "Cf")
    return seen.casefold().rstrip(" .")


def _searches(intent: Intent, path: Path, home: Path) -> bool:
    """Whether a search of `path` comes to `home`: searches leave out what is below a hidden folder."""
    if intent.kind != "search" or not inside(home, [path]):
        return False
    return not any(part.startswith(".") for part in home.relative_to(path).parts)
