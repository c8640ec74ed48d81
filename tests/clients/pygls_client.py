"""pygls' own JSON-RPC client on frames of lines, so that pytest-lsp can start the agent and talk to it."""

from __future__ import annotations

import asyncio
from typing import Any

from pygls.client import JsonRPCClient
from pygls.io_ import run_async


class LineClient(JsonRPCClient):
    """pygls reads and writes Content-Length frames; what is read here looks like them, what is written loses them."""

    def __init__(self) -> None:
        super().__init__()
        self.updates: list[Any] = []
        self.faults: list[Exception] = []
        self.feature("session/update")(lambda params: self.updates.append(params.update))

    async def start_io(self, cmd: str, *args: str, **kwargs: Any) -> None:
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        self._server = await asyncio.create_subprocess_exec(
            cmd, *args, stdin=pipe, stdout=pipe, stderr=nothing, limit=2**24, **kwargs
        )
        assert self._server.stdin and self._server.stdout
        self.protocol.set_writer(_LineWriter(self._server.stdin), include_headers=False)
        reading = run_async(self._stop_event, _HeaderReader(self._server.stdout), self.protocol, None, self._note)
        self._async_tasks.append(asyncio.create_task(reading))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        return await asyncio.wait_for(self.protocol.send_request_async(method, params), 20)

    async def leave(self) -> int:
        """Close the agent's stdin; its exit code."""
        assert self._server and self._server.stdin
        self._server.stdin.close()
        code = await asyncio.wait_for(self._server.wait(), 10)
        await asyncio.gather(*self._async_tasks)
        return code

    def _note(self, fault: Exception, _: Any) -> None:
        self.faults.append(fault)


class _LineWriter:
    def __init__(self, stream: asyncio.StreamWriter) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        self._stream.write(data + b"\n")

    def close(self) -> None:
        self._stream.close()


class _HeaderReader:
    """Gives each line as a frame with headers: the length, a blank line, the body."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._body: bytes | None = None

    async def readline(self) -> bytes:
        if self._body is not None:
            return b"\r\n"
        line = await self._stream.readline()
        if not line:
            return b""
        self._body = line.rstrip(b"\n")
        return f"Content-Length: {len(self._body)}\r\n".encode()

    async def readexactly(self, n: int) -> bytes:
        body, self._body = self._body, None
        assert body is not None and len(body) == n
        return body
