"""A shell command as permission rules see it: the plain commands in it, each looked at by itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_JOINTS = re.compile(r"\|\||&&|[|;\n]")
"""What joins plain commands. Inside quotes it leaves a part with a quote that is open: then nothing is plain."""

_SHELL = re.compile(r"[$`;&|<>(){}!\\\n\r%^*?\[\]~#]")
"""What a shell does more with than pass it on. Any of it, even quoted, and a part is not plain."""

_STARTS = re.compile(r"\|\||&&|[|;&\n(){}`]")
"""Where another command may begin, for the eyes of a refusal: rather one too many."""

_IFS = re.compile(r"\$\{?IFS\b\}?")
"""A space, to a shell."""

_DEFAULT = re.compile(r"\$\{\w*:?[-+=?]?([^{}]*)\}|\$[@*1-9]|\$\([ \t]*\)|``")
"""What a shell takes for the words in it, or for nothing."""

_BRACES = re.compile(r"\{([^{}\s]*,[^{}\s]*)\}")
"""Words, to some shells."""

_REDIRECTION = re.compile(r"(\d*|&)[<>]+&?[ \t]*[^\s|;&(){}`$<>]+")
"""Where a shell allows it, in the middle of a command; one to a place that is worked out stays."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_WRAPPERS = frozenset(
    "! if elif while until then else do time coproc trap sudo doas su env command builtin exec eval nohup nice ionice "
    "timeout watch xargs parallel find stdbuf setsid flock strace ltrace script busybox sh bash dash zsh fish ash ksh "
    "csh tcsh pwsh chroot unshare nsenter runuser pkexec taskset chrt setarch systemd-run dbus-run-session xvfb-run "
    "fakeroot firejail bwrap caffeinate unbuffer rlwrap entr hyperfine ssh".split()
)
"""What may stand before a command, with options and words of its own."""


def plain_commands(command: str) -> list[list[str]] | None:
    """The words of each command of a pipeline or list (`|`, `&&`, `||`, `;`, lines); None where anything in it is more
    than words: substitutions, redirections, globs, variables, background."""
    parts = [_words(part) for part in _JOINTS.split(command) if part.strip()]
    plain = [words for words in parts if words]
    return plain if plain and len(plain) == len(parts) else None


def words_of(command: str) -> list[str] | None:
    """The words of one plain command, None where it is not one."""
    return _words(command)


def may_begin_with(command: str, wanted: list[str]) -> bool:
    """Whether any command in the text seems to begin with these words, however it is joined, quoted or wrapped.

    For refusals, which a model could otherwise step around by `cd x && …`, `sudo …`, `/bin/…` or quotes. A program
    that runs another one under a name of its own is not seen through.
    """
    joined = _IFS.sub(" ", command.replace("\\\n", " "))
    spread = _BRACES.sub(lambda braces: braces[1].replace(",", " "), _DEFAULT.sub(r"\1", joined))
    texts = [form(text) for text in (joined, spread) for form in (str, lambda text: _REDIRECTION.sub(" ", text))]
    bare = bare_words(" ".join(wanted))
    return any(_begins(words, bare) for text in texts for start in _STARTS.split(text) for words in _beginnings(start))


def _words(part: str) -> list[str] | None:
    if _SHELL.search(part) or not all(sign.isprintable() or sign == "\t" for sign in part):
        return None
    try:
        return shlex.split(part)
    except ValueError:
        return None


def _beginnings(start: str) -> Iterator[list[str]]:
    """The words without quotes, backslashes and assignments; after a wrapper, from any of its words on, too."""
    words = bare_words(start)
    wrapped = False
    for at, word in enumerate(words):
        yield words[at:]
        wrapped = wrapped or _program(word) in _WRAPPERS
        if not wrapped and not _ASSIGNMENT.match(word):
            return


def bare_words(text: str) -> list[str]:
    """Its words as a refusal compares them: without quotes and backslashes."""
    return re.sub(r"[\"'\\$]", "", text).split()


def _program(word: str) -> str:
    """Its name alone: on some disks capitals do not count, and `.exe` may be left out."""
    return word.rpartition("/")[2].casefold().removesuffix(".exe")


def _begins(words: list[str], wanted: list[str]) -> bool:
    """The program's folder does not count, nor do options before the second word, each perhaps with its value."""
    program, rest = words[0], words[1:]
    if not wanted or _program(program) != _program(wanted[0]):
        return False
    if len(wanted) == 1 or rest[: len(wanted) - 1] == wanted[1:]:
        return True
    return bool(rest) and rest[0].startswith("-") and any(_begins([program, *rest[n:]], wanted) for n in (1, 2))
