"""However the network cuts a stream into pieces, the answer is the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.anthropic.answer import MessagesAnswer
from acp_adapter.providers.chat.answer import ChatAnswer
from acp_adapter.providers.port import Completed
from acp_adapter.providers.streamed import DONE, chunks


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


def claude(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}"


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[str]:
    return [
        claude("content_block_start", index=index, content_block=start),
        *(claude("content_block_delta", index=index, delta=delta) for delta in deltas),
        claude("content_block_stop", index=index),
    ]


def said(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


def args(arguments: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": arguments}


CLAUDE_EVENTS = [
    claude("message_start", message={"usage": {"input_tokens": 7}}),
    claude("ping"),
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "日本語で考える"},
        {"type": "signature_delta", "signature": "c2lnbmVk"},
    ),
    ": keep-alive",
    *block(1, {"type": "text", "text": ""}, said("Grüße 🎉"), said("line one\nline two")),
    *block(2, {"type": "tool_use", "id": "a", "name": "read_file", "input": {}}, args('{"path":'), args('"ü.py"}')),
    *block(3, {"type": "tool_use", "id": "b", "name": "list_directory", "input": {}}),
    claude("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 2}),
    claude("message_stop"),
]
STREAMS = {"chat": EVENTS, "anthropic": CLAUDE_EVENTS}


class Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


async def read(api: str, pieces: list[bytes]) -> tuple[list[Any], Completed]:
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces(pieces))
    answer = MessagesAnswer() if api == "anthropic" else ChatAnswer()
    deltas, done = [], False
    async for chunk in chunks(response):
        done = chunk is DONE
        deltas += answer.feed(chunk)
    return deltas, answer.completed() if isinstance(answer, MessagesAnswer) else answer.completed(done)


def told(got: tuple[list[Any], Completed]) -> tuple[Any, ...]:
    """All but the message's own id and time."""
    deltas, completed = got
    message = completed.message
    said = message.content, message.reasoning, message.reasoning_details, message.tool_calls
    return deltas, completed.finish_reason, completed.usage, *said


@pytest.mark.parametrize("api", STREAMS)
@given(data=st.data(), newline=st.sampled_from(["\n", "\r\n"]))
def test_any_chunking_of_the_bytes_gives_the_same_answer(api: str, data: st.DataObject, newline: str) -> None:
    whole = "".join(event.replace("\n", newline) + newline * 2 for event in STREAMS[api]).encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=40)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    expected = told(asyncio.run(read(api, [whole])))
    assert expected[3:5] == ("Grüße 🎉line one\nline two", "日本語で考える")
    assert [call["function"]["arguments"] for call in expected[-1]] == ['{"path":"ü.py"}', "{}"]
    assert told(asyncio.run(read(api, pieces))) == expected


@pytest.mark.parametrize("api", STREAMS)
def test_one_byte_at_a_time(api: str) -> None:
    whole = "".join(f"{event}\n\n" for event in STREAMS[api]).encode()
    single = [bytes([byte]) for byte in whole]
    assert told(asyncio.run(read(api, single))) == told(asyncio.run(read(api, [whole])))
