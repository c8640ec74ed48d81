"""Plain text in columns."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from unicodedata import combining, east_asian_width


def width() -> int:
    """The terminal's width in cells, 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def cells(text: str) -> int:
    """How many terminal cells the text takes: wide characters two, combining ones none."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> Iterator[str]:
    """Lines with their columns under each other, two blanks between; columns in `right` end under each other."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        padded = []
        for column, text in enumerate(row):
            blanks = " " * (widths[column] - cells(text))
            padded.append(blanks + text if column in right else text + blanks)
        yield "  ".join(padded).rstrip()
