"""The one way out: a FIFO of frames. What still waits because the editor reads slowly may merge, never overtake.

Without merging, a turn that streams faster than the editor reads would fill the memory with one frame a token.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Protocol

from attrs import define, field, frozen

from acp_adapter.acp.framing import encode

_BATCH: Final = 64 * 1024


class Sink(Protocol):
    """Where frames go. It calls `pause` when it could not pass on all that it was given, `resume` when it has."""

    def write(self, data: bytes) -> None: ...


@define(eq=False)
class TextRun:
    """A frame with a piece of streamed text, that later pieces may join while it waits.

    Two runs with the same key (session, kind and message) are pieces of one text. `content` is the content block
    inside `message`, the frame's JSON.
    """

    key: Hashable
    message: dict[str, Any]
    content: dict[str, Any]
    more: list[str] = field(factory=list)

    def encode(self) -> bytes:
        self.content["text"] += "".join(self.more)
        return encode(self.message)


@frozen
class _Waiting:
    frame: bytes | TextRun
    session: str | None
    replaces: Hashable


class Outbox:
    """Frames in the order in which they were put. Belongs to the event loop's thread."""

    def __init__(self) -> None:
        self._sink: Sink | None = None
        self._waiting: OrderedDict[int, _Waiting] = OrderedDict()
        self._count = 0
        self._runs: dict[str, TextRun] = {}
        self._replaceable: dict[Hashable, int] = {}
        self._scheduled = False
        self._through = asyncio.Event()
        self._closed = False

    def connect(self, sink: Sink) -> None:
        self._sink = sink
        self.resume()

    def put(self, frame: bytes | TextRun, session: str | None = None, replaces: Hashable = None) -> None:
        """Queue a frame. Never blocks; after `close` it does nothing.

        `session` is that of a session/update. A TextRun joins the run that its session queued last, if that
        still waits and has the same key; a frame without session (a response, a request) ends all runs.
        A frame with `replaces` takes out the one with an equal `replaces` that still waits.
        """
        if self._closed or self._joined(frame, session):
            return
        if replaces is not None:
            self._waiting.pop(self._replaceable.get(replaces, -1), None)
            self._replaceable[replaces] = self._count
        self._waiting[self._count] = _Waiting(frame, session, replaces)
        self._count += 1
        self._schedule()

    async def drained(self) -> None:
        """Wait until all that was put has been handed to the operating system, or the connection is over.

        For producers of much at once: awaited now and then, it keeps the queue short.
        """
        self._flush()
        await asyncio.sleep(0)
        while self._waiting and not self._closed:
            await self._through.wait()
        await self._through.wait()

    def pause(self) -> None:
        self._through.clear()

    def resume(self) -> None:
        self._through.set()
        self._flush()

    def close(self) -> None:
        """The editor is gone: drop what waits, wake who waits."""
        self._closed = True
        self._waiting.clear()
        self._runs.clear()
        self._replaceable.clear()
        self._through.set()

    def _joined(self, frame: bytes | TextRun, session: str | None) -> bool:
        """Whether the frame went into a waiting run; if not, it ends the runs that it may not be overtaken by."""
        if session is None:
            self._runs.clear()
            return False
        run = self._runs.pop(session, None)
        if not isinstance(frame, TextRun):
            return False
        if run and run.key == frame.key:
            run.more.append(frame.content["text"])
            frame = run
        self._runs[session] = frame
        return frame is run

    def _schedule(self) -> None:
        """Write at the end of this turn of the loop: what is put in one turn goes out in one write."""
        if not self._scheduled and self._through.is_set():
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        while self._sink and self._waiting and self._through.is_set():
            batch, size = [], 0
            while self._waiting and size < _BATCH:
                batch.append(self._take())
                size += len(batch[-1])
            self._sink.write(b"".join(batch))

    def _take(self) -> bytes:
        count, waiting = self._waiting.popitem(last=False)
        if waiting.replaces is not None and self._replaceable.get(waiting.replaces) == count:
            del self._replaceable[waiting.replaces]
        if isinstance(waiting.frame, bytes):
            return waiting.frame
        if waiting.session and self._runs.get(waiting.session) is waiting.frame:
            del self._runs[waiting.session]
        return waiting.frame.encode()
