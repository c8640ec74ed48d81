"""What the author of an agent sees: `Turn`, one prompt and all that can be done about it, and `Call`, a tool call of
the agent's own.

An author's code never runs on the connection's event loop (see `acp_adapter.own.author`), so everything here may be
called from any thread and any event loop. The work itself is done on the connection's loop, by a `Scribe`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

from attrs import frozen

from acp_adapter.errors import in_words
from acp_adapter.own.said import Said
from acp_adapter.pairing import paired
from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.providers.content import sent, text_of
from acp_adapter.tools.port import Kind, Tool, ToolResult
from acp_adapter.transcript import Message, new_id

T = TypeVar("T")

KEPT = "kept"
"""Where a message's `details` hold what its agent wanted kept."""


class OpenCall(Protocol):
    """A call that was shown and is to be ended. `allowed` is false where it was asked for and refused."""

    @property
    def allowed(self) -> bool: ...

    async def end(self, text: str, failed: bool) -> None: ...


class Scribe(Protocol):
    """Writes down and shows what an agent says and does. Its methods belong to the connection's event loop."""

    over: bool

    def send(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Have it done there; for any thread. Raises CancelledError where the turn is over."""
        ...

    def done(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a thread without an event loop, which waits."""
        ...

    def keep(self, items: Sequence[Any]) -> None: ...

    async def say(self, said: Said) -> None: ...

    async def call_tool(self, name: str, arguments: str, call_id: str) -> ToolResult: ...

    async def begin(self, own: Own) -> OpenCall: ...


@frozen
class Own:
    """A call of the agent's own: how it is shown, and whether the user is asked for it."""

    name: str
    arguments: str
    call_id: str
    title: str
    kind: Kind
    asks: bool
    command: str | None


class Turn:
    """One prompt, for an agent that answers it.

    `prompt` is its text, `cwd` the session's folder, `session_id` the same as long as the conversation lasts.
    """

    def __init__(
        self, scribe: Scribe, session_id: str, cwd: Path, history: Sequence[Message], tools: Mapping[str, Tool]
    ) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.prompt = text_of(sent(history[-1]))
        self._scribe = scribe
        self._history = list(history)
        self._tools = dict(tools)

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation in the form of OpenAI's chat completions, this prompt last. The list is yours to change."""
        encoder = ChatEncoder("", Dialect())
        return [json.loads(line) for line in map(encoder.message, paired(self._history)) if line]

    @cached_property
    def kept(self) -> list[Any]:
        """What was kept in this conversation, oldest first. A prompt that is taken back takes its items with it."""
        return [item for message in self._history for item in (message.details or {}).get(KEPT, ())]

    @cached_property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that `call_tool` takes, as OpenAI's chat completions wants to be told of them."""
        return [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in self._tools.values()
        ]

    @property
    def cancelled(self) -> bool:
        """Whether the turn is over for the user: nothing that is said now is shown or kept."""
        return self._scribe.over

    async def say(self, said: Said) -> None:
        """The same as yielding it."""
        await self._scribe.send(self._scribe.say(said))

    def say_now(self, said: Said) -> None:
        """The same for a thread without an event loop: returns when it is shown."""
        self._scribe.done(self._scribe.say(said))

    def keep(self, *items: Any) -> None:
        """Keep these with the conversation, as JSON, for `kept` of later turns. Raises TypeError for what is none."""
        self._scribe.keep(json.loads(json.dumps(items)))

    async def call_tool(self, name: str, args: Mapping[str, Any] | str = "{}", *, id: str | None = None) -> ToolResult:
        """Run one of `tools`, asking the user first where the permission mode and the rules say so.

        `args` may be JSON text, as models give it. What goes wrong, and what the user refused, is a result too, with
        `failed` set: its `text` is for a model to read.
        """
        return await self._scribe.send(self._scribe.call_tool(name, _arguments(args), id or new_id()))

    def tool(
        self,
        name: str,
        args: Mapping[str, Any] | str = "{}",
        *,
        id: str | None = None,
        title: str | None = None,
        kind: Kind = "other",
        asks: bool = False,
        command: str | None = None,
    ) -> Call:
        """A call of the agent's own, to be shown while it runs and kept with its result.

        With `asks` the user is asked first, as the permission mode and the rules say: look at `Call.allowed`. Rules
        are about `name`, and about `command` where it is one for a shell.
        """
        own = Own(name, _object(args), id or new_id(), title or name, kind, asks, command)
        return Call(self._scribe, own)

    async def ask_permission(
        self,
        name: str,
        args: Mapping[str, Any] | str = "{}",
        *,
        title: str | None = None,
        command: str | None = None,
    ) -> bool:
        """Ask the user whether this may be done, as the permission mode and the rules say; what was decided is kept."""
        async with self.tool(name, args, title=title, asks=True, command=command) as call:
            call.result = "Allowed."
        return call.allowed

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """For an agent that is no coroutine: what any of the methods above gives, as in
        `turn.wait(turn.call_tool("read_file", {"path": "a.txt"}))`."""
        return asyncio.run(work)


class Call:
    """A tool call of the agent's own: `async with turn.tool("look_up", {"word": word}) as call: call.result = …`, in
    a plain function without the `async`.

    Where its beginning and end are far apart, `await call.begin()` and `await call.end(text)` do the same. An
    exception in the block is its result, as a failure. `allowed` is false where the user was asked and did not allow
    it: then the result is that, whatever is said.
    """

    def __init__(self, scribe: Scribe, own: Own) -> None:
        self.result = ""
        self.allowed = True
        self._scribe = scribe
        self._own = own
        self._open: OpenCall | None = None

    async def begin(self) -> Call:
        self._open = await self._scribe.send(self._scribe.begin(self._own))
        self.allowed = self._open.allowed
        return self

    async def end(self, text: str = "", *, failed: bool = False) -> None:
        """`text` is what a model would read as the call's result."""
        if self._open is None:
            raise RuntimeError("The call was not begun.")
        await self._scribe.send(self._open.end(str(text), failed))

    async def __aenter__(self) -> Call:
        return await self.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if fault is None:
            await self.end(self.result)
        elif isinstance(fault, Exception):
            await self.end(in_words(fault), failed=True)

    def __enter__(self) -> Call:
        return asyncio.run(self.begin())

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run(self.__aexit__(kind, fault, trace))


Answer = str | None
Answers = AsyncIterator[Said] | Iterator[Said] | Awaitable[Answer] | Answer
Agent = Callable[[Turn], Answers]
"""Answers a turn: an async generator, a coroutine function, a generator or a plain function. What is yielded, and a
text that is returned, is shown and kept."""

Factory = Callable[[], Agent | Awaitable[Agent]]
"""Makes the agent of one session."""


def _arguments(args: Mapping[str, Any] | str) -> str:
    return args if isinstance(args, str) else json.dumps(dict(args), ensure_ascii=False)


def _object(args: Mapping[str, Any] | str) -> str:
    """The same as a JSON object: a model may have given text that is none."""
    text = _arguments(args)
    try:
        return text if isinstance(json.loads(text), dict) else json.dumps({"arguments": text})
    except ValueError:
        return json.dumps({"arguments": text})
