"""The rules of the ACP registry, as its contributors' guide tells them: what is wrong with an entry's folder."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REQUIRED = ("id", "name", "version", "description", "distribution")
TEXTS = ("id", "name", "version", "description", "repository", "website", "license")
KINDS = ("binary", "npx", "uvx")
PLAIN = ("currentColor", "none", "inherit")


def breaches(folder: Path) -> list[str]:
    entry = json.loads((folder / "agent.json").read_text("utf-8"))
    return [*_fields(entry, folder.name), *_packages(entry), *_icon(folder / "icon.svg")]


def _fields(entry: dict[str, Any], folder: str) -> Iterator[str]:
    yield from (f"{name} is missing" for name in REQUIRED if not entry.get(name))
    yield from (f"{name} is not a text" for name in TEXTS if not isinstance(entry.get(name, ""), str))
    if not re.fullmatch(r"[a-z][a-z0-9-]*", str(entry.get("id"))) or entry.get("id") != folder:
        yield "id must be lower case and the folder's name"
    if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", str(entry.get("version"))):
        yield "version must be three numbers"
    if not all(isinstance(author, str) for author in entry.get("authors", ())):
        yield "authors must be texts"


def _packages(entry: dict[str, Any]) -> Iterator[str]:
    kinds = entry.get("distribution") or {}
    yield from (f"{kind} is no way of distribution" for kind in kinds if kind not in KINDS)
    for kind in ("npx", "uvx"):
        package = kinds.get(kind)
        if package is None:
            continue
        name, _, version = re.sub("==", "@", package.get("package", ""), count=1).rpartition("@")
        if not name or version != entry.get("version"):
            yield f"the package of {kind} must be of the entry's own version"
        if set(package) - {"package", "args", "env"}:
            yield f"{kind} has unknown fields"
        if not all(isinstance(word, str) for word in [*package.get("args", ()), *package.get("env", {}).values()]):
            yield f"args and env of {kind} must be texts"


def _icon(path: Path) -> Iterator[str]:
    if not path.exists():
        yield "the icon is missing"
        return
    root = ET.fromstring(path.read_text("utf-8"))
    if (root.get("width"), root.get("height"), root.get("viewBox")) != ("16", "16", "0 0 16 16"):
        yield "the icon must be 16 × 16"
    paints = [each.get(kind) for each in root.iter() for kind in ("fill", "stroke") if each.get(kind)]
    if any(paint not in PLAIN for paint in paints) or any(each.get("style") for each in root.iter()):
        yield "the icon has colours of its own"
    if "currentColor" not in paints:
        yield "the icon must be painted in currentColor"
