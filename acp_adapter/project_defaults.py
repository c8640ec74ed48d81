"""What a project asks for: `.acp-adapter.toml` in the session's folder, or above it up to the repository's root or, in
no repository, up to the user's own folder.

It may choose a model of those that are set up, how much it reasons, a stricter mode and smaller budgets. It grants
nothing: a mode in which less is asked counts only in a folder that the user's own config.toml trusts, a script in the
place of a model never, and addresses, keys and commands are not read from it at all.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from acp_adapter.config import BUDGETS, EFFORTS, MODES, Config, is_amount

NAME = ".acp-adapter.toml"
LARGEST = 64 * 1024
STRICT = ("ask", "plan")
KEYS = ("model", "effort", "mode", "budget")
NAMED = 5
"""Keys that are named where they are not read; who writes more of them need not read them all in a panel."""


@frozen
class Limit:
    """A budget, in US dollars or tokens, and the file that sets it."""

    amount: float
    where: str = "config.toml"


@frozen
class ProjectDefaults:
    """None means: nothing said. `problems` are sentences about what was not taken, for the user."""

    model: str | None = None
    effort: str | None = None
    mode: str | None = None
    budget: Mapping[str, float] = field(factory=dict)
    problems: tuple[str, ...] = ()
    path: Path | None = None

    @classmethod
    def of(cls, cwd: Path, config: Config) -> ProjectDefaults:
        """Those that hold in `cwd`. Never raises for what a project wrote. Reads at most one small file."""
        places = _places(cwd, config.user_home)
        path = next((found for found in places if os.path.isfile(found)), None)  # noqa: PTH113  (never raises)
        if path is None:
            return cls()
        try:
            return _checked(_read(path), path, _is_trusted(path.parent, config))
        except (OSError, ValueError, ArithmeticError, RecursionError) as fault:
            return cls(problems=(f"{path} can't be used ({str(fault)[:200]}), so it is ignored.",))

    def lowered(self, own: Mapping[str, float]) -> dict[str, Limit]:
        """The user's budgets, and the project's where they are smaller or the user has none."""
        lower = {name: amount for name, amount in self.budget.items() if amount < own.get(name, math.inf)}
        return {name: Limit(own[name]) for name in BUDGETS if name in own} | {
            name: Limit(amount, str(self.path)) for name, amount in lower.items()
        }


def _places(cwd: Path, home: Path) -> Iterator[Path]:
    """The folder itself, and those above it up to where a repository or the user's own folder begins. Outside of both
    only the folder itself: what lies above belongs to others."""
    above = [cwd, *cwd.parents]
    tops = (at for at, folder in enumerate(above) if folder == home or os.path.lexists(folder / ".git"))  # never raises
    top = next(tops, 0)
    yield from (folder / NAME for folder in above[: top + 1])


def _read(path: Path) -> dict[str, Any]:
    real = Path(os.path.realpath(path))
    if Path(os.path.realpath(path.parent)) not in real.parents:
        raise ValueError("it leads out of the project")
    with real.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST // 1024} KiB")
    return tomllib.loads(data.decode("utf-8-sig"))


def _is_trusted(folder: Path, config: Config) -> bool:
    real = Path(os.path.realpath(folder))
    trusted = [Path(os.path.realpath(each)) for each in config.trusted]
    return any(real == each or each in real.parents for each in trusted)


def _checked(table: dict[str, Any], path: Path, trusted: bool) -> ProjectDefaults:
    problems = _unread([key for key in table if key not in KEYS], path)
    model, effort, mode = (_text(table, key, path, problems) for key in ("model", "effort", "mode"))
    if model and not all(model.partition(":")):
        problems.append(f"{path}: model must be provider:model, not {_brief(model)}; it is ignored.")
        model = None
    if model and model.startswith("scripted:"):
        problems.append(f"{path}: a project may not put a script in the place of a model; it is ignored.")
        model = None
    if effort and effort not in EFFORTS:
        problems.append(f"{path}: effort must be one of {', '.join(EFFORTS)}, not {_brief(effort)}; it is ignored.")
        effort = None
    if mode and mode not in (MODES if trusted else STRICT):
        known = mode in MODES
        why = f'a project may not choose it unless config.toml trusts its folder: trusted = ["{path.parent}"]'
        problems.append(f"{path}: mode {_brief(mode)} is ignored: {why if known else 'there is no such mode'}.")
        mode = None
    return ProjectDefaults(model, effort, mode, _budget(table, path, problems), tuple(problems), path)


def _unread(keys: list[str], path: Path) -> list[str]:
    if not keys:
        return []
    named = ", ".join(map(_brief, keys[:NAMED])) + (f" and {len(keys) - NAMED} more" if len(keys) > NAMED else "")
    return [f"{path}: not read from a project's file: {named}. It may have {', '.join(KEYS)}."]


def _brief(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"


def _text(table: dict[str, Any], key: str, path: Path, problems: list[str]) -> str | None:
    value = table.get(key)
    if value is None or isinstance(value, str):
        return value
    problems.append(f"{path}: {key} must be a text; it is ignored.")
    return None


def _budget(table: dict[str, Any], path: Path, problems: list[str]) -> dict[str, float]:
    given = table.get("budget", {})
    found = {name: float(given[name]) for name in BUDGETS if isinstance(given, dict) and is_amount(given.get(name))}
    wrong = [name for name in given if name not in found] if isinstance(given, dict) else [given]
    if wrong:
        may = f"[budget] may have {', '.join(BUDGETS)}, each more than 0"
        problems.append(f"{path}: {may}; ignored: {', '.join(map(_brief, wrong[:NAMED]))}.")
    return found
