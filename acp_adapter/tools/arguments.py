"""Checks a model's arguments against a tool's flat JSON Schema, so that a tool's code gets what it was promised."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from acp_adapter.errors import ToolError

_REMARKS = frozenset({"description", "explanation", "reason", "reasoning", "thought", "title"})
"""What some models add to any call to comment on it. It has no effect, so it may be dropped."""

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def schema(required: Sequence[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """A tool's `parameters`: a flat JSON Schema, nothing beyond `properties` allowed."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def count(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": description}


def checked(rules: dict[str, Any], arguments: Any) -> dict[str, Any]:
    """The arguments that `rules` (a schema of type object) knows, each of its type. A null counts as not given.

    What can be read without doubt is: `"5"` for an integer, `"true"` for a boolean, JSON text for an array or object.
    What a schema says beyond a plain type, enum, minimum and maximum is not checked.
    Raises ToolError, a sentence that names the parameter, what is expected and what was sent, for a missing or
    unknown parameter (remarks such as `description` are dropped) and for a wrong type or value.
    """
    if not isinstance(arguments, dict):
        raise ToolError(f"The arguments must be one JSON object with {_listed(rules)}, not {_quoted(arguments)}.")
    properties: dict[str, Any] = rules.get("properties", {})
    given = {name: value for name, value in arguments.items() if value is not None}
    if rules.get("additionalProperties") is False:
        given = {name: value for name, value in given.items() if name in properties or name not in _REMARKS}
        unknown = [name for name in given if name not in properties]
    else:
        unknown = []
    missing = [name for name in rules.get("required", ()) if name not in given]
    if missing or unknown:
        raise ToolError(_misnamed(rules, missing, unknown))
    return {name: _value(name, properties.get(name), value) for name, value in given.items()}


def _value(name: str, rule: Any, value: Any) -> Any:
    wanted = rule.get("type") if isinstance(rule, dict) else None
    if not isinstance(wanted, str) or wanted not in _TYPES:
        return value
    value = _read(wanted, value)
    if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean"):
        raise ToolError(f"{name} must be {_article(wanted)}, not {_quoted(value)}.")
    if isinstance(value, str) and not _is_unicode(value):
        raise ToolError(f"{name} holds half of a surrogate pair, which is no character. Send the whole character.")
    if "enum" in rule and value not in rule["enum"]:
        raise ToolError(f"{name} must be one of {', '.join(map(repr, rule['enum']))}, not {_quoted(value)}.")
    if "minimum" in rule and value < rule["minimum"]:
        raise ToolError(f"{name} must be at least {rule['minimum']}, not {value}.")
    if "maximum" in rule and value > rule["maximum"]:
        raise ToolError(f"{name} must be at most {rule['maximum']}, not {value}.")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(wanted: str, value: Any) -> Any:
    """`value` in the wanted type where there is no doubt, else as it is."""
    if wanted == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or wanted == "string":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _misnamed(rules: dict[str, Any], missing: list[str], unknown: list[str]) -> str:
    faults = [f"{name} is missing" for name in missing] + [f"{_quoted(name)} is not a parameter" for name in unknown]
    return f"{'; '.join(faults)}. The parameters are {_listed(rules)}."


def _listed(rules: dict[str, Any]) -> str:
    required = rules.get("required", ())
    names = [name if name in required else f"{name} (optional)" for name in rules.get("properties", {})]
    return ", ".join(names) or "none"


def _article(wanted: str) -> str:
    return f"an {wanted}" if wanted[0] in "aio" else f"a {wanted}"


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace").decode()
    return text if len(text) <= 80 else f"{text[:80]}…"
