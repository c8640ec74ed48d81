"""Runs an agent and records every line that goes through it, both ways: `python tee.py RECORD COMMAND [ARG…]`.

A client that brings its own transport starts this in the agent's place. Each record line is `>> ` or `<< ` and the
frame, in an order that the client could have seen: what it writes is recorded before the agent gets it, what the agent
writes before the client gets it.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import IO


def _pump(source: IO[bytes], target: IO[bytes], mark: bytes, record: IO[bytes], lock: threading.Lock) -> None:
    for line in source:
        with lock:
            record.write(mark + line.rstrip(b"\n") + b"\n")
            record.flush()
        try:
            target.write(line)
            target.flush()
        except OSError:
            return
    target.close()


def main(record_path: str, *command: str) -> int:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    lock = threading.Lock()
    with Path(record_path).open("ab") as record:
        inward = (sys.stdin.buffer, process.stdin, b">> ", record, lock)
        threading.Thread(target=_pump, args=inward, daemon=True).start()
        _pump(process.stdout, sys.stdout.buffer, b"<< ", record, lock)
        return process.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
