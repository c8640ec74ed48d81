"""What is made of a stream's chunks, in the form of OpenAI and in the forms that other servers have."""

from __future__ import annotations

from typing import Any

import pytest

from acp_adapter.errors import BrokenStream
from acp_adapter.providers.chat.answer import ChatAnswer, usage_of
from acp_adapter.providers.port import Completed, ReasoningDelta, TextDelta
from acp_adapter.transcript import ToolCall, Usage


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(**fragment: Any) -> dict[str, Any]:
    """A chunk with one fragment of a call; `name` and `arguments` belong to its function."""
    function = {key: fragment.pop(key) for key in ("name", "arguments") if key in fragment}
    return chunk(tool_calls=[{**fragment, "function": function}])


def made_of(*chunks: dict[str, Any], done: bool = True, echoes: frozenset[str] = frozenset()) -> Completed:
    answer = ChatAnswer(echoes)
    for each in chunks:
        answer.feed(each)
    return answer.completed(done)


def calls(*chunks: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and arguments of the calls. Their ids must differ."""
    made = made_of(*chunks, chunk("tool_calls")).message.calls()
    assert len({each.id for each in made}) == len(made)
    assert all(each.id for each in made)
    return [(each.name, each.arguments) for each in made]


def test_text_and_reasoning_come_as_deltas_and_whole_at_the_end() -> None:
    answer = ChatAnswer()
    assert answer.feed(chunk(role="assistant", content="")) == []
    assert answer.feed(chunk(reasoning_content="let me see")) == [ReasoningDelta("let me see")]
    assert answer.feed(chunk(content="Hel")) == [TextDelta("Hel")]
    assert answer.feed(chunk(content="lo")) == [TextDelta("lo")]
    assert answer.feed(chunk("stop")) == []
    assert answer.feed({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}) == []
    completed = answer.completed(done=True)
    assert completed.finish_reason == completed.message.finish_reason == "stop"
    assert (completed.message.content, completed.message.reasoning) == ("Hello", "let me see")
    assert completed.message.tool_calls is None
    assert completed.usage == Usage(input_tokens=7, output_tokens=2)


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_read_under_either_name_and_once(field: str) -> None:
    assert made_of(chunk(**{field: "hm"}), chunk("stop", content="x")).message.reasoning == "hm"
    assert made_of(chunk(reasoning="hm", reasoning_content="hm"), chunk("stop", content="x")).message.reasoning == "hm"


def test_reasoning_details_are_kept_whole_with_their_fragments_joined() -> None:
    first = {"type": "reasoning.text", "text": "let ", "index": 0, "format": "f"}
    second = {"type": "reasoning.text", "text": "me", "index": 0}
    signed = {"type": "reasoning.text", "signature": "sig", "index": 0}
    secret = {"type": "reasoning.encrypted", "data": "AAA", "id": "r1", "index": 1}
    chunks = [chunk(reasoning="let ", reasoning_details=[first]), chunk(reasoning="me", reasoning_details=[second])]
    message = made_of(*chunks, chunk(reasoning_details=[signed, secret]), chunk("stop", content="x")).message
    joined = {"type": "reasoning.text", "text": "let me", "index": 0, "format": "f", "signature": "sig"}
    assert message.reasoning_details == [joined, secret]
    assert message.reasoning == "let me"


def test_two_encrypted_reasoning_items_are_not_run_together() -> None:
    items = [{"type": "reasoning.encrypted", "data": data} for data in ("AAA", "BBB")]
    chunks = [chunk(reasoning_details=[item]) for item in items]
    assert made_of(*chunks, chunk("stop", content="x")).message.reasoning_details == items


def test_reasoning_that_the_server_wants_back_is_kept_under_its_name() -> None:
    chunks = (chunk(reasoning_content="hm"), chunk("stop", content="x"))
    assert made_of(*chunks).message.reasoning_content is None
    assert made_of(*chunks, echoes=frozenset({"reasoning_content"})).message.reasoning_content == "hm"


def test_calls_are_put_together_by_index() -> None:
    assert calls(
        call(index=0, id="a", name="read", arguments=""),
        call(index=0, arguments='{"pa'),
        call(index=1, id="b", name="write", arguments='{"x":'),
        call(index=0, arguments='th":1}'),
        call(index=1, arguments="2}"),
    ) == [("read", '{"path":1}'), ("write", '{"x":2}')]


def test_calls_without_index_are_told_apart_by_id() -> None:
    assert calls(
        call(id="a", name="read", arguments='{"p"'),
        call(id="a", arguments=":1}"),
        call(id="b", name="read", arguments="{}"),
        call(arguments=""),
    ) == [("read", '{"p":1}'), ("read", "{}")]


def test_whole_calls_in_one_chunk_without_index_or_id() -> None:
    both = [{"function": {"name": "read", "arguments": "{}"}}, {"function": {"name": "write", "arguments": '{"a":1}'}}]
    assert calls(chunk(tool_calls=both)) == [("read", "{}"), ("write", '{"a":1}')]


def test_whole_calls_that_all_have_index_zero() -> None:
    assert calls(
        call(index=0, id="a", name="read", arguments="{}"), call(index=0, id="b", name="read", arguments="{}")
    ) == [("read", "{}"), ("read", "{}")]
    assert calls(
        call(index=0, id="", name="read", arguments="{}"), call(index=0, id="", name="write", arguments="{}")
    ) == [("read", "{}"), ("write", "{}")]


def test_a_name_that_is_repeated_with_every_fragment_makes_no_new_call() -> None:
    assert calls(
        call(index=0, id="a", name="read", arguments='{"a"'), call(index=0, id="a", name="read", arguments=":1}")
    ) == [("read", '{"a":1}')]


def test_arguments_that_come_as_an_object() -> None:
    assert calls(call(index=0, id="a", name="read", arguments={"path": "ü"})) == [("read", '{"path": "ü"}')]


def test_arguments_that_are_no_json_are_kept_as_they_are() -> None:
    assert calls(call(index=0, id="a", name="read", arguments="{broken")) == [("read", "{broken")]


def test_two_calls_with_one_id_get_ids_of_their_own() -> None:
    both = [{"index": n, "id": "same", "function": {"name": "read", "arguments": "{}"}} for n in (0, 1)]
    first, second = made_of(chunk(tool_calls=both), chunk("tool_calls")).message.calls()
    assert first == ToolCall("same", "read", "{}")
    assert second.id not in ("same", "")


def test_the_legacy_function_call_is_a_call() -> None:
    completed = made_of(
        chunk(function_call={"name": "read", "arguments": '{"a"'}),
        chunk(function_call={"arguments": ":1}"}),
        chunk("function_call"),
    )
    assert completed.finish_reason == "tool_calls"
    assert [(each.name, each.arguments) for each in completed.message.calls()] == [("read", '{"a":1}')]


def test_what_a_service_hides_in_a_call_is_kept() -> None:
    made = made_of(
        call(index=0, id="a", name="read", arguments="{}", extra_content={"google": {"s": 1}}), chunk("stop")
    )
    assert made.message.tool_calls == [
        {
            "id": "a",
            "type": "function",
            "function": {"name": "read", "arguments": "{}"},
            "extra_content": {"google": {"s": 1}},
        }
    ]


def test_an_answer_that_was_not_streamed_is_read_too() -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    assert made_of(whole).message.content == "hi"


def test_content_as_a_list_of_parts_with_thinking() -> None:
    answer = ChatAnswer()
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    deltas = answer.feed(chunk(content=[thinking, {"type": "text", "text": "hi"}]))
    assert deltas == [ReasoningDelta("hm"), TextDelta("hi")]


def test_only_the_first_choice_counts() -> None:
    second = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}]}
    assert made_of(chunk(content="one"), second, chunk("stop")).message.content == "one"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("STOP", "stop"),
        ("something new", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("tool_calls", "stop"),
    ],
)
def test_finish_reasons_are_one_of_four_and_true(said: str, meant: str) -> None:
    assert made_of(chunk(content="x"), chunk(said)).finish_reason == meant


@pytest.mark.parametrize("said", ["stop", "tool_calls", "function_call", "tool_use"])
def test_an_answer_with_calls_finishes_with_tool_calls_whatever_the_server_says(said: str) -> None:
    assert made_of(call(index=0, id="a", name="read", arguments="{}"), chunk(said)).finish_reason == "tool_calls"


def test_calls_that_were_cut_off_by_the_limit_finish_with_length() -> None:
    assert made_of(call(index=0, id="a", name="read", arguments='{"pa'), chunk("length")).finish_reason == "length"


def test_reasoning_alone_is_a_whole_answer_without_content() -> None:
    completed = made_of(chunk(reasoning_content="hm"), chunk("stop"))
    assert (completed.finish_reason, completed.message.content, completed.message.reasoning) == ("stop", None, "hm")


def test_an_end_mark_makes_up_for_a_missing_finish_reason_if_something_was_said() -> None:
    assert made_of(chunk(content="x"), done=True).finish_reason == "stop"
    assert made_of(call(index=0, id="a", name="read", arguments="{}"), done=True).finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("chunks", "done"),
    [
        ([], False),
        ([], True),
        ([chunk(content="x")], False),
        ([chunk(reasoning="x")], True),
        ([chunk(content="x"), chunk("error")], True),
    ],
)
def test_an_answer_that_did_not_reach_its_end_is_a_broken_stream(chunks: list[dict[str, Any]], done: bool) -> None:
    with pytest.raises(BrokenStream):
        made_of(*chunks, done=done)


@pytest.mark.parametrize(
    "strange",
    [
        {"choices": [None]},
        {"choices": ["x"]},
        {"choices": 7},
        chunk(tool_calls=["x"]),
        chunk(tool_calls=[{"index": [], "function": {}}]),
        chunk(content=7),
        chunk(content=["x"]),
        chunk(reasoning_details=["x"]),
        {"usage": "many"},
    ],
)
def test_a_chunk_in_no_known_form_is_a_broken_stream_and_no_crash(strange: dict[str, Any]) -> None:
    with pytest.raises(BrokenStream):
        ChatAnswer().feed(strange)


def test_usage_with_all_its_details() -> None:
    raw = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 12},
        "cost": 0.25,
    }
    assert usage_of(raw) == Usage(100, 20, 80, 5, 12, 0.25)
    assert usage_of({"prompt_tokens": 9, "completion_tokens": None, "prompt_cache_hit_tokens": 4}) == Usage(9, 0, 4)
    assert made_of(chunk(content="x"), chunk("stop"), {"x_groq": {"usage": {"prompt_tokens": 3}}}).usage == Usage(3)
    assert made_of(chunk(content="x"), chunk("stop")).usage is None
