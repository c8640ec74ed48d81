"""Where a conversation is cut, what a summariser is shown of it, and what is left out before."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.agent import compaction, trimming
from acp_adapter.agent.compaction import Shares
from acp_adapter.agent.sizes import Sizes
from acp_adapter.errors import ContextTooLong
from acp_adapter.transcript import Message, ToolCall

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_old_pictures_are_left_out_and_their_words_kept() -> None:
    shown = Message("user", [{"type": "text", "text": "what is it?"}, PICTURE])
    (note,) = trimming.old([shown, Message("assistant", "a dot")], Sizes()).values()
    assert note.startswith("what is it?\n[What was attached here (image/png) was left out")
    assert "recall" not in note, "a tool can't bring a picture back"


def test_a_note_tells_which_tool_how_much_and_how_to_get_it_back() -> None:
    result = Message("tool", "r" * 5000, tool_call_id="c", tool_name="grep", id="0123456789")
    (note,) = trimming.old([result], Sizes()).values()
    assert note == (
        "[The result of grep (5,000 characters) was left out to save room. "
        '`recall` with message "01234567" brings it back.]'
    )


def test_what_was_cut_before_and_is_left_out_now_is_told_with_its_whole_size() -> None:
    result = Message("tool", "r" * 50_000, tool_call_id="c", tool_name="grep", api_content="r" * 5000)
    (note,) = trimming.old([result], Sizes()).values()
    assert "(50,000 characters)" in note


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=12), st.integers(0, 20_000))
def test_only_the_largest_results_are_cut_and_all_together_fit(tokens: list[int], most: int) -> None:
    sizes = Sizes()
    results = [Message("tool", "r" * 4 * size, tool_call_id=str(n)) for n, size in enumerate(tokens)]
    cut = trimming.beginnings(results, most, sizes)
    if sizes.of(results) <= most:
        assert cut == {}
        return
    after = [sizes.text(cut[m.id]) if m.id in cut else sizes.of([m]) for m in results]
    note = 60
    assert sum(after) <= max(most, trimming.WORTH * len(results)) + note * len(cut)
    whole = [sizes.of([m]) for m in results if m.id not in cut]
    assert not whole or not cut or max(whole) <= min(sizes.of([m]) for m in results if m.id in cut)


def test_a_summariser_is_shown_the_beginning_and_the_end_of_what_does_not_fit() -> None:
    talk = [
        Message("user", "the first thing"),
        *(Message("assistant", "ä" * 500) for _ in range(50)),
        Message("user", "last"),
    ]
    text = compaction.rendered(talk, 1000, Sizes())
    assert text.startswith("USER: the first thing") and text.endswith("USER: last")
    assert "the middle of the conversation is not shown" in text
    assert 900 < Sizes().text(text) < 1100


def test_a_summariser_is_shown_less_of_a_text_in_wide_characters() -> None:
    talk = [Message("assistant", "履歴" * 500) for _ in range(20)]
    text = compaction.rendered(talk, 2000, Sizes())
    assert 1900 < Sizes().text(text) < 2100
    assert len(text) < 2200


def test_an_earlier_summary_is_shown_whole_however_little_is_shown_of_the_rest() -> None:
    summary = Message("user", compaction.HEADING + "zebra " * 150 + "END", details={"summary": True})
    talk = [summary, *(Message("assistant", f"{n} " + "word " * 200) for n in range(40))]
    text = compaction.rendered(talk, 600, Sizes())
    assert text.startswith("EARLIER SUMMARY: zebra") and "zebra END" in text
    assert text.endswith("word ")


def test_long_texts_are_shown_by_head_and_tail() -> None:
    text = compaction.shortened("a" * 100 + "b" * 100, 90)
    assert text == "a" * 60 + "\n[… 110 characters left out …]\n" + "b" * 30
    assert compaction.shortened("short", 90) == "short"


def test_the_request_that_runs_is_the_last_or_the_one_that_a_summary_keeps() -> None:
    kept = Message("user", "summary", details={"summary": True, "request": "fix the sums"})
    assert compaction.running_request([kept, Message("assistant", "I look")], 99) == "fix the sums"
    asked = Message("user", "link", api_content="what the link holds")
    assert compaction.running_request([kept, asked, Message("assistant", "x")], 99) == "what the link holds"
    assert compaction.running_request([Message("assistant", "x")], 99) is None


@given(st.integers(500, 2_000_000), st.integers(0, 20_000))
def test_summary_and_tail_always_fit_beside_the_instructions(window: int, beside: int) -> None:
    shares = Shares.of(window, beside)
    assert beside + shares.summary + shares.tail <= shares.limit
    assert shares.summary > 0 and shares.tail > 0


ROLES = st.sampled_from(["user", "assistant", "call", "result"])


@given(st.lists(st.tuples(ROLES, st.integers(1, 400)), min_size=1, max_size=30), st.integers(50, 750))
def test_the_tail_never_begins_with_a_result_and_something_is_before_it(shape: Any, tail: int) -> None:
    messages = [_message(number, role, size) for number, (role, size) in enumerate(shape)]
    try:
        at = compaction.split(messages, tail, Sizes())
    except ContextTooLong:
        assert all(message.role == "tool" for message in messages[1:])
        return
    assert 0 < at < len(messages)
    assert messages[at].role != "tool"


def _message(number: int, role: str, size: int) -> Message:
    if role == "call":
        return Message("assistant", None, tool_calls=[ToolCall(f"c{number}", "x", "{}").raw()])
    if role == "result":
        return Message("tool", "r" * size, tool_call_id=f"c{number - 1}")
    return Message("user" if role == "user" else "assistant", "w" * size)
