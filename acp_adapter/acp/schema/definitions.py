"""The definitions of the protocol that types are generated from, and where they come from.

Everything of the stable schema is taken but the JSON-RPC envelope, which is the peer's; of the unstable schema only
what EXPERIMENTAL names.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

Node = dict[str, Any]

HERE = Path(__file__).parent
STABLE, UNSTABLE = "v1.schema.json", "v1.unstable.schema.json"

EXPERIMENTAL: dict[str, list[str] | None] = {
    "ForkSessionRequest": ["sessionId", "cwd", "additionalDirectories", "mcpServers", "_meta"],
    "ForkSessionResponse": None,
    "SessionForkCapabilities": None,
    "SessionCapabilities": ["fork"],
    "Usage": None,
    "PromptResponse": ["usage"],
}
"""Definitions of the unstable schema and their properties (None: all); those of a stable definition are added."""

ENVELOPE = re.compile(r"^(Agent|Client)(Request|Response|Notification)$|^Ext|^Error(Code)?$")


def load(folder: Path = HERE) -> dict[str, Node]:
    """The definitions to generate from: the stable ones with the chosen unstable ones mixed in."""
    defs: dict[str, Node] = json.loads((folder / STABLE).read_text("utf-8"))["$defs"]
    unstable: dict[str, Node] = json.loads((folder / UNSTABLE).read_text("utf-8"))["$defs"]
    for name, wanted in EXPERIMENTAL.items():
        new = unstable[name]
        properties = {p: node for p, node in new["properties"].items() if wanted is None or p in wanted}
        if name in defs:
            defs[name]["properties"] |= properties
        else:
            defs[name] = {**new, "properties": properties}
    return {name: node for name, node in defs.items() if not ENVELOPE.match(name)}


def without_prose(node: Any, inside: str = "") -> Any:
    """A schema without its descriptions. A property that is called `description` stays."""
    if isinstance(node, list):
        return [without_prose(each) for each in node]
    if not isinstance(node, dict):
        return node
    prose = () if inside in ("properties", "$defs") else ("description",)
    return {key: without_prose(each, key) for key, each in node.items() if key not in prose}


def take(folder: Path) -> None:
    """Copy newer schemas into the project."""
    for name in (STABLE, UNSTABLE):
        schema = without_prose(json.loads((folder / name).read_text("utf-8")))
        (HERE / name).write_text(json.dumps(schema, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
