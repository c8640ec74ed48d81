"""However the network cuts Ollama's lines into pieces, the answer is the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.errors import BrokenStream
from acp_adapter.providers.ollama.answer import OllamaAnswer
from acp_adapter.providers.port import Completed
from acp_adapter.providers.streamed import lines
from acp_adapter.transcript import Usage
from tests.providers.test_stream_chunking import Pieces


def line(done: bool = False, more: dict[str, Any] | None = None, **message: Any) -> str:
    whole = {"model": "m", "message": {"role": "assistant", **message}, "done": done, **(more or {})}
    return json.dumps(whole, ensure_ascii=False)


LINES = [
    line(thinking="日本語で考える"),
    line(content="Grüße 🎉"),
    line(content="line one\nline two\u2028and a separator"),
    line(tool_calls=[{"id": "a", "function": {"index": 0, "name": "read_file", "arguments": {"path": "ü.py"}}}]),
    line(tool_calls=[{"id": "b", "function": {"index": 1, "name": "list_directory", "arguments": {}}}]),
    line(done=True, more={"done_reason": "stop", "prompt_eval_count": 7, "eval_count": 2}),
]


async def read(pieces: list[bytes]) -> tuple[list[Any], Completed]:
    response = httpx.Response(200, headers={"content-type": "application/x-ndjson"}, stream=Pieces(pieces))
    answer = OllamaAnswer()
    deltas = [delta async for each in lines(response) for delta in answer.feed(each)]
    return deltas, answer.completed()


def told(pieces: list[bytes]) -> tuple[Any, ...]:
    """All but the message's own id and time."""
    deltas, completed = asyncio.run(read(pieces))
    message = completed.message
    return deltas, completed.finish_reason, completed.usage, message.content, message.reasoning, message.tool_calls


@given(st.data(), st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
def test_any_chunking_of_the_bytes_gives_the_same_answer(data: st.DataObject, newline: str, ended: bool) -> None:
    whole = (newline.join(LINES) + (newline if ended else "")).encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=40)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    expected = told([whole])
    assert expected[1:5] == (
        "tool_calls",
        Usage(7, 2),
        "Grüße 🎉line one\nline two\u2028and a separator",
        "日本語で考える",
    )
    assert told(pieces) == expected


def test_one_byte_at_a_time() -> None:
    whole = "".join(f"{each}\n" for each in LINES).encode()
    assert told([bytes([byte]) for byte in whole]) == told([whole])


def test_calls_without_ids_get_ids_of_our_own() -> None:
    answer = OllamaAnswer()
    function = {"function": {"name": "x", "arguments": {}}}
    answer.feed({"message": {"tool_calls": [function, function]}})
    answer.feed({"done": True, "done_reason": "stop"})
    ids = [each.id for each in answer.completed().message.calls()]
    assert len(set(ids)) == 2 and all(ids)


@pytest.mark.parametrize("reason", ["load", "unload"])
def test_a_model_that_was_only_loaded_has_not_answered(reason: str) -> None:
    answer = OllamaAnswer()
    answer.feed({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason})
    with pytest.raises(BrokenStream, match="no answer"):
        answer.completed()
