"""A tool's parameters in the form that the Messages API takes: an object, with no alternatives at its root.

The real API refuses the whole request for one tool whose schema has `oneOf`, `anyOf` or `allOf` there; further down
they are fine. MCP servers have such tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

ALTERNATIVES = ("oneOf", "anyOf")

Schema = dict[str, Any]


def input_schema(parameters: Schema) -> Schema:
    """All properties that any of the alternatives has; required are those that all of them require.

    The tool itself checks what this no longer says.
    """
    root = parameters | {"type": "object"}
    if not {"allOf", *ALTERNATIVES} & root.keys():
        return root
    properties, required = dict(root.get("properties") or {}), list(root.get("required") or ())
    for key in ("allOf", *ALTERNATIVES):
        branches = [input_schema(branch) for branch in root.pop(key, ()) if isinstance(branch, dict)]
        for branch in branches:
            properties = {**branch.get("properties", {}), **properties}
        needed = [branch.get("required") or () for branch in branches]
        required += _in_all(needed) if key in ALTERNATIVES else [name for names in needed for name in names]
    return root | {"properties": properties} | ({"required": list(dict.fromkeys(required))} if required else {})


def _in_all(lists: list[Iterable[str]]) -> list[str]:
    return [name for name in lists[0] if all(name in names for names in lists)] if lists else []
