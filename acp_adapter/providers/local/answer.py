"""Reads a step's JSON while it streams, and gives what the model says to the user as soon as it is certain."""

from __future__ import annotations

import json
import re

from acp_adapter.providers.local.steps import SAY

_SPEAKING = re.compile(rf'\s*\{{\s*"tool"\s*:\s*"{SAY}"\s*,\s*"arguments"\s*:\s*\{{\s*"text"\s*:\s*"')
_TOOL = re.compile(r'\s*\{\s*"tool"\s*:\s*"([a-z_]+)"')
_WHOLE = re.compile(
    r"""(?: [^"\\]                                # a character as it is
          | \\[^u]                                # \n, \", …
          | \\u (?![dD][89abAB]) [0-9a-fA-F]{4}   # \u00e9, or a low surrogate on its own
          | \\u [dD][89abAB][0-9a-fA-F]{2}        # a high surrogate: with its low one, or certainly without
            (?: \\u [dD][c-fC-F][0-9a-fA-F]{2} | (?= [^\\] | \\[^u] | \\u[^dD] | \\u[dD][^c-fC-F]) )
        )*""",
    re.VERBOSE,
)
"""The part of a JSON string that later characters can't change: no half escape, no half of a surrogate pair."""


class StepReader:
    """Takes the model's text in any pieces. `raw` is all of it so far."""

    def __init__(self) -> None:
        self.raw = ""
        self._at: int | None = None
        self._ended = False

    @property
    def tool(self) -> str | None:
        """The name of the step's tool as the model wrote it, once that is known."""
        found = _TOOL.match(self.raw)
        return found[1] if found else None

    def feed(self, piece: str) -> str:
        """What is newly certain of the text said to the user; empty for a tool call."""
        self.raw += piece
        if self._at is None:
            begun = _SPEAKING.match(self.raw)
            self._at = begun.end() if begun else None
        if self._at is None or self._ended:
            return ""
        whole = _WHOLE.match(self.raw, self._at)
        assert whole  # it matches the empty string too
        self._at = whole.end()
        self._ended = self.raw.startswith('"', self._at)
        return _decoded(whole[0])


def _decoded(escaped: str) -> str:
    text: str = json.loads(f'"{escaped}"', strict=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
