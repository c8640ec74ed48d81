"""The ratios of a run as a picture: one bar for each figure, from its yardstick to what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tests.benchmarks.figure import Figure, short

WIDTH, ROW, TOP, NAMES, SCALE = 860, 24, 44, 430, 340
LEAST, MOST = 0.01, 10.0
"""The ends of the scale; what is beyond them ends there."""

STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #57606a }
    .number { font-variant-numeric: tabular-nums }
    .grid { stroke: #8b949e; stroke-opacity: .3 }
    .yardstick { stroke: #8b949e }
    .less { fill: #2f81a8 } .more { fill: #b0813a }
    @media (prefers-color-scheme: dark) { text { fill: #9da7b1 } }
"""


def chart(figures: Sequence[Figure]) -> str:
    """An SVG of the figures that have a ratio, on a logarithmic scale, readable on light and dark ground."""
    shown = [figure for figure in figures if figure.ratio is not None]
    height = TOP + ROW * len(shown) + 8
    rows = [line for at, figure in enumerate(shown) for line in _row(figure, TOP + ROW * at)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>What was measured, as a multiple of the yardstick of the same run</title>",
            f"<style>{STYLE}</style>",
            *(line for tick in (0.01, 0.1, 1.0, 10.0) for line in _tick(tick, height)),
            *rows,
            "</svg>\n",
        ]
    )


def _row(figure: Figure, top: int) -> list[str]:
    assert figure.ratio is not None
    here, one = _place(figure.ratio), _place(1)
    left, middle = min(here, one), top + ROW // 2
    kind = "more" if figure.ratio > 1 else "less"
    width = max(abs(here - one), 1)
    told = escape(f"{figure.name}: {short(figure.value)} {figure.unit}; {figure.yardstick}")
    return [
        f"<g><title>{told}</title>",
        f'<text x="{NAMES - 12}" y="{middle + 4}" text-anchor="end">{escape(figure.name)}</text>',
        f'<rect class="{kind}" x="{left:.1f}" y="{top + 6}" width="{width:.1f}" height="{ROW - 12}"/>',
        f'<text class="number" x="{WIDTH - 4}" y="{middle + 4}" text-anchor="end">{short(figure.ratio)}</text></g>',
    ]


def _tick(ratio: float, height: int) -> list[str]:
    x, name = _place(ratio), "yardstick" if ratio == 1 else f"× {ratio:g}"
    kind = "yardstick" if ratio == 1 else "grid"
    return [
        f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 10}" y2="{height - 6}"/>',
        f'<text x="{x:.1f}" y="{TOP - 18}" text-anchor="middle">{name}</text>',
    ]


def _place(ratio: float) -> float:
    """The x of a ratio."""
    within = min(max(ratio, LEAST), MOST)
    return NAMES + SCALE * math.log(within / LEAST) / math.log(MOST / LEAST)
