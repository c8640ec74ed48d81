"""Progress of long work: a bar on a terminal, a line now and then where output goes to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

# rich costs 0.1 s to import, which only a terminal and long work may take: so it is imported in the functions.

Advance = Callable[[int, int | None], None]
"""Called with what is done so far and the whole; the whole may be None while it is unknown."""

STEPS = 10


@contextmanager
def download(label: str) -> Iterator[Advance]:
    """Progress in bytes."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    with _bar(label, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()) as advance:
        yield advance


@contextmanager
def counted(label: str) -> Iterator[Advance]:
    """Progress in things: conversations, messages."""
    from rich.progress import BarColumn, MofNCompleteColumn

    with _bar(label, BarColumn(), MofNCompleteColumn()) as advance:
        yield advance


@contextmanager
def _bar(label: str, *columns: ProgressColumn) -> Iterator[Advance]:
    """On the way out, by whatever way, the terminal is as it was."""
    if not sys.stderr.isatty():
        yield _Lines(label).advance
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    with Progress(TextColumn("{task.description}"), *columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


class _Lines:
    """A line for each tenth, for logs."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._reached = 0

    def advance(self, done: int, whole: int | None) -> None:
        tenth = done * STEPS // whole if whole else 0
        if tenth > self._reached:
            self._reached = tenth
            print(f"{self._label}: {100 * tenth // STEPS} %", file=sys.stderr, flush=True)


class Remaining:
    """For work that says how much is left instead of how much is done: the most it ever said is the whole."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._whole = 0

    def __call__(self, left: int) -> None:
        self._whole = max(self._whole, left)
        self._advance(self._whole - left, self._whole)
