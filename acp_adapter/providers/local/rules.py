"""What the small model is not trusted with: it is refused, or answered in its stead."""

from __future__ import annotations

import re

LOOKING = frozenset(
    "status log diff show blame shortlog describe rev-parse rev-list ls-files ls-tree grep cat-file count-objects "
    "name-rev whatchanged version help --version --help".split()
)
"""git's commands that change nothing."""
LISTING = frozenset("branch tag remote stash config worktree notes reflog".split())
"""git's commands that change nothing when they are asked for a list."""

_GIT = re.compile(
    r"(?:^|[\s;&|(`\"'/])git((?:\s+(?:-[cC]\s+\S+|--[\w-]+=\S+|--no-pager|-P|-p|--paginate))*)"
    r"\s+([^\s;&|)`\"']+)([^;&|\n)`]*)"
)
"""A call of git in a shell command: its own options, its command, and the rest."""
_LIST = re.compile(
    r"\s*(?:$|(?:list|show|get-url|--list|-l|-a|-r|-v|-vv|--all|--show-current|--get|--get-all|--contains|--merged)"
    r"(?:\s|$))"
)

_WHO = re.compile(
    r"\W*(?:(?:hi|hello|hey)\W+)?"
    r"(?:who (?:are you|made you|am i talking to)|what are you|what(?:'s| is) your name|introduce yourself"
    r"|(?:what|which) (?:ai |language )?model (?:are you|is this|do you use)"
    r"|are you (?:chatgpt|gpt|claude|qwen|an ai)\b.{0,20})"
    r"(?: exactly| really| please)?\W*",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:I(?:'ve| have)?|has been|have been|is now|was|were|successfully)\s+(?:now\s+|successfully\s+)?"
    r"(?:created|changed|updated|edited|added|fixed|replaced|renamed|deleted|removed|written|wrote|modified|saved|moved)\b",
    re.IGNORECASE,
)

NOTHING_CHANGED = "(No file was changed in this turn.)"


def changes_git(command: str) -> bool:
    """Whether a shell command has git do more than look."""
    return any(not _only_looks(found[2], found[3]) for found in _GIT.finditer(command))


def git_refusal(command: str) -> str:
    return (
        "The embedded model does not change git repositories: it is too small to be trusted with that. "
        f"If it is what you want, run it yourself:\n\n    {command}"
    )


def asks_who(text: str) -> bool:
    """Whether the user asks nothing but who is answering."""
    return bool(_WHO.fullmatch(text.strip()))


def who(model: str) -> str:
    return (
        f"I am acp-adapter's embedded model, {model}: a small language model that runs on this computer's own "
        "processor and sends nothing anywhere. I can look at files, search, run commands and make small files. "
        "For more than that choose a bigger model (`acp-adapter setup`)."
    )


def claims_change(text: str) -> bool:
    """Whether a text says that something was changed."""
    return bool(_CLAIM.search(text))


def _only_looks(command: str, rest: str) -> bool:
    if command in LISTING:
        return bool(_LIST.match(rest)) and not (command == "stash" and not rest.strip())
    return command in LOOKING
