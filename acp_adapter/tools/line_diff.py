"""Which lines two texts share: what a diffstat counts, and along which lines are followed through edits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher


def matches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lines in order: where each begins in `old` and in `new`, and its length."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    if start:
        yield 0, 0, start
    between = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end], autojunk=False)
    for block in between.get_matching_blocks():
        if block.size:
            yield start + block.a, start + block.b, block.size
    if end:
        yield len(old) - end, len(new) - end, end


def counts(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines are added and removed from `old` to `new`."""
    same = sum(length for _, _, length in matches(old, new))
    return len(new) - same, len(old) - same


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
