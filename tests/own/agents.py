"""Agents of the kind that people write, for the tests: each shows one thing that an agent may do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from acp_adapter import Plan, Thought, Turn, Usage


async def echo(turn: Turn) -> AsyncIterator[str]:
    yield "You said: "
    yield turn.prompt


async def says_everything(turn: Turn) -> AsyncIterator[Any]:
    """Text, thoughts, a plan, usage, calls of ours and of its own, one that fails: in an order that mixes them."""
    yield Thought("first ")
    yield Thought("thought")
    yield "one"
    yield Thought("a second thought")
    yield Plan(["look", {"content": "write", "status": "in_progress", "priority": "high"}])
    yield "two"
    read = await turn.call_tool("read_file", {"path": "a.txt"})
    yield f"read {read.failed}"
    written = await turn.call_tool("write_file", {"path": "b.txt", "content": "new\n"})
    async with turn.tool("look_up", {"word": "rose"}, title="Look up rose", kind="search") as call:
        call.result = "a flower"
    try:
        async with turn.tool("look_up", {"word": "nothing"}):
            raise LookupError("no such word")
    except LookupError:
        yield "not found"
    yield Usage(input_tokens=90, output_tokens=10, cost=0.25, context_window=1000)
    await asyncio.gather(*(turn.call_tool("glob", {"pattern": f"*.{end}"}) for end in ("txt", "md", "py")))
    yield f"three {written.failed}"


async def asks(turn: Turn) -> str:
    allowed = await turn.ask_permission("deploy", {"to": "production"}, title="Deploy to production")
    return "deployed" if allowed else "not deployed"


async def asks_for_a_command(turn: Turn) -> str:
    async with turn.tool("shell", {"command": turn.prompt}, asks=True, command=turn.prompt) as call:
        if call.allowed:
            call.result = f"ran {turn.prompt}"
    return f"{call.allowed}"


async def streams_for_ever(turn: Turn) -> AsyncIterator[str]:
    """Until it is cancelled; then it says so, where only the disk hears it."""
    try:
        yield "begun "
        while True:
            yield "and on "
            await asyncio.sleep(0.02)
    finally:
        Path(turn.cwd, "cancelled").write_text(str(turn.cancelled))


async def hangs_in_a_tool(turn: Turn) -> None:
    await turn.say("working")
    async with turn.tool("wait_for_it") as call:
        await asyncio.Event().wait()
        call.result = "never"


async def fails(turn: Turn) -> AsyncIterator[str]:
    yield "so far so good"
    if turn.prompt != "fine":
        raise ValueError("the sky fell")


def blocks(turn: Turn) -> Iterator[str]:
    """A plain function may block: here until a file is there."""
    yield "waiting "
    while not Path(turn.cwd, turn.prompt).exists() and not turn.cancelled:
        time.sleep(0.01)
    yield "done"


async def blocks_in_a_coroutine(turn: Turn) -> str:
    """What an author should not do. It holds up agents of the same process, and nothing else."""
    end = time.monotonic() + 30
    Path(turn.cwd, "blocked").touch()
    while not Path(turn.cwd, turn.prompt).exists() and time.monotonic() < end:
        time.sleep(0.01)
    return "done"


def plain(turn: Turn) -> str:
    listed = turn.wait(turn.call_tool("list_directory", {"path": "."}))
    with turn.tool("count", {"of": "lines"}) as call:
        call.result = str(len(listed.text.splitlines()))
    turn.say_now("There are ")
    return call.result


async def remembers(turn: Turn) -> str:
    """Keeps items of its own, and says what it has of both."""
    turn.keep({"prompt": turn.prompt, "blob": ["ü", 1.5, None]})
    roles = " ".join(message["role"] for message in turn.messages)
    return f"{[item['prompt'] for item in turn.kept]} {roles}"


async def tells_history(turn: Turn) -> str:
    return repr([(message["role"], message.get("content")) for message in turn.messages])


async def noisy(turn: Turn) -> str:
    print("a banner")
    os.write(1, b"raw bytes on 1\n")
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "import sys; print(len(sys.stdin.read()))")
    return f"quiet {await process.wait()}"


async def spends(turn: Turn) -> AsyncIterator[Any]:
    yield "dear"
    yield Usage(1000, 500)


async def misspeaks(turn: Turn) -> AsyncIterator[Any]:
    yield "first"
    yield 42


def maker() -> Any:
    """Each session gets a counter of its own."""
    count = 0

    async def counted(turn: Turn) -> str:
        nonlocal count
        count += 1
        return f"prompt {count}"

    return counted


async def made_slowly() -> Any:
    await asyncio.sleep(0)
    return echo


class Polite:
    """A class without parameters is a factory as well."""

    async def __call__(self, turn: Turn) -> str:
        return f"Dear user, {turn.prompt}"


def raises() -> Any:
    raise RuntimeError("no key for the model")


def makes_nothing() -> Any:
    return {"not": "an agent"}


def leaves() -> Any:
    sys.exit(3)


async def plays(turn: Turn) -> None:
    """What the prompt says, as JSON: each step is a word and, for `together`, the steps that run at once."""

    async def together(*rest: Any) -> None:
        await asyncio.gather(*(step(*each) for each in rest))

    async def own() -> None:
        async with turn.tool("own", {"n": 1}, id="same") as call:
            await turn.say("inside ")
            call.result = "result"

    async def keep() -> None:
        turn.keep({"kept": True})
        await turn.say(Usage(1, 1))

    steps: dict[str, Any] = {
        "together": together,
        "say": lambda: turn.say("said "),
        "think": lambda: turn.say(Thought("thought ")),
        "ours": lambda: turn.call_tool("list_directory", {"path": "."}, id="same"),
        "own": own,
        "asks": lambda: turn.ask_permission("ask"),
        "plan": lambda: turn.say(Plan(["a step"])),
        "left": lambda: turn.tool("left open").begin(),
        "keep": keep,
    }

    async def step(word: str, *rest: Any) -> None:
        await steps[word](*rest)

    for each in json.loads(turn.prompt):
        await step(*each)


class Speechless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def fails_without_words(turn: Turn) -> str:
    raise Speechless
