"""Config: frozen, loaded once from `config.toml` and the environment.

Everything of this program lives in one private folder, `~/.acp-adapter` or `$ACP_ADAPTER_HOME`: `config.toml`,
`state.db` (the ledger), `permissions/` (what was always allowed or rejected, by project), `models/`, `logs/`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

MODES = ("ask", "accept_edits", "plan", "bypass")
EFFORTS = ("off", "low", "medium", "high")
BUDGETS = ("session_usd", "session_tokens", "day_usd", "day_tokens")
MOST = 10**12
"""Of a budget, in tokens or US dollars."""


@frozen
class Config:
    """What the user chose. `problems` are sentences about a broken config file; the rest then has its defaults.

    `model` is `provider:model` or None for automatic choice. `agent` names one of the user's own that answers, None for
    the built-in one. `max_steps` bounds the model calls of one turn. `sources` are the programs whose sessions
    are listed, None for all. `discover` is whether model servers are looked for on this machine's loopback ports,
    `titles` whether a small model call names a session.
    `providers` maps a provider's name to its table (`base_url`, `api_key`, `api_key_env`, `model`, …), `models` a
    `provider:model` to what the user says of it, `mcp_servers` the name of one to its table. `effort` is how much new
    sessions reason, None for the model's own default. `budget` holds those of BUDGETS that are set. `trusted` are
    folders whose `.acp-adapter.toml` may also choose a mode in which less is asked.
    """

    home: Path
    ledger: Path
    model: str | None = None
    agent: str | None = None
    mode: str = "ask"
    max_steps: int = 100
    discover: bool = True
    titles: bool = True
    sources: tuple[str, ...] | None = None
    providers: Mapping[str, Mapping[str, Any]] = field(factory=dict, repr=False)
    models: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    mcp_servers: Mapping[str, Mapping[str, Any]] = field(factory=dict, repr=False)
    effort: str | None = None
    budget: Mapping[str, float] = field(factory=dict)
    trusted: tuple[Path, ...] = ()
    environ: Mapping[str, str] = field(factory=dict, repr=False)
    problems: tuple[str, ...] = ()

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> Config:
        """Read the environment and `config.toml`. Never raises for what a user wrote: see `problems`."""
        env = dict(os.environ if environ is None else environ)
        home = Path(env.get("ACP_ADAPTER_HOME") or Path.home() / ".acp-adapter").expanduser().absolute()
        table, problems = _read(home / "config.toml")
        known = _Checked(table, problems)
        ledger = env.get("ACP_ADAPTER_LEDGER") or known.text("ledger") or str(home / "state.db")
        return cls(
            home=home,
            ledger=Path(ledger).expanduser().absolute(),
            model=env.get("ACP_ADAPTER_MODEL") or known.text("model"),
            agent=env.get("ACP_ADAPTER_AGENT") or known.text("agent"),
            mode=known.choice("mode", MODES) or "ask",
            max_steps=known.number("max_steps", 100),
            sources=known.texts("sources"),
            titles=env.get("ACP_ADAPTER_TITLES", "on") != "off" and known.flag("titles", True),
            discover=env.get("ACP_ADAPTER_DISCOVER", "on") != "off" and known.flag("discover", True),
            providers=known.tables("providers"),
            models=known.tables("models"),
            mcp_servers=known.tables("mcp_servers"),
            effort=known.choice("effort", EFFORTS),
            budget=known.amounts("budget", BUDGETS),
            trusted=tuple(Path(each).expanduser() for each in known.texts("trusted") or ()),
            environ=env,
            problems=tuple(problems),
        )

    @property
    def user_home(self) -> Path:
        """The user's own folder."""
        known = self.environ.get("HOME") or self.environ.get("USERPROFILE")
        return Path(known) if known else Path.home()

    def make_home(self) -> Path:
        """The home folder, made private (0700) if it is new."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.home


def is_amount(value: object) -> bool:
    """Whether a value of a file can be a budget."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MOST


def _read(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig")), []
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError) as fault:
        return {}, [f"{path} can't be read ({fault}), so the defaults are used. Mend or remove it."]


class _Checked:
    """Reads typed values from a TOML table; a value of the wrong type becomes a problem, not an exception."""

    def __init__(self, table: dict[str, Any], problems: list[str]) -> None:
        self._table = table
        self._problems = problems

    def text(self, key: str) -> str | None:
        value: str | None = self._get(key, str, None)
        return value

    def choice(self, key: str, values: Sequence[str]) -> str | None:
        value = self.text(key)
        if value is None or value in values:
            return value
        self._problems.append(f"config.toml: {key} must be one of {', '.join(values)}, so it is ignored.")
        return None

    def number(self, key: str, default: int) -> int:
        value: int = self._get(key, int, default)
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        values: list[Any] | None = self._get(key, list, None)
        if values is None or all(isinstance(value, str) for value in values):
            return None if values is None else tuple(values)
        self._problems.append(f"config.toml: {key} must be a list of texts, so it is ignored.")
        return None

    def flag(self, key: str, default: bool) -> bool:
        value = self._table.get(key, default)
        if isinstance(value, bool):
            return value
        self._problems.append(f"config.toml: {key} must be true or false, so it is ignored.")
        return default

    def tables(self, key: str) -> Mapping[str, Mapping[str, Any]]:
        tables: dict[str, Any] = self._get(key, dict, {})
        return {name: table for name, table in tables.items() if isinstance(table, dict)}

    def amounts(self, key: str, names: Sequence[str]) -> Mapping[str, float]:
        """The positive numbers of a table that has no other names."""
        found = {}
        for name, value in self._get(key, dict, {}).items():
            if name in names and is_amount(value):
                found[name] = float(value)
            else:
                known = ", ".join(names)
                self._problems.append(f"config.toml: [{key}] may have {known}, each more than 0; {name} is ignored.")
        return found

    def _get(self, key: str, kind: type, default: Any) -> Any:
        value = self._table.get(key, default)
        if value is default or (isinstance(value, kind) and not isinstance(value, bool)):
            return value
        self._problems.append(f"config.toml: {key} must be of type {kind.__name__}, so it is ignored.")
        return default
