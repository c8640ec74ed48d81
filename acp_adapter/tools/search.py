"""list_directory, glob, grep: how a model finds its way. Ignored and hidden files stay out unless asked for by name."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from acp_adapter.errors import ToolError
from acp_adapter.tools import disk, globbing, ripgrep
from acp_adapter.tools.arguments import schema, text
from acp_adapter.tools.paths import permitted, printable, shown, spelled, stated
from acp_adapter.tools.port import Intent, Location, ToolContext, ToolResult

ENTRIES = 1_000
FILES = 500
SCANNED = 200_000
MATCHES = 200
BYTES = 64 * 1024
LINE = 400


class ListDirectory:
    name = "list_directory"
    description = "List a folder: folders end with a slash, links show where they lead, hidden entries too."
    parameters = schema(["path"], path=text("Relative to the working folder, or absolute; '.' for the folder itself."))

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        path = stated("path", args["path"], ctx)
        return Intent(f"List {shown(path, ctx)}", "read", "read", [path], locations=[Location(str(spelled(path, ctx)))])

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = permitted("path", args["path"], ctx)
        names = await asyncio.to_thread(disk.listed, path)
        more = [f"[{len(names) - ENTRIES} more entries are left out. Use glob.]"] if len(names) > ENTRIES else []
        return ToolResult("\n".join(names[:ENTRIES] + more) or "[The folder is empty.]")


class Glob:
    name = "glob"
    description = (
        "Find files by name: '*.py' in every folder, 'src/**/*.{ts,tsx}' below src. Files that git ignores and hidden "
        "ones are found only where the pattern or path names their folder or dot."
    )
    parameters = schema(
        ["pattern"],
        pattern=text("A glob pattern."),
        path=text("The folder to look in; the working folder if left out."),
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        _, folder = _parsed(args)
        path = stated("pattern", folder, ctx)
        return Intent(
            f"Find {printable(args['pattern'])}",
            "search",
            "read",
            [path],
            locations=[Location(str(spelled(path, ctx)))],
        )

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        glob, folder = _parsed(args)
        path = permitted("pattern", folder, ctx)
        if not path.is_dir():
            raise ToolError(f"There is no folder {shown(path, ctx)}.")
        found, all_seen = await _matching(path, glob, ctx)
        permitted("pattern", folder, ctx)  # as in Grep
        notes = [] if all_seen else [f"[Only the first {SCANNED:,} files were looked at. Name a folder.]"]
        if len(found) > FILES:
            notes.append(f"[{len(found) - FILES} more files are left out. Use a narrower pattern.]")
        names = [shown(each, ctx) for each in sorted(found)[:FILES]]
        return ToolResult("\n".join(names + notes) or "[No file matches. Files that git ignores are not looked at.]")


class Grep:
    name = "grep"
    description = (
        "Search file contents by regular expression; gives path:line:text. Files that git ignores and hidden ones are "
        "searched only where path names them."
    )
    parameters = schema(
        ["pattern"],
        pattern=text("A regular expression."),
        path=text("The file or folder to search; the working folder if left out."),
        ignore_case={"type": "boolean", "description": "Take capital and small letters as the same."},
    )

    async def intent(self, args: dict[str, Any], ctx: ToolContext) -> Intent:
        path = stated("path", args.get("path", "."), ctx)
        title = f"Search {printable(args['pattern'])[:80]}" + (f" in {shown(path, ctx)}" if "path" in args else "")
        return Intent(title, "search", "read", [path], locations=[Location(str(spelled(path, ctx)))])

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        path = permitted("path", args.get("path", "."), ctx)
        if not (path.is_dir() or path.is_file()):
            raise ToolError(f"There is no file or folder {shown(path, ctx)}.")
        if not args["pattern"] or "\0" in args["pattern"]:
            raise ToolError("pattern must be a regular expression, not empty and without NUL characters.")
        found = _Found(ctx)
        await ripgrep.grep(args["pattern"], path, args.get("ignore_case", False), found.take, ctx)
        permitted("path", args.get("path", "."), ctx)  # another program has searched by the path: is it still the same?
        return ToolResult(found.text() or "[No line matches.]", locations=found.locations)


class _Found:
    """Collects matching lines until there are enough."""

    def __init__(self, ctx: ToolContext) -> None:
        self.locations: list[Location] = []
        self._ctx = ctx
        self._lines: list[str] = []
        self._size = 0
        self._full = False

    def take(self, name: bytes, number: bytes, content: bytes) -> bool:
        """One matching line; True when no more are wanted."""
        if len(self._lines) == MATCHES or self._size > BYTES:
            self._full = True
            return True
        path, at = _file(name), int(number)
        if self._ctx.hides(path):
            return False
        line = f"{shown(path, self._ctx)}:{at}:{_short(content.decode('utf-8', 'replace'))}"
        self._lines.append(line)
        self._size += len(line)
        if len(self.locations) < 20:
            self.locations.append(Location(str(spelled(path, self._ctx)), at))
        return False

    def text(self) -> str:
        more = ["[There are more matches. Use a narrower pattern or path.]"] if self._full else []
        return "\n".join(self._lines + more)


def _parsed(args: dict[str, Any]) -> tuple[globbing.Glob, str]:
    """The pattern, and the folder to walk."""
    pattern = args["pattern"].replace("\\", "/") if os.name == "nt" else args["pattern"]
    glob = globbing.parse(pattern)
    folder = args.get("path", ".")
    return glob, os.path.join(folder, glob.folder) if glob.folder else folder  # noqa: PTH118  (`~` must stay first)


async def _matching(folder: Path, glob: globbing.Glob, ctx: ToolContext) -> tuple[list[Path], bool]:
    """The files below a folder that match, and whether all were looked at."""
    found: list[Path] = []
    seen = 0
    start = len(os.fsencode(folder)) + (folder.parent != folder)

    def take(name: bytes) -> bool:
        nonlocal seen
        seen += 1
        path = os.fsdecode(name[start:]).replace(os.sep, "/")
        if glob.matches(path) and not ctx.hides(folder / path):
            found.append(folder / path)
        return seen >= SCANNED

    await ripgrep.files(folder, glob.hidden, take, ctx)
    return found, seen < SCANNED


def _file(name: bytes) -> Path:
    """The file of a match. ripgrep may have put a line of its own, about a binary file, before the name."""
    path = Path(os.fsdecode(name))
    return path if b"\n" not in name or path.exists() else Path(os.fsdecode(name.rpartition(b"\n")[2]))


def _short(line: str) -> str:
    text = line.rstrip("\r")
    return text if len(text) <= LINE else f"{text[:LINE]}…"
