"""What the next step may be, by what was asked and done: the fewer wrong steps are on offer, the fewer are made.

The words that this goes by are English. In other languages everything is offered that is safe, and the model chooses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from acp_adapter.providers.local.record import Turn, plain
from acp_adapter.providers.local.steps import NAMES, Offer

_FILE = re.compile(r"(?<![\w/.@-])(?:\.{0,2}/)?(?:[\w.-]+/)*[\w.-]*[\w-]\.[A-Za-z]\w{0,9}(?!\.?[\w/@(])")
"""A name with an ending, with or without folders: `src/app.py`, but no `1.5`, no address and no method call."""

_WORD = re.compile(r"[\w./-]*\w/?")
_CHANGE = (
    r"(?:change|set|rename|fix|replace|update|correct|turn|switch|bump|raise|lower|increase|decrease|make|edit|modify)"
)
_EDIT = re.compile(rf"(?:^|\b(?:please|and|then|now|you|to)\s+)\W*{_CHANGE}\b|^\W*in\b.*\b{_CHANGE}\b", re.IGNORECASE)
_NEW = re.compile(r"\b(?:create|new|called|named)\b", re.IGNORECASE)
_WRITE = re.compile(r"\b(?:write|create|make|add|save|put|new|generate|need|want|like)\b", re.IGNORECASE)
_RUN = re.compile(r"\b(?:run|runs|execute|start|launch|test|tests|try|compile|build|call)\b", re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words(
    "a all am any are can do does for have how i in is it me my of on our please the this to what where which who"
)
"""Where none of these is in a request, it is not judged by its words."""
ORDINARY = ENGLISH | _words(
    "a all and are branch branches can code contents could current directories directory display do does entries "
    "everything file files find folder folders from git give has have here inside is kept let list ls me need now "
    "open please project read repo repository run search see show tell tests that there these things under us want we "
    "whole with you"
)
"""Words that are hardly the name of a folder."""
USUAL = {
    "README.md": r"read ?me",
    "LICENSE": r"licen[sc]e",
    "CHANGELOG.md": r"change ?log|changes|newest version|latest version",
    "pyproject.toml": r"pyproject|dependenc|package|project's|version",
    "package.json": r"dependenc|package|project's|version|npm",
    "requirements.txt": r"requirements|dependenc",
    "Makefile": r"makefile",
    "Dockerfile": r"dockerfile",
}
"""Files that people speak of without their full names, and how."""
_KIND = re.compile(r"(?:^|\s)\*?\.[a-z]\w{0,4}\b")
"""A kind of files: `.ts`, `*.py`."""
_GIT = re.compile(r"\b(?:git|commits?|branch(?:es)?|tags?|diff)\b", re.IGNORECASE)
_COUNT = re.compile(r"\b(?:count|how many|how (?:big|large|long)|number of|size)\b", re.IGNORECASE)
_UNDER = re.compile(
    r"\b(?:in|under|below|inside|within)\s+(?:the\s+|folder\s+|directory\s+)*([a-z_][\w./-]*?)/?"
    r"(?:\s+(?:folder|directory))?\s*[.?!]*$"
)
"""The folder at the end of "… files under docs."."""


def offered(names: Iterable[str], turn: Turn) -> Offer:
    """The offer for the next step of a turn, of the agent's tools `names`."""
    tools = NAMES.keys() & names
    return _plain_edit(tools, turn) or _first(tools, turn) or _later(tools, turn)


def _first(tools: set[str], turn: Turn) -> Offer | None:
    """At the turn's beginning a path must come from the user, who alone knows one; None later on."""
    if turn.calls:
        return None
    asked = turn.asked
    reads, folders = files_in(asked) or usual_files(asked), folders_in(asked)
    unfit = {"edit_file"} if wants_new_file(asked) else {"edit_file", "write_file"}
    unfit |= set() if reads else {"read_file"}
    unfit |= {"list_directory"} if _GIT.search(asked) or not folders else set()
    return Offer(frozenset(tools - unfit), reads=reads, folders=folders, under=folder_under(asked))


def _later(tools: set[str], turn: Turn) -> Offer:
    unfit = set() if wants_new_file(turn.asked) else {"write_file"}
    if (turn.ends_with_edit or _is_about_read_files(turn)) and not _RUN.search(turn.asked):
        unfit.add("run_command")
    return Offer(frozenset(tools - unfit), turn.editable() if wants_change(turn.asked) else ())


def _plain_edit(tools: set[str], turn: Turn) -> Offer | None:
    """A request to change one file that it names goes one way: read the file, then edit it. Else None."""
    file = file_to_edit(turn.asked)
    if not file or not {"read_file", "edit_file"} <= tools:
        return None
    if not turn.calls:
        return Offer(frozenset(["read_file"]), reads=(file,), silent=True)
    here = [each for each in turn.editable() if plain(each.path) == plain(file)]
    if here and not any(call.tool == "edit_file" for call in turn.calls):
        return Offer(frozenset(["edit_file"]), here, silent=True)
    return None


def _is_about_read_files(turn: Turn) -> bool:
    """Whether an English request names files, wants no more than what is in them, and one of them was read."""
    named = {plain(file) for file in files_in(turn.asked)}
    is_more = _GIT.search(turn.asked) or _COUNT.search(turn.asked) or not _is_english(turn.asked)
    read = {plain(call.path) for call in turn.calls if call.tool == "read_file" and not call.failed}
    return bool(named & read) and not is_more


def files_in(text: str) -> tuple[str, ...]:
    """The files that a text names, in order."""
    return tuple(dict.fromkeys(_FILE.findall(text)))


def file_to_edit(text: str) -> str | None:
    """The one file that a text asks to change, where it plainly does."""
    files = files_in(text)
    asks = _EDIT.search(text) and not _NEW.search(text) and not text.rstrip().endswith("?")
    return files[0] if asks and len(files) == 1 else None


def usual_files(text: str) -> tuple[str, ...]:
    return tuple(name for name, words in USUAL.items() if re.search(words, text, re.IGNORECASE))


def folders_in(text: str) -> tuple[str, ...]:
    """The working folder, and what in a text could be the name of another; none where it is about files."""
    if files_in(text) or _KIND.search(text):
        return ()
    words = [word for word in _WORD.findall(text) if word.lower() not in ORDINARY]
    return tuple(dict.fromkeys([".", *words]))


def folder_under(text: str) -> str | None:
    """The folder that a text says to look in, if it names one."""
    found = _UNDER.search(text)
    return found[1] if found and found[1] not in ORDINARY and not files_in(found[1]) else None


def wants_new_file(text: str) -> bool:
    """Whether a text may ask for a new file; True as well for a text that is not English."""
    return bool(_WRITE.search(text)) or not _is_english(text)


def wants_change(text: str) -> bool:
    return bool(_EDIT.search(text)) or not _is_english(text)


def _is_english(text: str) -> bool:
    return not ENGLISH.isdisjoint(re.findall(r"[a-z]+", text.lower()))
