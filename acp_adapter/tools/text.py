"""Text: what a file's bytes say, and the same bytes again: encoding, byte order mark and line ends kept."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator

from attrs import evolve, frozen

from acp_adapter.errors import ToolError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_IMAGES = ((b"\x89PNG", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF8", "GIF"), (b"RIFF", "RIFF (WebP, WAV)"))
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x1b")


class NotText(Exception):
    """The bytes are no text in any encoding that is tried; the message says what they seem to be."""


@frozen
class Text:
    """A file's text with its own line ends; `mark` is its byte order mark, which is not part of the text."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def digest(self) -> str:
        """The same for the same words, whatever the line ends and encoding: a buffer and its file agree."""
        return hashlib.sha256(unix(self.text).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def newline(self) -> str:
        """The line end that most lines have, LF for a text without any."""
        pairs = self.text.count("\r\n")
        ends = {"\n": self.text.count("\n") - pairs, "\r\n": pairs, "\r": self.text.count("\r") - pairs}
        return max(ends, key=lambda end: ends[end])

    def saying(self, text: str) -> Text:
        """Another text in the same clothes."""
        return evolve(self, text=text)

    def encode(self) -> bytes:
        """Raises ToolError where the encoding can't hold a character."""
        try:
            return self.mark + self.text.encode(self.encoding)
        except UnicodeEncodeError as fault:
            bad = fault.object[fault.start]
            raise ToolError(
                f"The file is {self.encoding} and can't hold {bad!r} (U+{ord(bad):04X}). Leave that character out."
            ) from fault


def decode(data: bytes) -> Text:
    """UTF-8, or what a byte order mark says, or else cp1252 or latin-1. Raises NotText."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return Text(_decoded(data[len(mark) :], encoding), encoding, mark)
    if b"\0" in data:
        raise NotText(_kind(data))
    for encoding in ("utf-8", *(["cp1252", "latin-1"] if _looks_like_text(data) else [])):
        try:
            return Text(data.decode(encoding), encoding)
        except UnicodeDecodeError:
            continue
    raise NotText(_kind(data))


def unix(text: str) -> str:
    """The text with LF for every line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def with_newlines(text: str, newline: str) -> str:
    """The text with `newline` for every line end, unless it already has CRLFs of its own, which are meant."""
    return text if newline == "\n" or "\r\n" in text else text.replace("\n", newline)


def lines(text: str) -> Iterator[str]:
    """Lines with their ends, split at LF, CRLF and CR only (not at form feeds or U+2028)."""
    return (found[0] for found in _LINE.finditer(text))


def _decoded(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as fault:
        raise NotText(f"it begins like {encoding.upper()} text but is not ({fault.reason})") from fault


def _looks_like_text(data: bytes) -> bool:
    return not any(byte < 32 and byte not in _TEXT_CONTROLS for byte in data[:65536])


def _kind(data: bytes) -> str:
    for magic, name in _IMAGES:
        if data.startswith(magic):
            return f"it is a {name} file"
    return "it is binary"
