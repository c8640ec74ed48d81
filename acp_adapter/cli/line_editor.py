"""Reading a person's lines: editing, history over sessions and completion where the platform has readline."""

from __future__ import annotations

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
        for hint in ("(Ctrl-C again, or Ctrl-D, leaves.)", ""):
            try:
                line = input(PROMPT)
            except EOFError:
                sys.stderr.write("\n")
                return None
            except KeyboardInterrupt:
                sys.stderr.write(f"\n{hint}\n")
                continue
            self._save()
            return line
        return None

    def _save(self) -> None:
        if readline is not None:
            readline.write_history_file(self._history)

    def _complete(self, text: str, state: int) -> str | None:
        matches = ["/" + name for name in self._commands() if ("/" + name).startswith(text)] if text else []
        return matches[state] if state < len(matches) else None
