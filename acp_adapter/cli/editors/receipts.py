"""What setup wrote into which file, kept in the private home so that it can be taken back to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from acp_adapter.cli.config_file import replace
from acp_adapter.config import Config


@frozen
class Edit:
    """One piece of a text: `old` was at `at`, `new` took its place."""

    at: int
    old: str
    new: str

    @classmethod
    def between(cls, before: str, after: str) -> Edit:
        head = _alike(before, after)
        tail = _alike(before[head:][::-1], after[head:][::-1])
        return cls(head, before[head : len(before) - tail], after[head : len(after) - tail])

    def undone(self, text: str) -> str | None:
        """The text as it was; None where what was written is not found, or more than once."""
        if text.startswith(self.new, self.at):
            at = self.at
        elif self.new and text.count(self.new) == 1:
            at = text.index(self.new)
        else:
            return None
        return text[:at] + self.old + text[at + len(self.new) :]


@frozen
class Receipt:
    """All edits of one file, oldest first. `created`: there was no such file before."""

    created: bool
    edits: tuple[Edit, ...]

    def undone(self, text: str) -> str | None:
        found: str | None = text
        for edit in reversed(self.edits):
            found = None if found is None else edit.undone(found)
        return found


class Receipts:
    """The receipts of one home, by the path of the file. A receipts file that can't be read counts as empty."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._file = config.home / "editors.json"

    def of(self, path: Path) -> Receipt | None:
        raw = self._load().get(str(path))
        try:
            return Receipt(bool(raw["created"]), tuple(Edit(**edit) for edit in raw["edits"])) if raw else None
        except (KeyError, TypeError):
            return None

    def add(self, path: Path, edit: Edit, *, created: bool) -> None:
        known = self.of(path) or Receipt(created, ())
        self._put(path, Receipt(known.created, (*known.edits, edit)))

    def drop(self, path: Path) -> None:
        self._put(path, None)

    def _load(self) -> dict[str, Any]:
        try:
            table = json.loads(self._file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return table if isinstance(table, dict) else {}

    def _put(self, path: Path, receipt: Receipt | None) -> None:
        table = self._load()
        table.pop(str(path), None)
        if receipt:
            table[str(path)] = asdict(receipt)
        if table or self._file.exists():
            self._config.make_home()
            replace(self._file, json.dumps(table, indent=1))


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
