"""Connection: one MCP server of one session, from start to end.

The SDK's contexts must be entered and left by the same task, so each connection has a task of its own; calls come from
wherever they are made. The SDK costs half a CPU-second to import, so it is imported in a thread when the first server
is connected.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attrs import define, field

from acp_adapter.errors import ToolError
from acp_adapter.tools.mcp.servers import McpServer
from acp_adapter.tools.mcp.stderr_tail import StderrTail

if TYPE_CHECKING:
    import mcp
    import mcp_types

log = logging.getLogger(__name__)

CONNECT = 60.0
"""Seconds for a server to start and to list its tools."""
GONE = 1.0
"""Seconds for a server to end by itself when its session does. What is left is killed with the session's children."""
PAGES = 50
"""Pages of tools that are read from one server."""

State = Literal["connecting", "ready", "failed", "closed"]


@define(eq=False)
class Connection:
    """`tools` are those that the server has now; `fault` says why it is not `ready`.

    `mark` gives the environment that marks a child as its session's; beside that and the server's own `env` it
    inherits only what the SDK lets through (PATH, HOME and the like).
    """

    server: McpServer
    cwd: Path
    mark: Callable[[], Mapping[str, str]]
    state: State = field(default="connecting", init=False)
    fault: str = field(default="", init=False)
    tools: list[mcp_types.Tool] = field(factory=list, init=False)
    settled: asyncio.Event = field(factory=asyncio.Event, init=False)
    """Set once it is known whether the server can be used."""
    _client: mcp.Client | None = field(default=None, init=False)
    _ending: asyncio.Event = field(factory=asyncio.Event, init=False)
    _stderr: StderrTail = field(factory=StderrTail, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _opened: float = field(default=0.0, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)

    def open(self) -> None:
        self._opened = asyncio.get_running_loop().time()
        self._task = asyncio.create_task(self._live())

    async def waited_for(self, patience: float) -> None:
        """Until it is ready or has failed, or `patience` seconds have passed since it was opened."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self._opened + patience):
                await self.settled.wait()

    async def call(self, tool: str, arguments: dict[str, Any]) -> mcp_types.CallToolResult:
        """Raises ToolError where the server is not there, dies meanwhile, or takes longer than its time."""
        if self._client is None:
            raise ToolError(f"The MCP server {self.server.name!r} is not connected: {self.fault or self.state}")
        from mcp.shared.exceptions import MCPError  # imported with the SDK before there was a client

        try:
            return await self._client.call_tool(tool, arguments, read_timeout_seconds=self.server.timeout)
        except MCPError as error:
            if self._is_lost(error):
                self._failed(f"it ended in the middle of {tool!r}. `/mcp restart {self.server.name}` starts it again.")
                raise ToolError(f"The MCP server {self.server.name!r} is gone: {self.fault}") from error
            raise ToolError(f"The MCP server {self.server.name!r} refused {tool!r}: {error}") from error
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolError(f"The call of {tool!r} on {self.server.name!r} failed: {error}") from error

    async def aclose(self) -> None:
        """End it. Returns within GONE and a bit, whatever the server does."""
        self._ending.set()
        if self._task and not self._task.done():
            if self.state == "connecting":
                self._task.cancel()
            await asyncio.wait([self._task], timeout=GONE)
        self._client = None
        self.state = "closed"
        self.settled.set()

    async def _live(self) -> None:
        try:
            await asyncio.to_thread(importlib.import_module, "mcp")
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(CONNECT):
                    self._client = await stack.enter_async_context(self._made(stack))
                    self.tools = await self._listed()
                self._settle("ready")
                self._beside(self._listen())
                await self._ending.wait()
                await self._leave()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001  (the SDK raises groups of anything; all become a sentence)
            self._failed(await self._reason(error))

    def _made(self, stack: contextlib.AsyncExitStack) -> mcp.Client:
        import mcp

        return mcp.Client(self._transport(stack), message_handler=self._heard, mode="auto")

    def _transport(self, stack: contextlib.AsyncExitStack) -> Any:
        from mcp.client.sse import sse_client
        from mcp.client.stdio import StdioServerParameters, stdio_client

        server = self.server
        if server.transport == "sse":
            return sse_client(server.url, headers=dict(server.headers), sse_read_timeout=server.timeout)
        if server.transport == "http":
            return _streamable(server)
        started = StdioServerParameters(
            command=server.command, args=list(server.args), env={**server.env, **self.mark()}, cwd=self.cwd
        )
        return stdio_client(started, stack.enter_context(self._stderr.opened()))

    async def _listed(self) -> list[mcp_types.Tool]:
        assert self._client is not None
        tools: list[mcp_types.Tool] = []
        cursor = None
        for _ in range(PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
            tools += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        return tools

    async def _heard(self, message: Any) -> None:
        """What a server of a protocol version before 2026-07-28 says unasked; newer ones are listened to."""
        import mcp_types

        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._beside(self._relist())

    async def _listen(self) -> None:
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        assert self._client is not None
        try:
            async with self._client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    await self._relist()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError) as error:
            log.debug("%s does not tell of changed tools: %s", self.server.name, error)

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relist(self) -> None:
        try:
            if self._client:
                self.tools = await self._listed()
        except Exception as error:  # noqa: BLE001  (a server that can't list again keeps the tools it had)
            log.warning("%s: its changed tools could not be listed: %s", self.server.name, error)

    async def _leave(self) -> None:
        self._client = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _settle(self, state: State, fault: str = "") -> None:
        self.state, self.fault = state, fault
        self.settled.set()

    def _failed(self, reason: str) -> None:
        log.warning("MCP server %s: %s", self.server.name, reason)
        self._client, self.tools = None, []
        self._settle("failed", reason)

    def _is_lost(self, error: Exception) -> bool:
        import mcp_types

        return getattr(getattr(error, "error", None), "code", None) == mcp_types.CONNECTION_CLOSED

    async def _reason(self, error: BaseException) -> str:
        """A sentence: the innermost cause, and the server's own last word where it gave one."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            return f"it did not answer within {CONNECT:.0f} seconds."
        if isinstance(error, FileNotFoundError):
            return f"there is no program {self.server.command!r}."
        said = await self._stderr.last_line()
        return f"{str(error) or type(error).__name__}{f' ({said})' if said else ''}".rstrip(".") + "."


@contextlib.asynccontextmanager
async def _streamable(server: McpServer) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    patience = httpx2.Timeout(CONNECT, read=server.timeout)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=patience) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams
