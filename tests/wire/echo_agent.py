"""A real process on the real stdio with handlers that misbehave on purpose. Run by test_process.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from acp_adapter.acp import stdio, types
from acp_adapter.acp.handshake import negotiate
from acp_adapter.acp.peer import Peer


class Echo:
    """`_do/<name>` runs the method of that name with the params."""

    def __init__(self, peer: Peer, client: dict[str, Any] | None) -> None:
        self.peer = peer
        self.client = client
        self.handlers = {
            types.INITIALIZE: self.initialize,
            **{f"_do/{name}": getattr(self, name) for name in vars(Echo) if not name.startswith("_")},
        }

    async def initialize(self, params: types.InitializeRequest) -> dict[str, Any]:
        return negotiate({})

    async def echo(self, params: Any) -> Any:
        return params

    async def who(self, params: Any) -> Any:
        """What was known of the client when this was built."""
        return self.client

    async def noise(self, params: Any) -> None:
        """Everything that usually ends up on stdout."""
        print("from print")
        sys.stdout.write("from sys.stdout")
        os.write(1, b"from fd 1\n")
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
        warnings.warn("from warnings", stacklevel=1)

    async def read_stdin(self, params: Any) -> Any:
        """What a child and this process find on fd 0."""
        child = subprocess.run([sys.executable, "-c", "import sys; print(sys.stdin.read())"], capture_output=True)
        return {"child": child.stdout.decode().strip(), "fd": len(os.read(0, 100)), "sys": sys.stdin.read()}

    async def descriptors(self, params: Any) -> Any:
        """The descriptors that a child inherits, by what they are open on (Linux)."""
        code = "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in range(3)], os.listdir('/proc/self/fd'))"
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, close_fds=False)
        return child.stdout.decode()

    async def log(self, params: Any) -> Any:
        """A megabyte of log."""
        for _ in range(1000):
            logging.getLogger("noise").error("x" * 1000)

    async def flood(self, params: Any) -> Any:
        """Text as fast as it can be made."""
        for n in range(params["chunks"]):
            chunk = types.AgentMessageChunk(types.TextContent("x" * params["size"]), "m")
            self.peer.notify(types.SESSION_UPDATE, types.SessionNotification("s", chunk))
            if n % 100 == 0:
                await asyncio.sleep(0)

    async def hang(self, params: Any) -> None:
        await asyncio.Event().wait()

    async def block(self, params: Any) -> None:
        """A thread that can't be stopped."""
        await asyncio.to_thread(__import__("time").sleep, 60)

    async def shutdown(self) -> None:
        if mark := os.environ.get("ECHO_MARK"):
            Path(mark).write_text("shut down")
        while os.environ.get("ECHO_STUBBORN"):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)


if __name__ == "__main__":
    sys.exit(stdio.run(lambda: Echo))
