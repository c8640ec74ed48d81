"""However the network cuts a stream into pieces, the answer is the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.chat.answer import ChatAnswer
from acp_adapter.providers.http import DONE, chunks
from acp_adapter.providers.port import Completed


def event(finish: str | None = None, **delta: Any) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]}, ensure_ascii=False)}"


def fragment(index: int, arguments: str, **more: Any) -> str:
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    return event(tool_calls=[{"index": index, "function": function, **more}])


EVENTS = [
    ": connected",
    event(role="assistant", content=""),
    event(reasoning_content="日本語で考える"),
    event(content="Grüße 🎉"),
    ": keep-alive",
    event(content="line one\nline two"),
    fragment(0, '{"path":', id="a", name="read_file"),
    fragment(1, "{}", id="b", name="list_directory"),
    fragment(0, '"ü.py"}'),
    event("tool_calls"),
    'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}',
    "data: [DONE]",
]


class Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def read(pieces: list[bytes]) -> tuple[list[Any], Completed]:
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces(pieces))
    answer = ChatAnswer()
    deltas, done = [], False
    async for chunk in chunks(response):
        done = chunk is DONE
        deltas += answer.feed(chunk)
    return deltas, answer.completed(done)


def told(got: tuple[list[Any], Completed]) -> tuple[Any, ...]:
    """All but the message's own id and time."""
    deltas, completed = got
    message = completed.message
    return deltas, completed.finish_reason, completed.usage, message.content, message.reasoning, message.tool_calls


@given(st.data(), st.sampled_from(["\n", "\r\n"]))
def test_any_chunking_of_the_bytes_gives_the_same_answer(data: st.DataObject, newline: str) -> None:
    whole = "".join(line + newline * 2 for line in EVENTS).encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=40)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    expected = told(asyncio.run(read([whole])))
    assert expected[3] == "Grüße 🎉line one\nline two"
    assert [call["function"]["arguments"] for call in expected[5]] == ['{"path":"ü.py"}', "{}"]
    assert told(asyncio.run(read(pieces))) == expected


def test_one_byte_at_a_time() -> None:
    whole = "".join(f"{line}\n\n" for line in EVENTS).encode()
    single = [bytes([byte]) for byte in whole]
    assert told(asyncio.run(read(single))) == told(asyncio.run(read([whole])))
