"""Rules: what a person has allowed, wants to be asked about, or has refused, for one project or everywhere.

They are in `<home>/permissions/`: `everywhere.toml`, and one file for each project. Nothing in a project's own folder
grants a right. A refusal outweighs a question, and that an allowance, whatever file they are in.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from attrs import evolve, field, frozen

from acp_adapter.agent import command_prefix
from acp_adapter.agent.command_line import may_begin_with, plain_commands
from acp_adapter.tools.paths import printable
from acp_adapter.tools.port import Intent

if TYPE_CHECKING:
    import pathspec

Verdict = Literal["allow", "ask", "reject"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@frozen
class Rule:
    """One rule: a tool (`edit_file`, `git__*`), and perhaps what it is about.

    `command` is the exact text, `prefix` the words that a plain command begins with; `path` is a pattern as in
    .gitignore, relative to the project unless it begins with `/` or `~`; `domain` is `example.com`, or `*.example.com`
    for those below it. At most one of the four. `origin` says which file it is from.
    """

    verdict: Verdict
    tool: str
    command: str | None = None
    prefix: str | None = None
    path: str | None = None
    domain: str | None = None
    origin: str = field(default="", eq=False)

    def named(self) -> str:
        """What it is about, in words for a button and for the record."""
        if self.command is not None:
            text = printable(" ".join(self.command.split()))
            return f"`{text if len(text) <= 60 else text[:60] + '…'}`"
        if self.prefix is not None:
            return f"commands that begin with `{self.prefix}`"
        about = f" of `{self.path}`" if self.path is not None else f" from {self.domain}" if self.domain else ""
        return f"{self.tool}{about}"

    def cited(self) -> str:
        """The rule and its file, for the record of a decision."""
        return f"{self.verdict} {self.named()}" + (f" ({self.origin})" if self.origin else "")


@frozen
class Rulebook:
    """The rules that hold in one project, and how they meet a call."""

    project: Path
    rules: Sequence[Rule] = ()

    def ruling(self, tool: str, intent: Intent) -> Rule | None:
        """The rule that decides such a call: a refusal before a question before an allowance; None where none fits."""
        fitting = [rule for rule in self.rules if fnmatchcase(tool, rule.tool)]
        for verdict in ("reject", "ask"):
            for rule in fitting:
                if rule.verdict == verdict and self._concerns(rule, intent):
                    return rule
        return self._allowance([rule for rule in fitting if rule.verdict == "allow"], intent)

    def hiding(self, tool: str, asked: bool) -> Callable[[Path], bool]:
        """Tells of a file whether a search must not show it: reading it would be refused, or ask first where the user
        was not `asked` about the search."""
        hidden = [
            rule
            for rule in self.rules
            if rule.verdict in (("reject",) if asked else ("reject", "ask"))
            and rule.path is not None
            and (fnmatchcase(tool, rule.tool) or fnmatchcase("read_file", rule.tool))
        ]
        return lambda path: any(self._is_about(rule, path) for rule in hidden)

    def _concerns(self, rule: Rule, intent: Intent) -> bool:
        """Whether a refusal or question is about such a call: rather once too often."""
        if rule.command is not None:
            return intent.command is not None and intent.command.strip() == rule.command.strip()
        if rule.prefix is not None:
            return intent.command is not None and may_begin_with(intent.command, rule.prefix.split())
        if rule.path is not None:
            return any(self._is_about(rule, path) for path in (*intent.paths, *intent.passed))
        return rule.domain is None or _is_below(intent.domain, rule.domain)

    def _allowance(self, rules: Iterable[Rule], intent: Intent) -> Rule | None:
        """One rule for the whole call; or, for a pipeline or list of commands, one for each of its parts."""
        allowing = list(rules)
        for rule in allowing:
            if self._covers(rule, intent):
                return rule
        parts = plain_commands(intent.command) if intent.command else None
        if not parts or len(parts) == 1:
            return None
        found = [self._part_rule(allowing, words) for words in parts]
        whole = [rule for rule in found if rule]
        return whole[0] if len(whole) == len(found) else None

    def _part_rule(self, rules: Iterable[Rule], words: list[str]) -> Rule | None:
        return next((r for r in rules if r.prefix is not None and command_prefix.covers_words(r.prefix, words)), None)

    def _covers(self, rule: Rule, intent: Intent) -> bool:
        """Whether an allowance is about all that such a call does."""
        if rule.command is not None:
            return intent.command == rule.command
        if rule.prefix is not None:
            return intent.command is not None and command_prefix.covers(rule.prefix, intent.command)
        if rule.path is not None:
            return bool(intent.paths) and all(self._is_at(rule, path, folded=False) for path in intent.paths)
        return rule.domain is None or _is_below(intent.domain, rule.domain)

    def _is_about(self, rule: Rule, path: Path) -> bool:
        """Whether a refusal or question is about the path; what begins with `/` may be meant from the project, too, as
        in .gitignore."""
        within = evolve(rule, path=f"{self.project.as_posix()}{rule.path}") if str(rule.path).startswith("/") else rule
        return any(self._is_at(each, path, folded=True) for each in {rule, within})

    def _is_at(self, rule: Rule, path: Path, *, folded: bool) -> bool:
        """Whether an absolute path fits the rule's pattern. `folded`: capitals count as small letters, and all ways to
        write a character as one, since on many disks they name the same file."""
        pattern = str(rule.path)
        absolute = os.path.isabs(os.path.expanduser(pattern))  # noqa: PTH111, PTH117  (a pattern is no path)
        if absolute:
            pattern, name = os.path.expanduser(pattern), path.as_posix().lstrip("/")  # noqa: PTH111
        elif path == self.project or self.project in path.parents:
            name = path.relative_to(self.project).as_posix()
        else:
            return False
        name += "/" if path != self.project and path.is_dir() else ""
        patterns = {pattern, _led(pattern) if absolute else pattern}
        spec = _spec(_folded(each) if folded else each for each in patterns)
        return spec.match_file(_folded(name) if folded else name)


def _led(pattern: str) -> str:
    """The pattern from where the folders that it names lead."""
    plain = re.match(r"[^*?\[\\]*$|[^*?\[\\]*/", pattern)
    named = plain[0] if plain else ""
    return os.path.realpath(named) + ("/" if named.endswith("/") else "") + pattern[len(named) :] if named else pattern


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _spec(patterns: Iterable[str]) -> pathspec.GitIgnoreSpec:
    # Only where there are rules about paths: it takes 20 ms to import.
    import pathspec

    return pathspec.GitIgnoreSpec.from_lines(patterns)


def _is_below(domain: str | None, pattern: str) -> bool:
    if domain is None:
        return False
    wanted, asked = pattern.lower().rstrip("."), domain.lower().rstrip(".")
    return asked.endswith(wanted[1:]) if wanted.startswith("*.") else asked == wanted


def allowance(tool: str, intent: Intent) -> tuple[Rule, ...]:
    """The rules that would allow such a call the next time, without allowing much else along with it."""
    if intent.command is not None:
        return _command_rules(tool, intent.command)
    if intent.domain is not None:
        return (Rule("allow", tool, domain=intent.domain),)
    return (Rule("allow", tool),)


def refusal(tool: str, intent: Intent) -> Rule:
    """The rule that would refuse such a call the next time."""
    rules = allowance(tool, intent)
    if len(rules) > 1:
        return Rule("reject", tool, command=intent.command)
    return evolve(rules[0], verdict="reject")


def _command_rules(tool: str, command: str) -> tuple[Rule, ...]:
    """For each part of a pipeline or list its beginning, where each has one that may stand for others like it."""
    parts = plain_commands(command) or []
    prefixes = [command_prefix.prefix_of_words(words) for words in parts]
    known = [prefix for prefix in prefixes if prefix]
    if not parts or len(known) < len(parts):
        return (Rule("allow", tool, command=command),)
    return tuple(Rule("allow", tool, prefix=prefix) for prefix in dict.fromkeys(known))
