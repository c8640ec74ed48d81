"""Bytes ↔ frames: one JSON value a line, in UTF-8 (ACP, "Transports"; JSON-RPC 2.0, section 4). No I/O here."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from acp_adapter.errors import InvalidRequest, ParseError

MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes of a line. A longer one is refused, and not held in memory while it is skipped."""
HEAD: Final = 1024
"""Bytes of a longer line that are looked at for the id to answer to."""

_BOM: Final = b"\xef\xbb\xbf"
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
# Line ends for some readers of text, but not for JSON, which lets them stand as they are.
_OTHER_LINE_ENDS: Final = re.compile("[\u0085\u2028\u2029]")
# A message as far as it can be read without what made it long: members that may stand before its id, the id, and
# the name of the member behind it.
_HEAD: Final = re.compile(
    rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*'
    rb'"id"\s*:\s*(-?\d{1,19}|"(?:[^"\\]|\\.){0,200}")\s*(?:,\s*"(\w*)"|\})'
)


class TooLong:
    """Stands for a line above the limit. `head` is its beginning."""

    def __init__(self, head: bytes) -> None:
        self._head = head

    def envelope(self) -> dict[str, Any] | None:
        """The id of the message and the name of the member behind it, so that it can be answered. Often found."""
        found = _HEAD.match(self._head.removeprefix(_BOM))
        if found is None:
            return None
        return {"id": json.loads(found[1]), **({found[2].decode("utf-8", "replace"): None} if found[2] else {})}


class LineSplitter:
    """Bytes in any chunks → lines, without their line end. Blank lines are left out."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._part = bytearray()
        self._head: bytes | None = None

    def feed(self, data: bytes) -> Iterator[bytes | TooLong]:
        """The lines that `data` completes."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._keep(end)
            line, head = bytes(self._part), self._head
            self._part, self._head = bytearray(), None
            if head is not None:
                yield TooLong(head)
            elif line.strip():
                yield line
        self._keep(rest)

    def finish(self) -> Iterator[bytes]:
        """The last line although it has no line end, if it is whole: half a message is nobody's question."""
        line, self._part = bytes(self._part), bytearray()
        with contextlib.suppress(ParseError):
            decode(line)
            yield line

    def _keep(self, data: bytes) -> None:
        if self._head is not None:
            return
        if len(self._part) + len(data) > self._limit:
            self._head = (bytes(self._part[:HEAD]) + data[:HEAD])[:HEAD]
            self._part = bytearray()
        else:
            self._part += data


def decode(line: bytes | TooLong) -> Any:
    """The JSON value of a line. Lone surrogates, which UTF-8 can't carry on, become U+FFFD.

    Raises ParseError, or InvalidRequest for a line that was too long to be read.
    """
    if isinstance(line, TooLong):
        raise InvalidRequest(f"The line is longer than {MAX_LINE} bytes, so it was skipped.")
    try:
        value = json.loads(line.removeprefix(_BOM).decode("utf-8"), parse_constant=_refuse_constant)
        if _SURROGATE_ESCAPE.search(line):
            value = json.loads(_well_formed(json.dumps(value, ensure_ascii=False)))
    except UnicodeDecodeError as fault:
        raise ParseError(f"The line is not UTF-8: {fault.reason} at byte {fault.start}.") from None
    except json.JSONDecodeError as fault:
        raise ParseError(f"The line is not JSON: {fault.msg} at character {fault.pos}.") from None
    except ValueError as fault:
        raise ParseError(f"The line is not JSON that can be read: {fault}.") from None
    except RecursionError:
        raise ParseError("The line is nested too deeply.") from None
    return value


def encode(message: Any) -> bytes:
    """The line for a JSON value, its line end included. NaN and infinities, which JSON lacks, become null.

    Raises TypeError for what is not a JSON value, ValueError for a value that contains itself.
    """
    try:
        text = _encoder.encode(message)
    except ValueError:
        text = _encoder.encode(_finite(message))
    if text.isascii():
        return text.encode("ascii") + b"\n"
    text = _OTHER_LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        return _well_formed(text).encode("utf-8") + b"\n"


_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _well_formed(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
