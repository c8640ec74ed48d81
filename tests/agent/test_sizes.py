"""How many tokens a conversation is taken to have, bit by bit and all at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.agent.sizes import PICTURE, Sizes
from acp_adapter.transcript import Message, ToolCall

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}


def test_a_provider_s_own_count_corrects_the_estimate_upwards_only() -> None:
    sizes, messages = Sizes(), [Message("user", "x" * 4000)]
    before = sizes.of(messages)
    sizes.correct(messages, 1, 0, before // 2)
    assert sizes.of(messages) == before
    sizes.correct(messages, 1, 0, before * 2)
    assert sizes.of(messages) == before * 2
    sizes.correct(messages, 1, 0, before * 2)
    assert sizes.of(messages) == before * 2, "what is corrected already is not corrected again"
    sizes.correct(messages, 1, 0, before * 100)
    assert sizes.of(messages) == before * 3


def test_wide_characters_are_about_a_token_each() -> None:
    assert 950 < Sizes().of([Message("user", "履歴" * 500)]) < 1100
    assert 240 < Sizes().of([Message("user", "word" * 250)]) < 270


def test_a_picture_counts_as_a_picture_and_not_by_its_bytes() -> None:
    assert Sizes().of([Message("user", [{"type": "text", "text": "look"}, IMAGE])]) < PICTURE + 50


def test_what_is_sent_in_place_of_a_message_is_what_counts() -> None:
    assert Sizes().of([Message("tool", "r" * 4000, api_content="note")]) < 20


def test_calls_count_with_their_arguments() -> None:
    call = ToolCall("c", "write_file", "x" * 4000)
    assert Sizes().of([Message("assistant", None, tool_calls=[call.raw()])]) > 1000


_texts = st.lists(st.text(max_size=20), max_size=6)


@given(st.lists(st.tuples(_texts, st.integers(0, 6), st.integers(0, 20)), max_size=8))
def test_sizes_bit_by_bit_are_sizes_all_at_once(steps: list[tuple[list[str], int, int]]) -> None:
    """The conversation grows, is cut back, gets a summary in front, has one message trimmed, or is read anew."""
    sizes, messages = Sizes(), list[Message]()
    for texts, change, place in steps:
        messages = [*messages, *(Message("user", text) for text in texts)]
        at = place % (len(messages) + 1)
        if change == 0:
            messages = messages[:at]
        elif change == 1:
            messages = [Message("user", "summary"), *messages[at:]]
        elif change == 2 and at < len(messages):
            messages[at] = Message("user", "note")
        elif change == 3:
            messages = [Message(m.role, m.content) for m in messages]
        assert sizes.between(messages, at % (len(messages) + 1), len(messages)) == Sizes().of(
            messages[at % (len(messages) + 1) :]
        )
