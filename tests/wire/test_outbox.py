"""What waits for a slow reader merges, and nothing overtakes anything."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_adapter.acp import types
from tests.wire.wire import Wire, chunk, notification, prompt


def texts(frames: list[Any]) -> list[str]:
    return [f["params"]["update"]["content"]["text"] for f in frames if f.get("method") == "session/update"]


def progress(call: str, text: str, session: str = "s") -> types.SessionNotification:
    shown = types.Content(types.TextContent(text))
    return types.SessionNotification(session, types.ToolCallUpdate(call, content=[shown]))


def shown(frame: Any) -> str:
    return str(frame["params"]["update"]["content"][0]["content"]["text"])


async def test_a_reader_that_keeps_up_gets_each_chunk_at_once() -> None:
    wire = Wire()
    for text in "abc":
        wire.peer.notify("session/update", chunk(text))
        assert texts(await wire.frames()) == [text]


async def test_text_that_waits_for_a_slow_reader_merges_into_one_frame() -> None:
    wire = Wire()
    wire.slow()
    for text in ["Hel", "lo", " ", "wörld\n"]:
        wire.peer.notify("session/update", chunk(text))
    wire.fast()
    (frame,) = await wire.frames()
    assert frame == {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {
            "sessionId": "s",
            "update": {
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": "Hello wörld\n"},
                "messageId": "m",
            },
        },
    }


async def test_twenty_thousand_chunks_for_a_reader_that_sleeps_wait_as_one_frame() -> None:
    wire = Wire()
    wire.slow()
    for _ in range(20_000):
        wire.peer.notify("session/update", chunk("x"))
    assert len(wire.peer.outbox._waiting) == 1
    wire.fast()
    assert texts(await wire.frames()) == ["x" * 20_000]


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(lambda peer: peer.notify("session/update", chunk("-", message="other")), id="another message"),
        pytest.param(lambda peer: peer.notify("session/update", progress("c", "-")), id="a tool call"),
        pytest.param(lambda peer: peer.notify("elicitation/complete", {"elicitationId": "e"}), id="no update"),
        pytest.param(
            lambda peer: peer.notify(
                "session/update",
                types.SessionNotification("s", types.AgentThoughtChunk(types.TextContent("-"), "m")),
            ),
            id="a thought",
        ),
        pytest.param(
            lambda peer: peer.notify(
                "session/update",
                types.SessionNotification("s", types.AgentMessageChunk(types.TextContent("-", meta={"a": 1}), "m")),
            ),
            id="text with meta",
        ),
    ],
)
async def test_text_does_not_merge_across_what_came_between(between: Any) -> None:
    wire = Wire()
    wire.slow()
    wire.peer.notify("session/update", chunk("a"))
    between(wire.peer)
    wire.peer.notify("session/update", chunk("b"))
    wire.fast()
    first, _, last = await wire.frames()
    assert (texts([first]), texts([last])) == (["a"], ["b"])


async def test_other_sessions_between_do_not_keep_text_from_merging() -> None:
    wire = Wire()
    wire.slow()
    for text in "abc":
        wire.peer.notify("session/update", chunk(text, session="one"))
        wire.peer.notify("session/update", chunk(text.upper(), session="two"))
    wire.fast()
    assert texts(await wire.frames()) == ["abc", "ABC"]


async def test_nothing_after_a_response_goes_out_before_it() -> None:
    async def answer(_: types.PromptRequest) -> types.PromptResponse:
        wire.peer.notify("session/update", chunk("before"))
        return types.PromptResponse("end_turn")

    wire = Wire({"session/prompt": answer})
    wire.slow()
    wire.send(prompt(1))
    await wire.peer.settled(5)
    wire.peer.notify("session/update", chunk("after"))
    wire.fast()
    frames = await wire.frames()
    assert [f.get("id") or texts([f])[0] for f in frames] == ["before", 1, "after"]


async def test_progress_of_a_tool_that_waits_is_replaced_by_the_newest_in_its_own_place() -> None:
    wire = Wire()
    wire.slow()
    wire.peer.notify("session/update", progress("c", "10 %"), replaceable=True)
    wire.peer.notify("session/update", chunk("meanwhile"))
    wire.peer.notify("session/update", progress("other", "x"), replaceable=True)
    for percent in range(11, 10_000):
        wire.peer.notify("session/update", progress("c", f"{percent} %"), replaceable=True)
    assert len(wire.peer.outbox._waiting) == 3
    wire.fast()
    between, other, last = await wire.frames()
    assert (texts([between]), shown(other), shown(last)) == (["meanwhile"], "x", "9999 %")


async def test_progress_that_was_sent_is_not_taken_back() -> None:
    wire = Wire()
    wire.peer.notify("session/update", progress("c", "1"), replaceable=True)
    first = await wire.frames()
    assert not wire.peer.outbox._replaceable
    wire.peer.notify("session/update", progress("c", "2"), replaceable=True)
    assert [shown(f) for f in first + await wire.frames()] == ["1", "2"]


async def test_a_result_is_never_replaced() -> None:
    wire = Wire()
    wire.slow()
    wire.peer.notify("session/update", progress("c", "result"))
    wire.peer.notify("session/update", progress("c", "later"), replaceable=True)
    wire.fast()
    assert [shown(f) for f in await wire.frames()] == ["result", "later"]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("ST"), st.sampled_from(["m", "n", None]), st.text(max_size=3))),
    st.lists(st.integers(0, 30), max_size=6),
)
def test_merging_never_changes_what_a_message_reads_as(pieces: list[tuple[str, Any, str]], reads: list[int]) -> None:
    async def run() -> list[Any]:
        wire, frames = Wire(), []
        wire.slow()
        for at, (session, message, text) in enumerate(pieces):
            wire.peer.notify("session/update", chunk(text, message, session))
            if at in reads:
                wire.fast()
                frames += await wire.frames()
                wire.slow()
        wire.fast()
        return frames + await wire.frames()

    def read(chunks: list[tuple[str, Any, str]]) -> dict[str, list[list[Any]]]:
        """By session: the text of each run of chunks of one message."""
        runs: dict[str, list[list[Any]]] = {}
        for session, message, text in chunks:
            of = runs.setdefault(session, [])
            if of and of[-1][0] == message:
                of[-1][1] += text
            else:
                of.append([message, text])
        return runs

    got = [
        (f["params"]["sessionId"], f["params"]["update"].get("messageId"), f["params"]["update"]["content"]["text"])
        for f in asyncio.run(run())
    ]
    assert read(got) == read(pieces)


async def test_a_producer_can_wait_until_all_is_read() -> None:
    wire = Wire()
    wire.slow()
    wire.peer.notify("session/update", chunk("a"))
    waiting = asyncio.create_task(wire.peer.drained())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not waiting.done()
    wire.fast()
    await asyncio.wait_for(waiting, 1)


async def test_after_the_end_nothing_is_kept_and_nobody_waits() -> None:
    wire = Wire()
    wire.slow()
    wire.peer.notify("session/update", chunk("a"))
    waiting = asyncio.create_task(wire.peer.drained())
    await asyncio.sleep(0)
    wire.peer.close()
    await asyncio.wait_for(waiting, 1)
    wire.peer.notify("session/update", chunk("b"))
    wire.send(notification("$/cancel_request", {"requestId": 1}))
    assert await wire.frames() == []
