"""Times and sizes as people write them."""

from __future__ import annotations

import re
import time
from datetime import datetime

from acp_adapter.errors import InvalidParams

_SECONDS = {"min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES = {"K": 10**3, "M": 10**6, "G": 10**9, "": 1}


def seconds_of(text: str) -> float:
    """A span such as 90min, 12h, 7d or 4w, in seconds. Raises InvalidParams."""
    found = re.fullmatch(r"(\d{1,6})(min|h|d|w)", text)
    if not found:
        raise InvalidParams(f"{text!r} is not a span of time such as 90min, 12h, 7d or 4w.")
    return float(int(found[1]) * _SECONDS[found[2]])


def moment_of(text: str) -> float:
    """A date, or a span before now, in seconds since 1970. Raises InvalidParams."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        pass
    try:
        return time.time() - seconds_of(text)
    except InvalidParams:
        raise InvalidParams(f"{text!r} is neither a date such as 2026-01-31 nor a span such as 7d.") from None


def bytes_of(text: str) -> int:
    """A size such as 500M or 2G, in bytes. Raises InvalidParams."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?) ?([KMG]?)B?", text, re.IGNORECASE)
    if not found:
        raise InvalidParams(f"{text!r} is not a size such as 500M or 2G.")
    return int(float(found[1]) * _BYTES[found[2].upper()])
