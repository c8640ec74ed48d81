"""ACP's JSON schemas as two questions: is this value valid, and has it fields that the protocol does not know?

The second question is stricter than the protocol, which lets unknown fields pass: what *we* write must be spelt right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

REPOSITORY = Path(__file__).resolve().parents[3]
UNSTABLE = {"session/fork", "initialize"}
"""What this agent speaks of the unstable protocol: fork, and saying so. All else must be in the stable schema."""


def _file(name: str) -> Path:
    inside = sorted(path for folder in ("schema", "acp_adapter", "tests") for path in (REPOSITORY / folder).rglob(name))
    return inside[0] if inside else REPOSITORY.parent / "shared" / "acp" / name


class Schemas:
    """The definitions of ACP version 1, found by method and side."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._names: dict[tuple[str, str, str], str] = {}
        for name, definition in definitions.items():
            for form in ("Request", "Response", "Notification"):
                if "x-method" in definition and name.endswith(form):
                    self._names[definition["x-side"], definition["x-method"], form] = name
        self._validators: dict[str, Any] = {}

    def name(self, side: str, method: str, form: str) -> str | None:
        """The definition of a method's `Request`, `Response` or `Notification`; `side` is who handles the method."""
        return self._names.get((side, method, form)) or self._names.get(("protocol", method, form))

    def faults(self, name: str, value: Any) -> Iterator[str]:
        """What is wrong with a value that should be an instance of the definition, a sentence each."""
        if name not in self._validators:
            schema = {"$ref": f"#/$defs/{name}", "$defs": self._definitions}
            self._validators[name] = jsonschema_rs.Draft202012Validator(schema)
        for error in self._validators[name].iter_errors(value):
            yield f"{name}{_dotted(error.instance_path)}: {str(error.message)[:300]}"
        yield from self._unknown({"$ref": f"#/$defs/{name}"}, value, name)

    def _unknown(self, schema: dict[str, Any], value: Any, at: str) -> Iterator[str]:
        branches = list(self._branches(schema, value))
        if isinstance(value, list):
            items = [branch["items"] for branch in branches if isinstance(branch.get("items"), dict)]
            for number, item in enumerate(value):
                yield from self._unknown({"allOf": items}, item, f"{at}[{number}]")
        if not isinstance(value, dict) or any("additionalProperties" in branch for branch in branches):
            return
        known: dict[str, list[dict[str, Any]]] = {}
        for branch in branches:
            for key, inner in branch.get("properties", {}).items():
                known.setdefault(key, []).append(inner)
        for key, inner in value.items() if known else ():
            if key not in known:
                yield f"{at}: ACP knows no field {key!r} here"
            elif key != "_meta":
                yield from self._unknown({"allOf": known[key]}, inner, f"{at}.{key}")

    def _branches(self, schema: dict[str, Any], value: Any) -> Iterator[dict[str, Any]]:
        """The schema and all that it is made of; of alternatives with a tag, only those whose tag the value has."""
        if "$ref" in schema:
            schema = self._definitions[schema["$ref"].rpartition("/")[2]]
        tags = {key: p["const"] for key, p in schema.get("properties", {}).items() if "const" in p}
        if isinstance(value, dict) and any(value.get(key) != tag for key, tag in tags.items()):
            return
        yield schema
        for combined in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(combined, ()):
                yield from self._branches(part, value)


def _dotted(path: list[Any]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


@cache
def stable() -> Schemas:
    return Schemas(json.loads(_file("v1.schema.json").read_text("utf-8"))["$defs"])


@cache
def unstable() -> Schemas:
    return Schemas(json.loads(_file("v1.unstable.schema.json").read_text("utf-8"))["$defs"])


def for_method(method: str) -> Schemas:
    return unstable() if method in UNSTABLE else stable()
