"""A JSON Schema cut down to what the Gemini API's own `Schema` knows, for servers without `parametersJsonSchema`.

Source: `Schema` in the Gemini API's reference, which is a part of OpenAPI 3.0's.
"""

from __future__ import annotations

from typing import Any

KNOWN = {
    "type", "format", "title", "description", "enum", "maxItems", "minItems", "required", "minProperties",
    "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum", "default", "example",
}  # fmt: skip
FORMATS = {"enum", "date-time", "float", "double", "int32", "int64"}


def openapi(schema: Any) -> dict[str, Any]:
    """What the schema says, in the words that are known; the rest is left to the tool itself to check."""
    if not isinstance(schema, dict):
        return {}
    cut = {key: value for key, value in schema.items() if key in KNOWN}
    if cut.get("format") not in FORMATS:
        cut.pop("format", None)
    if isinstance(cut.get("type"), list):
        cut |= _of_types(cut["type"])
    if "const" in schema:
        cut["enum"] = [schema["const"]]
    if "enum" in cut:
        cut |= {"type": "string", "enum": [str(value) for value in cut["enum"]]}
    if isinstance(schema.get("properties"), dict):
        cut["properties"] = {name: openapi(value) for name, value in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        cut["items"] = openapi(schema["items"])
    if either := schema.get("anyOf") or schema.get("oneOf"):
        cut["anyOf"] = [openapi(value) for value in either]
    return cut


def _of_types(types: list[str]) -> dict[str, Any]:
    """`["string", "null"]` is a nullable string; of several types the first counts."""
    real = [name for name in types if name != "null"]
    return {"type": real[0] if real else "string", "nullable": "null" in types}
