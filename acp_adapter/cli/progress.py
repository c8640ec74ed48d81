"""Progress of long work: a bar on a terminal, a line now and then where output goes to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Advance = Callable[[int, int | None], None]
"""Called with what is done so far and the whole, in bytes or steps; the whole may be None while unknown."""

STEPS = 10


@contextmanager
def download(label: str) -> Iterator[Advance]:
    """Progress in bytes. On the way out, by whatever way, the terminal is as it was."""
    if not sys.stderr.isatty():
        yield _Lines(label).advance
        return
    from rich import progress  # costs 0.1 s, which only long work may take

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=_console()) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


@contextmanager
def steps(label: str) -> Iterator[Advance]:
    """Progress in counted things: sessions exported, pages copied."""
    if not sys.stderr.isatty():
        yield lambda done, whole: None
        return
    from rich import progress  # costs 0.1 s, which only long work may take

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    with progress.Progress(*columns, console=_console(), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


def _console() -> Console:
    from rich.console import Console as RichConsole  # see above

    return RichConsole(stderr=True)


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
