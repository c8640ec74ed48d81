"""One measured figure and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import asdict, frozen


@frozen
class Figure:
    """`value` in `unit`; `ratio` is value over the yardstick's value in the same unit, None where there is none."""

    name: str
    value: float
    unit: str
    yardstick: str = ""
    ratio: float | None = None

    def json(self) -> dict[str, Any]:
        return asdict(self)


def against(name: str, value: float, unit: str, yardstick: str, measured: float) -> Figure:
    return Figure(name, value, unit, yardstick, value / measured if measured else None)


def table(figures: Sequence[Figure]) -> str:
    """A Markdown table, which is also how the figures are published."""
    lines = ["| What | Value | Ratio | Against |", "|---|---|---|---|"]
    for figure in figures:
        ratio = "" if figure.ratio is None else short(figure.ratio)
        lines.append(f"| {figure.name} | {short(figure.value)} {figure.unit} | {ratio} | {figure.yardstick} |")
    return "\n".join(lines)


def short(value: float) -> str:
    """Two figures of a small number, whole ones of a large."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.1f}"
