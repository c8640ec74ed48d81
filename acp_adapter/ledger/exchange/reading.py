"""A lossless file read back, one session at a time, and checked: see `lossless` for its form."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import field, frozen

from acp_adapter.errors import InvalidParams
from acp_adapter.ledger.exchange.lossless import FORMAT, TABLES, VERSION, Row


@frozen
class Session:
    """One session of the file: its rows by table, in the order of the file."""

    id: str
    rows: dict[str, list[Row]] = field(factory=lambda: {table: [] for table in TABLES})
    message_ids: set[int] = field(factory=set)

    def add(self, table: str, row: Row) -> None:
        self.rows[table].append(row)
        if table == "messages":
            self.message_ids.add(row["id"])

    @property
    def own(self) -> Row:
        return self.rows["sessions"][0]

    @property
    def messages(self) -> list[Row]:
        return self.rows["messages"]


def sessions(path: Path) -> Iterator[Session]:
    """The sessions of the file. Raises InvalidParams, naming the line, for anything that is not as it should be."""
    lines = _lines(path)
    _check_head(path, next(lines, None))
    current: Session | None = None
    count = 0
    for total, (where, line) in enumerate(lines):
        if "end" in line:
            if current:
                yield current
            if line["end"] != {"sessions": count, "rows": total} or next(lines, None) is not None:
                raise InvalidParams(f"{where}: the file does not hold what its end says. Export it again.")
            return
        table, row = _row(where, line)
        if table == "sessions":
            if current:
                yield current
            current, count = Session(_id(where, row)), count + 1
        if current is None or not _belongs(row, table, current):
            raise InvalidParams(f"{where}: this row of {table} does not belong to the session before it.")
        current.add(table, row)
    raise InvalidParams(f"{path} ends too early: it was cut off. Export it again.")


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line's place and object."""
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, text in enumerate(file, 1):
                yield f"{path}, line {number}", _object(f"{path}, line {number}", text)
    except UnicodeDecodeError as fault:
        raise InvalidParams(f"{path} is not UTF-8 text, so it is no export of sessions.") from fault
    except OSError as fault:
        raise InvalidParams(f"{path} can't be read: {fault.strerror or fault}.") from fault


def _object(where: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InvalidParams(f"{where} is not JSON. Only what `export --format json` wrote can be imported.") from fault
    if not isinstance(value, dict):
        raise InvalidParams(f"{where} is no JSON object.")
    return value


def _check_head(path: Path, first: tuple[str, dict[str, Any]] | None) -> None:
    head = first[1] if first else {}
    if head.get("format") != FORMAT:
        raise InvalidParams(f"{path} is no export of sessions: make one with `acp-adapter export --format json`.")
    version = head.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise InvalidParams(f"{path} has version {version!r} of the format, this program knows {VERSION}. Update it.")


def _row(where: str, line: dict[str, Any]) -> tuple[str, Row]:
    table, row = line.get("table"), line.get("row")
    if not isinstance(table, str) or table not in TABLES:
        raise InvalidParams(f"{where}: there is no table {str(table)[:80]!r}.")
    if not isinstance(row, dict):
        raise InvalidParams(f"{where}: there is no row.")
    return table, {column: _value(where, column, value) for column, value in row.items()}


def _value(where: str, column: str, value: Any) -> Any:
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    try:
        if isinstance(value, dict) and value.keys() == {"base64"}:
            return base64.b64decode(value["base64"], validate=True)
        if isinstance(value, dict) and value.keys() == {"float"}:
            return float(value["float"])
    except (TypeError, ValueError, binascii.Error):
        pass
    raise InvalidParams(f"{where}: the value of {column[:80]!r} is none that a ledger can hold.")


def _id(where: str, row: Row) -> str:
    if not isinstance(row.get("id"), str) or not row["id"]:
        raise InvalidParams(f"{where}: the session has no id.")
    return str(row["id"])


def _belongs(row: Row, table: str, session: Session) -> bool:
    if table == "sessions":
        return True
    if table == "attachments":
        data = row.get("bytes")
        return isinstance(data, bytes) and hashlib.sha256(data).hexdigest() == row.get("hash")
    if table in ("message_details", "message_attachments"):
        return row.get("message_id") in session.message_ids
    if table == "messages" and (not isinstance(row.get("id"), int) or row["id"] <= _last(session)):
        return False
    return bool(row.get("session_id") == session.id)


def _last(session: Session) -> int:
    return session.messages[-1]["id"] if session.messages else 0
