"""Every provider demands that each tool call has exactly one result, directly after it."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.pairing import INTERRUPTED, Calls, Pairing, paired
from acp_adapter.transcript import Message, ToolCall
from tests.ledger.conftest import answer, asks, result, texts, user


def test_what_is_in_order_stays_as_it_is() -> None:
    messages = [user("go"), asks("a", "b"), result("a"), result("b"), answer("fine")]
    assert paired(messages) == messages


def test_a_call_without_result_gets_a_closing_one_where_it_belongs() -> None:
    whole = paired([user("go"), asks("a", "b"), result("b", "out"), user("again")])
    assert [m.tool_call_id for m in whole] == [None, None, "a", "b", None]
    assert texts(whole)[2:4] == [INTERRUPTED, "out"]
    assert whole[2].details == {"status": "failed"}


def test_the_closing_result_is_the_same_every_time() -> None:
    messages = [user("go"), asks("a"), user("again")]
    assert paired(messages) == paired(messages)


def test_a_result_that_came_late_moves_to_its_call() -> None:
    late = [asks("a"), user("meanwhile"), result("a", "late")]
    assert texts(paired(late)) == ["", "late", "meanwhile"]


def test_orphan_and_second_results_are_left_out() -> None:
    messages = [result("x"), asks("a"), result("a", "first"), result("a", "second"), result("y")]
    assert texts(paired(messages)) == ["", "first"]


def test_an_id_that_is_used_again_belongs_to_the_newer_call() -> None:
    messages = [asks("call_0"), result("call_0", "one"), asks("call_0"), result("call_0", "two")]
    assert texts(paired(messages)) == ["", "one", "", "two"]


def test_of_two_calls_with_one_id_in_a_message_the_first_counts() -> None:
    twice = Message(role="assistant", tool_calls=[ToolCall("a", "x", "1").raw(), ToolCall("a", "y", "2").raw()])
    whole = paired([twice, result("a")])
    assert [call.name for call in whole[0].calls()] == ["x"]
    assert len(whole) == 2


_ids = st.sampled_from(["a", "b", "c", ""])
_messages = st.one_of(
    st.builds(user, st.just("u")),
    st.builds(result, _ids, st.sampled_from(["1", "2"])),
    st.lists(_ids, max_size=3).map(lambda ids: asks(*ids)),
)


@given(st.lists(_messages, max_size=12))
def test_any_history_becomes_one_that_the_strictest_provider_takes(history: list[Message]) -> None:
    whole = paired(history)
    open_ids: list[str] = []
    for message in whole:
        if message.role == "tool":
            assert message.tool_call_id == open_ids.pop(0)
        else:
            assert open_ids == []
            open_ids = [call.id for call in message.calls()]
            assert len(set(open_ids)) == len(open_ids)
    assert open_ids == []
    assert paired(whole) == whole


@given(st.lists(_messages, max_size=12))
def test_no_word_of_user_or_model_is_lost_by_pairing(history: list[Message]) -> None:
    def spoken(messages: list[Message]) -> list[Any]:
        return [(m.role, m.content) for m in messages if m.role != "tool"]

    assert spoken(paired(history)) == spoken(history)


_steps = st.lists(st.tuples(st.lists(_messages, max_size=6), st.integers(0, 9), st.integers(0, 30)), max_size=8)


def _changed(messages: list[Message], new: list[Message], change: int, place: int) -> list[Message]:
    """The conversation grown, and now and then cut back, begun with a summary, trimmed in one place, or read anew."""
    messages = [*messages, *new]
    at = place % (len(messages) + 1)
    if change == 0:
        return messages[:at]
    if change == 1:
        return [user("summary"), *messages[at:]]
    if change == 2 and at < len(messages):
        messages[at] = evolve(messages[at], api_content="note")
    if change == 3:
        return [evolve(message) for message in messages]
    return messages


@given(_steps)
def test_pairing_bit_by_bit_is_pairing_all_at_once(steps: list[tuple[list[Message], int, int]]) -> None:
    pairing, messages = Pairing(), list[Message]()
    for step in steps:
        messages = _changed(messages, *step)
        assert [_seen(message) for message in pairing.of(messages)] == [_seen(m) for m in paired(messages)]


@given(_steps)
def test_calls_known_bit_by_bit_are_the_calls_of_the_whole(steps: list[tuple[list[Message], int, int]]) -> None:
    calls, messages = Calls(), list[Message]()
    for step in steps:
        messages = _changed(messages, *step)
        answered = {m.tool_call_id for m in messages if m.role == "tool"}
        assert calls.ids(messages) == {call.id for m in messages for call in m.calls()}
        assert calls.open(messages) == [c for m in messages for c in m.calls() if c.id not in answered]


def _seen(message: Message) -> Any:
    return message.role, message.content, message.api_content, message.tool_call_id, message.tool_calls
