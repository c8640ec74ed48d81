"""The process as an ACP agent: claims stdin and stdout, answers `initialize` at once, then loads the rest."""

from __future__ import annotations

import os
import signal
import sys

from acp_adapter.acp.descriptors import claim, read, write
from acp_adapter.acp.handshake import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

    from acp_adapter.acp.serve import Build
    from acp_adapter.own.turn import Agent, Factory

_LONGEST_FIRST_LINE = 1024 * 1024
"""Bytes that are looked at before the rest is loaded. No usual `initialize` is longer."""


def _agent(own: str | Agent | Factory | None = None) -> Build:
    from acp_adapter.acp.agent import build

    return lambda peer, client: build(peer, client, own)


def run(load: Callable[[], Build] = _agent) -> int:
    """Serve the editor on stdin and stdout until it closes them or a signal comes; the exit code.

    0 for every orderly end: stdin at its end, stdout closed by its reader, SIGTERM, SIGINT. `load` gives what is
    served; it is called, and imports what it needs, only after `initialize` has been answered.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop_at_once)
    try:
        source, sink = claim()
    except OSError:
        sys.stderr.write("acp-adapter speaks the Agent Client Protocol on stdin and stdout; one of them is closed.\n")
        return 2
    if os.isatty(source):
        sys.stderr.write("This is an agent: it waits for an editor's messages. To talk to it, run: acp-adapter chat\n")
    received, client = shake_hands(source, sink)
    if not received and client is None:
        return 0
    # Imported only now: it takes ten times as long as all that was needed for the answer.
    from acp_adapter.acp.serve import serve as serve_connection

    return serve_connection(source, sink, load(), received, client)


def serve(agent: str | Agent | Factory) -> int:
    """`run`, with that agent in the place of the built-in one."""
    return run(lambda: _agent(agent))


def shake_hands(source: int, sink: int) -> tuple[bytes, dict[str, Any] | None]:
    """Answer the first line if it is `initialize`; the bytes that are still to be handled, and its params.

    Another first line is left to be handled, with no params.
    """
    received = b""
    while b"\n" not in received and len(received) < _LONGEST_FIRST_LINE:
        data = read(source)
        if not data:
            return received, None
        received += data
    line, _, rest = received.partition(b"\n")
    answered = answer(line)
    if answered is None:
        return received, None
    response, client = answered
    try:
        write(sink, response)
    except OSError:
        return b"", None
    return rest, client


def _stop_at_once(_number: int, _frame: FrameType | None) -> NoReturn:
    """Until the event loop runs there is nothing to bring to an end."""
    os._exit(0)
