"""The boundary: what a model's path leads to, and whether that is inside the session's roots.

Symlinks are followed before the question is asked, `..` and `~` are meant as a shell means them. Not seen: hard
links and mounts that bring outside files inside.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from urllib.parse import unquote, urlsplit

from acp_adapter.errors import ToolError
from acp_adapter.tools.port import ToolContext

_DRIVE = re.compile(r"^([A-Za-z]):[\\/](.*)$", re.DOTALL)
_MOUNTED = re.compile(r"^/(?:mnt/)?([A-Za-z])(?:/(.*))?$", re.DOTALL)
_WSL_SHARE = re.compile(r"^\\\\wsl(?:\$|\.localhost)\\[^\\]+(\\.*)?$", re.DOTALL | re.IGNORECASE)
_LINKS = 40
"""As many as Linux follows."""
_WINDOWS = sys.platform == "win32"


def resolve(text: str, ctx: ToolContext) -> Path:
    """The absolute path that `text` leads to from `ctx.cwd`, symlinks followed; it need not exist.

    Raises ToolError for what can't be a path here.
    """
    if not text.strip() or "\0" in text:
        raise ToolError(f"path must name a file or folder, not {text!r}.")
    try:
        path = Path(os.path.realpath(_wanted(text, ctx)))
        path.exists()  # raises for a name that no file system takes
        if path.is_symlink():
            raise OSError("its links lead round in a circle")
        return path
    except (OSError, RuntimeError, ValueError) as fault:
        raise ToolError(f"{text!r} is not a usable path: {fault}.") from fault


def _wanted(text: str, ctx: ToolContext) -> Path:
    native = to_native(_from_uri(text), windows=_WINDOWS, wsl=not _WINDOWS and Path("/mnt/c").is_dir())
    return ctx.cwd / Path(native).expanduser()


def stated(name: str, text: str, ctx: ToolContext) -> Path:
    """Resolve a path argument for an intent, and remember what it led to under the parameter's name, and by which
    links."""
    path = resolve(text, ctx)
    ctx.resolved[name] = path
    wanted = Path(os.path.normpath(_wanted(text, ctx)))
    home = ctx.roots[0] if ctx.roots else ctx.cwd
    by = by_links(home / wanted.relative_to(ctx.cwd) if inside(wanted, [ctx.cwd]) else wanted)
    ctx.passed.update(each for each in by if each != path)
    return path


def by_links(path: Path) -> Iterator[Path]:
    """The path, and what it is after each symlink on its way: the names that a rule may be about."""
    for _ in range(_LINKS):
        yield path
        link = next((part for part in (*reversed(path.parents), path) if part.is_symlink()), None)
        if link is None:
            return
        path = Path(os.path.normpath(link.parent / link.readlink() / path.relative_to(link)))


def permitted(name: str, text: str, ctx: ToolContext) -> Path:
    """Resolve the argument again when the call runs. Raises ToolError if it leads elsewhere than was stated."""
    path = resolve(text, ctx)
    if ctx.resolved.get(name, path) != path:
        raise ToolError(
            f"{text} leads to another place now than when it was permitted, so nothing was done. Try again."
        )
    return path


def inside(path: PurePath, roots: Sequence[PurePath]) -> bool:
    """Whether a resolved path is one of the roots or below one."""
    return any(path == root or root in path.parents for root in roots)


def spelled(path: Path, ctx: ToolContext) -> Path:
    """A resolved path as the editor knows it, whose `cwd` may lead through a symlink: for all that it is asked or
    shown."""
    home = ctx.roots[0] if ctx.roots else ctx.cwd
    return ctx.cwd / path.relative_to(home) if inside(path, [home]) else path


def shown(path: Path, ctx: ToolContext) -> str:
    """The path as people and models read it: relative to cwd where it is below, forward slashes, printable."""
    path = spelled(path, ctx)
    if path != ctx.cwd and ctx.cwd in path.parents:
        return printable(path.relative_to(ctx.cwd).as_posix())
    return printable(str(path))


def printable(name: str) -> str:
    """A file's name on one line, whatever it holds: control characters escaped, undecodable bytes replaced."""
    text = name.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def visible(text: str) -> str:
    """A text of several lines as a person must see it before they allow it: what would hide or turn it is escaped."""
    return "".join(piece if piece in "\n\t" else printable(piece) for piece in re.split(r"([\n\t])", text))


def to_native(text: str, *, windows: bool, wsl: bool) -> str:
    """Turn a path of the other world into this one's: `C:\\x` under WSL, `/mnt/c/x` and `/c/x` on Windows.

    Raises ToolError for what has no meaning here: a drive where there are none, a network share, a stream.
    """
    return _to_windows(text) if windows else _to_posix(text, wsl)


def _to_posix(text: str, wsl: bool) -> str:
    if share := _WSL_SHARE.match(text):
        return (share[1] or "/").replace("\\", "/")
    drive = _DRIVE.match(text)
    if not drive:
        return text
    if not wsl:
        raise ToolError(f"{text} is a Windows path, and this is not Windows. Use a path of this system.")
    return f"/mnt/{drive[1].lower()}/" + drive[2].replace("\\", "/")


def _to_windows(text: str) -> str:
    if mounted := _MOUNTED.match(text):
        return f"{mounted[1].upper()}:\\" + (mounted[2] or "").replace("/", "\\")
    if text.startswith(("\\\\", "//")):
        raise ToolError(f"{text} is on the network, which these tools do not reach. Use a local path.")
    rest = text[2:] if _DRIVE.match(text) else text
    if ":" in rest:
        raise ToolError(f"{text} can't be a path: a colon may only follow the drive's letter.")
    return text


def _from_uri(text: str) -> str:
    if not text.startswith("file://"):
        return text
    path = unquote(urlsplit(text).path)
    return path[1:] if re.match(r"^/[A-Za-z]:", path) else path
