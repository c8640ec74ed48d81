"""Measure everything and print a table; `python -m tests.benchmarks --help` says how."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from tests.benchmarks import beside, edits, floods, ledger, loading, long_histories, sessions, startup, turns
from tests.benchmarks.agent import command
from tests.benchmarks.chart import chart
from tests.benchmarks.figure import Figure, table


def main() -> int:
    args = _arguments()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="acp-benchmarks-") as folder:
        for name, part in _parts(Path(folder), quick=args.quick).items():
            if args.only in (None, name):
                print(f"measuring {name} …", file=sys.stderr)
                figures += part()
    print(table(figures))
    if args.chart:
        args.chart.write_text(chart(figures), "utf-8")
    if args.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
        shown = {"on": machine, "figures": [figure.json() for figure in figures]}
        args.json.write_text(json.dumps(shown, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return 0


def _parts(folder: Path, quick: bool) -> dict[str, Callable[[], Iterator[Figure]]]:
    few = 4 if quick else 1
    return {
        "startup": lambda: startup.measure(folder, 7 // few + 1),
        "sessions": lambda: sessions.measure(folder, 200 // few, _yardstick()),
        "short": lambda: sessions.short_ones(folder, 2_000 // few),
        "turns": lambda: turns.measure(folder, 100 // few, 4000 // few),
        "beside": lambda: beside.measure(folder, 80 // few),
        "floods": lambda: floods.measure(folder, 2_000_000 // few, 20 // few),
        "histories": lambda: long_histories.measure(folder, (1_000,) if quick else (1_000, 5_000), 40 // few),
        "loading": lambda: loading.measure(folder, (1_000,) if quick else (1_000, 10_000)),
        "edits": lambda: edits.measure(folder, 60 // few),
        "ledger": lambda: ledger.measure(folder, quick),
    }


def _yardstick() -> float:
    """CPU seconds of `import pygls.server` on this machine now."""
    return median(command(sys.executable, "-c", startup.IMPORT)[1] for _ in range(3))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    parser.add_argument("--only", choices=list(_parts(Path(), quick=True)))
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the ratios there, as SVG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
