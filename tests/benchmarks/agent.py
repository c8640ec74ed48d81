"""The agent under measurement: started, asked, and its CPU time and memory read from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.clients.process import clean_environment


class Agent:
    """A blocking client: `ask` writes a request and reads until its answer, answering nothing itself."""

    def __init__(self, home: Path, **env: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "acp_adapter"],
            env=clean_environment(home, "benchmark", **env),
            cwd=home.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._seen = psutil.Process(self._process.pid)
        self._id, self._last = 0, b""
        self.read_bytes = 0
        self.peak = 0
        """Bytes of resident memory at most, once it was closed."""

    def ask(self, method: str, **params: Any) -> Any:
        """The result. Raises RuntimeError for an error answer or a dead agent."""
        return self.result(self.begin(method, **params))

    def begin(self, method: str, **params: Any) -> int:
        """Write a request; its id."""
        self._id += 1
        self._write({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def tell(self, method: str, **params: Any) -> None:
        """Write a notification."""
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def result(self, request: int) -> Any:
        """Read until the answer to that request. Raises RuntimeError for an error answer or a dead agent."""
        for _ in self.until(request):
            pass
        return self._result(self._last)

    def until(self, request: int) -> Iterator[bytes]:
        """The lines that come before the answer to that request. Raises RuntimeError for a dead agent."""
        assert self._process.stdout
        ending = f'"id":{request},'.encode()
        for line in self._process.stdout:
            self._last = line
            self.read_bytes += len(line)
            if ending in line[:40] and b'"method"' not in line[:60]:
                return
            yield line
        raise RuntimeError(f"the agent went away at request {request}")

    def notify(self, method: str, **params: Any) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params})

    def read(self, most: int) -> None:
        """Take so many bytes of its output, or what there is of them."""
        assert self._process.stdout
        self.read_bytes += len(self._process.stdout.read1(most))  # type: ignore[attr-defined]

    def initialize(self, capabilities: dict[str, Any] | None = None) -> Any:
        return self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities or {})

    def new(self, cwd: Path) -> str:
        return str(self.ask("session/new", cwd=str(cwd), mcpServers=[])["sessionId"])

    def prompt(self, session: str, text: str) -> Any:
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def cpu(self) -> float:
        """Seconds of CPU so far, user and system, to the clock tick (usually 10 ms)."""
        times = self._seen.cpu_times()
        return times.user + times.system

    def memory(self) -> int:
        """Bytes that would be freed if the process ended (unique set size)."""
        return int(self._seen.memory_full_info().uss)

    def close(self) -> float:
        """End its input and wait; the CPU seconds of its whole life."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return usage.ru_utime + usage.ru_stime

    def _write(self, frame: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")
        self._process.stdin.flush()

    def _result(self, line: bytes) -> Any:
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]


@contextmanager
def running(home: Path, capabilities: dict[str, Any] | None = None, **env: str) -> Iterator[Agent]:
    """An initialized agent, for a client that offers this much."""
    agent = Agent(home, **env)
    try:
        agent.initialize(capabilities)
        yield agent
    finally:
        agent.close()


def command(*argv: str) -> tuple[float, float]:
    """Run a program to its end: its wall and CPU seconds."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{argv} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime
