"""However the network cuts a stream of Gemini's into pieces, the answer is the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.gemini.answer import GeminiAnswer
from acp_adapter.providers.port import Completed
from acp_adapter.providers.streamed import chunks
from tests.providers.test_stream_chunking import Pieces


def event(*parts: dict[str, Any], **more: Any) -> str:
    candidate = {"index": 0, "content": {"role": "model", "parts": list(parts)}, **more}
    return "data: " + json.dumps({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 7}})


EVENTS = [
    ": connected",
    event({"text": "日本語で考える", "thought": True}),
    event({"text": "Grüße 🎉"}),
    event({"text": "line one\nline two"}, {"text": "", "thoughtSignature": "c2ln"}),
    event({"functionCall": {"id": "a", "name": "read_file", "args": {"path": "ü.py"}}, "thoughtSignature": "Y2Fs"}),
    event({"functionCall": {"id": "b", "name": "list_directory", "args": {}}}),
    event(finishReason="STOP"),
]


async def read(pieces: list[bytes]) -> tuple[list[Any], Completed]:
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces(pieces))
    answer = GeminiAnswer()
    deltas = [delta async for chunk in chunks(response) for delta in answer.feed(chunk)]
    return deltas, answer.completed()


def told(pieces: list[bytes]) -> tuple[Any, ...]:
    """All but the message's own id and time."""
    deltas, completed = asyncio.run(read(pieces))
    message = completed.message
    whole = (message.content, message.reasoning, message.tool_calls, message.reasoning_details)
    return deltas, completed.finish_reason, completed.usage, *whole


@given(st.data(), st.sampled_from(["\n", "\r\n"]))
def test_any_chunking_of_the_bytes_gives_the_same_answer(data: st.DataObject, newline: str) -> None:
    whole = "".join(line + newline * 2 for line in EVENTS).encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=40)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    expected = told([whole])
    assert expected[1:2] + expected[3:5] == ("tool_calls", "Grüße 🎉line one\nline two", "日本語で考える")
    assert expected[6] == [
        {"type": "reasoning.encrypted", "data": "c2ln", "format": "google-gemini-v1", "index": 0, "end": 24}
    ]
    assert told(pieces) == expected


def test_one_byte_at_a_time() -> None:
    whole = "".join(f"{line}\r\n\r\n" for line in EVENTS).encode()
    assert told([bytes([byte]) for byte in whole]) == told([whole])
