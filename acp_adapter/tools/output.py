"""Output: what a command prints, in bounded memory: its head, its tail, and how much lies between."""

from __future__ import annotations

import re

from acp_adapter.tools.kept_output import KeptOutput

HEAD = 16 * 1024
TAIL = 48 * 1024

_ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """Takes bytes as they come, keeps `head` and `tail` bytes of them, and where there are more, all in `kept`."""

    def __init__(self, head: int = HEAD, tail: int = TAIL, kept: KeptOutput | None = None) -> None:
        self.total = 0
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()
        self._head_size = head
        self._tail_size = tail

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        whole = data
        room = self._head_size - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if self._kept and self.left_out:
            self._kept.feed(whole if self._kept.begun else bytes(self._head + self._tail))
        if len(self._tail) > 2 * self._tail_size:
            del self._tail[: -self._tail_size]

    @property
    def left_out(self) -> int:
        """How many bytes lie between head and tail and are gone."""
        return self.total - len(self._head) - min(len(self._tail), self._tail_size)

    def text(self) -> str:
        """Everything, or head and tail with a line between them that says how much is left out."""
        if not self.left_out:
            return clean(bytes(self._head + self._tail))
        head, _, cut_head = self._head.rpartition(b"\n")
        tail = self._tail[-self._tail_size :]
        rest = tail.partition(b"\n")[2] or tail
        if not head:
            head, cut_head = self._head, bytearray()
        gone = self.left_out + len(cut_head) + len(tail) - len(rest)
        return f"{clean(bytes(head))}\n[… {gone:,} bytes left out{self._where()} …]\n{clean(bytes(rest))}"

    def _where(self) -> str:
        if not self._kept or not self._kept.readable:
            return ""
        return f"; the whole output is in {self._kept.path}, to be read in parts with read_file or searched with grep"

    def end(self, size: int) -> str:
        """The last lines, at most `size` bytes."""
        kept = self._tail if len(self._tail) >= size else self._head + self._tail
        cut = bytes(kept[-size:])
        if self.total > size:
            cut = cut.partition(b"\n")[2] or cut
        return clean(cut)


def clean(data: bytes) -> str:
    """Text as a terminal would leave it: invalid UTF-8 replaced, colours and overwritten progress bars gone."""
    text = _ESCAPES.sub("", data.decode("utf-8", "replace"))
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))
