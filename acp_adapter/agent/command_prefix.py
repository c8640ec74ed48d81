"""Which beginnings of a command may be allowed for good without allowing something else along with them."""

from __future__ import annotations

import re

from acp_adapter.agent.command_line import words_of

_PYTEST = "-k -l -m -n -q -s -v -x --co --durations --ff --lf --maxfail --no-header --tb"
_HARMLESS = {
    "git": "-- -a -b -m -n -p -q -s -u -v -w --all --amend --author --cached --graph --max-count --message --name-only "
    "--name-status --no-color --oneline --patch --short --since --staged --stat --until",
    "cargo": "-p -q -v --all --all-features --all-targets --bin --check --lib --no-run --package --quiet --release "
    "--test --verbose --workspace",
    "go": "-bench -count -cover -race -run -short -timeout -v",
    "mypy": "--no-error-summary --strict",
    "pytest": _PYTEST,
    "python": _PYTEST,
    "ruff": "-q --check --diff --fix --quiet --select",
    "tsc": "--noEmit --strict",
}
"""By program, the options that neither run nor write nor read elsewhere. With any other only the exact text counts."""

_PREFIXES = (
    *(f"git {verb}" for verb in ("add", "blame", "commit", "diff", "log", "show", "status")),
    *(f"cargo {verb}" for verb in ("build", "check", "clippy", "fmt", "test")),
    *(f"go {verb}" for verb in ("build", "test", "vet")),
    *(f"{manager} test" for manager in ("npm", "pnpm", "yarn")),
    "python -m pytest",
    "pytest",
    "mypy",
    "ruff check",
    "ruff format",
    "tsc",
)
"""What any arguments may follow. Test runners and builds run the project's own code: that is what is allowed."""

_LEADS_AWAY = re.compile(r"/|[A-Za-z]:/|@.")


def prefix_of_words(words: list[str]) -> str | None:
    """The beginning of a plain command that may stand for others like it, None where only the exact text may."""
    return next((prefix for prefix in _PREFIXES if covers_words(prefix, words)), None)


def covers(prefix: str, command: str) -> bool:
    """Whether a plain command (no pipeline, substitution, redirection or second line) begins with these words."""
    words = words_of(command)
    return words is not None and covers_words(prefix, words)


def covers_words(prefix: str, words: list[str]) -> bool:
    wanted = prefix.split()
    if not wanted or words[: len(wanted)] != wanted:
        return False
    options = _HARMLESS.get(wanted[0], "").split()
    return all(_is_harmless(word, options) for word in words[len(wanted) :])


def _is_harmless(word: str, options: list[str]) -> bool:
    """An option that is known, several known letters in one, a number, or a word that leads to no other folder. What
    begins with `@` may be a file of options."""
    if not word.startswith("-"):
        return not _LEADS_AWAY.match(word) and ".." not in re.split(r"[/=:]", word) and "://" not in word
    name, _, value = word.partition("=")
    letters = re.fullmatch(r"-([A-Za-z]+)", word)
    known = name in options or bool(letters and all(f"-{letter}" in options for letter in letters[1]))
    return (known and not value.startswith("/")) or re.fullmatch(r"-\d+", word) is not None
