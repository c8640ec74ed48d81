"""Changing config.toml by hand's rules: one line is set, all others stay, comments too.

The file is replaced atomically and is private (0600), for it may hold keys. A file that is no TOML is kept beside
the new one, never overwritten.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from acp_adapter.errors import InvalidParams

_HEADER = re.compile(r"^\s*\[")


@frozen
class Setting:
    """One value: `table` is dotted (`providers.openai`), empty for the top level."""

    table: str
    key: str
    value: str

    @property
    def line(self) -> str:
        quoted = json.dumps(self.value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON's escapes are TOML's
        return f"{self.key} = {quoted}"


def change(path: Path, settings: Sequence[Setting]) -> Path | None:
    """Write the settings into the file; where a file that is no TOML was put aside, None for none.

    Raises InvalidParams when a value can't be set without touching other lines; the file is then as it was.
    """
    text, aside = _current(path)
    for setting in settings:
        text = with_setting(text, setting)
    replace(path, text)
    return aside


def with_setting(text: str, setting: Setting) -> str:
    """`text` with this one value. Raises InvalidParams rather than change the meaning of anything else."""
    lines = text.split("\n")
    begin, end = _section(lines, setting.table)
    at = next((n for n in range(begin, end) if re.match(rf"\s*{re.escape(setting.key)}\s*=", lines[n])), None)
    if begin > len(lines):
        lines = [*_trimmed(lines), "", f"[{setting.table}]", setting.line, ""]
    elif at is not None:
        lines[at] = setting.line
    else:
        last = max((n for n in range(begin, end) if lines[n].strip()), default=begin - 1)
        lines.insert(last + 1, setting.line)
    changed = "\n".join(lines)
    _check(text, changed, setting)
    return changed


def replace(path: Path, text: str) -> None:
    """Write a private file so that a reader sees the old one or the new one. A symbolic link stays one."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _current(path: Path) -> tuple[str, Path | None]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return "", None
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        tomllib.loads(text)
    except ValueError:
        aside = path.with_name(f"{path.name}.broken-{int(time.time())}")
        path.rename(aside)
        return "", aside
    return text, None


def _section(lines: list[str], table: str) -> tuple[int, int]:
    """The lines of a table: from the one after its header to the next header. Past the end where there is none."""
    begin = 0
    if table:
        header = re.compile(rf"^\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?$")
        begin = next((n + 1 for n, line in enumerate(lines) if header.match(line)), len(lines) + 1)
    end = next((n for n in range(begin, len(lines)) if _HEADER.match(lines[n])), len(lines))
    return begin, end


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _check(before: str, after: str, setting: Setting) -> None:
    wanted: dict[str, Any] = tomllib.loads(before)
    table = wanted
    for name in setting.table.split(".") if setting.table else ():
        table = table.setdefault(name, {})
    table[setting.key] = setting.value
    try:
        right = tomllib.loads(after) == wanted
    except tomllib.TOMLDecodeError:
        right = False
    if not right:
        where = f"under [{setting.table}]" if setting.table else "at the top"
        raise InvalidParams(f"{setting.key!r} can't be set in your config.toml by itself. Please set it {where}.")
