"""Reading a person's lines: editing, history over sessions and completion where the platform has readline."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

readline: Any
try:
    import readline
except ImportError:  # Windows: the console edits lines itself
    readline = None

PROMPT = "› "
HISTORY_LINES = 1000


class LineEditor:
    """Reads lines at a prompt. The history file is private: prompts can hold secrets."""

    def __init__(self, history: Path, commands: Callable[[], Sequence[str]]) -> None:
        self._commands = commands
        if readline is None:
            return
        if not history.exists():
            history.touch(mode=0o600)
        readline.read_history_file(history)
        readline.set_history_length(HISTORY_LINES)
        readline.set_completer(self._complete)
        readline.set_completer_delims("")
        readline.parse_and_bind("tab: complete")
        self._history = history

    def read(self) -> str | None:
        """The next line, None when the person leaves: Ctrl-D, or Ctrl-C twice."""
        with contextlib.suppress(EOFError, KeyboardInterrupt):
            try:
                return self._line()
            except KeyboardInterrupt:
                sys.stderr.write("\n(Ctrl-C again, or Ctrl-D, leaves.)\n")
                return self._line()
        sys.stderr.write("\n")
        return None

    def _line(self) -> str:
        line = input(PROMPT)
        if readline is not None:
            readline.write_history_file(self._history)
        return line

    def _complete(self, text: str, state: int) -> str | None:
        matches = ["/" + name for name in self._commands() if ("/" + name).startswith(text)] if text else []
        return matches[state] if state < len(matches) else None
