"""Values ⇄ columns: how texts and JSON stand in the shared tables."""

from __future__ import annotations

import json
from typing import Any

JSON_MARK = "\x00json:"
"""Content that begins so is JSON: parts, or a text that itself begins so."""


def encoded(content: str | list[Any] | dict[str, Any] | None) -> str | None:
    """The text of a content column."""
    if content is None or (isinstance(content, str) and not content.startswith(JSON_MARK)):
        return storable(content)
    return JSON_MARK + json.dumps(clean(content))


def decoded(text: Any) -> Any:
    """What a content column holds. Text behind the mark that is not JSON is given as it stands."""
    if not isinstance(text, str) or not text.startswith(JSON_MARK):
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    try:
        return json.loads(text.removeprefix(JSON_MARK))
    except (ValueError, RecursionError):
        return text


def storable(text: str | None) -> str | None:
    """The text with each lone surrogate, which no encoding can hold, as U+FFFD."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def json_text(value: Any) -> str | None:
    """Readable JSON: what the tool calls say is searched as it stands in the column."""
    return None if not value else json.dumps(clean(value), ensure_ascii=False)


def json_value(text: str | None) -> Any:
    """What such a column holds; None where it is not JSON."""
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def clean(value: Any) -> Any:
    """The value with all its texts, keys too, made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value
