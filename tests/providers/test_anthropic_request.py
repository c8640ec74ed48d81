"""What is sent to Anthropic: every case is taken by the strict server and by the official SDK's own types."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, TypeAdapter, with_config

from acp_adapter.providers.anthropic.blocks import SIGNED
from acp_adapter.providers.anthropic.request import MessagesEncoder
from acp_adapter.providers.anthropic.schema import input_schema
from acp_adapter.providers.anthropic.thinking import efforts_of, form_of
from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.transcript import Message, Part, ToolCall
from tests.providers.anthropic_server import AnthropicServer
from tests.providers.calls import calling, request, result
from tests.providers.cases import CASES, PICTURE, READ, call, said
from tests.stub_server import Received

HEADERS = {"anthropic-version": "2023-06-01"}
MODEL = "claude-stub-5"


def body(asked: ModelRequest, model: str = MODEL, **known: Any) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(MessagesEncoder(model, **known).body(asked))
    return decoded


def complaint(decoded: dict[str, Any]) -> str | None:
    return AnthropicServer().complaint(Received("/v1/messages", HEADERS, decoded))


class _Strict(MessageCreateParamsStreaming):
    pass


OFFICIAL: TypeAdapter[Any] = TypeAdapter(with_config(ConfigDict(extra="forbid"))(_Strict))


def check_with_the_official_types(value: Any) -> None:
    """Raises for a body that they would not take. Their lists are lazy: each is read to its end."""
    found = OFFICIAL.validate_python(value)
    todo: list[Any] = [found]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            todo += each.values()
        elif isinstance(each, Iterable) and not isinstance(each, str | bytes):
            todo += list(each)


@pytest.mark.parametrize("model", [MODEL, "claude-sonnet-4-5", "claude-3-5-haiku-latest"])
@pytest.mark.parametrize("name", CASES)
def test_every_case_is_taken_by_the_strict_server_and_by_the_official_types(name: str, model: str) -> None:
    decoded = body(CASES[name], model)
    assert complaint(decoded) is None
    check_with_the_official_types(decoded)


@pytest.mark.parametrize("wrong", [{"temper": 1}, {"messages": [{"role": "robot", "content": "x"}]}])
def test_the_official_types_would_find_a_mistake(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"temper|robot"):
        check_with_the_official_types({**body(request("hi")), **wrong})


def test_the_whole_body_of_a_step_with_two_calls() -> None:
    calls = calling(call("c1"), call("c2", '{"path":"y"}'), text="I look.")
    failed = Message("tool", "no such file", tool_call_id="c2", details={"status": "failed"})
    assert body(request("look", calls, result("c1", "one"), failed, tools=[READ], max_tokens=300, effort="low")) == {
        "model": MODEL,
        "stream": True,
        "tools": [{"name": "read_file", "description": "Reads a file.", "input_schema": READ.parameters}],
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "x"}},
                    {"type": "tool_use", "id": "c2", "name": "read_file", "input": {"path": "y"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "one"}]},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "no such file"}],
                        "is_error": True,
                    },
                ],
            },
        ],
        "max_tokens": 300,
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low"},
        "cache_control": {"type": "ephemeral"},
    }


def contents(*messages: Message | str) -> list[list[dict[str, Any]]]:
    return [turn["content"] for turn in body(request(*messages))["messages"]]


def test_sides_alternate_whatever_was_said_in_a_row() -> None:
    got = contents("one", " \n", "two", said(None), "three", said("yes"), said("and no"), "four")
    assert [[block["text"] for block in turn] for turn in got] == [["one", "two", "three"], ["yes", "and no"], ["four"]]


def test_a_conversation_that_begins_with_the_assistant_is_given_a_beginning() -> None:
    first, *_ = contents(said("hello"), "hi")
    assert first[0]["text"].startswith("[The conversation")


def test_what_the_user_adds_after_a_step_comes_after_all_its_results() -> None:
    *_, last = contents("go", calling(call("c1"), call("c2")), result("c1", "1"), result("c2", ""), "and hurry")
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert "content" not in last[1]


def test_pictures_stand_where_they_were_in_prompts_and_in_results() -> None:
    content: list[Part] = [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        PICTURE,
        {"type": "text", "text": "c"},
    ]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    shown = [{"type": "text", "text": "ab"}, {"type": "image", "source": source}, {"type": "text", "text": "c"}]
    assert contents(Message("user", content)) == [shown]
    *_, last = contents("look", calling(call("c1")), result("c1", content))
    assert last[0]["content"] == shown


def test_a_picture_by_address_is_sent_by_address_and_a_sound_is_told_in_words() -> None:
    elsewhere = {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    assert contents(Message("user", [elsewhere, sound])) == [
        [
            {"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}},
            {"type": "text", "text": "[input_audio part, not shown]"},
        ]
    ]


def thought(text: str, signature: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": text, "signature": signature, "format": SIGNED, **more}


def test_thinking_goes_back_between_what_it_stood_between() -> None:
    hidden = {"type": "reasoning.encrypted", "data": "aGk=", "format": SIGNED, "index": 2, "at": [6, 1]}
    details = [thought("one", "s1", index=0, at=[0, 0]), thought("two", "s2", index=1, at=[6, 0]), hidden]
    step = calling(call("c1"), call("c2"), text="I see.", reasoning_details=details)
    _, turn, _ = contents("go", step, result("c1", "1"), result("c2", "2"))
    assert [block["type"] for block in turn] == [
        *("thinking", "text", "thinking", "tool_use", "redacted_thinking", "tool_use")
    ]
    assert turn[0] == {"type": "thinking", "thinking": "one", "signature": "s1"}


@pytest.mark.parametrize(
    "detail",
    [
        thought("x", None),
        {"type": "reasoning.text", "text": "x", "signature": "s", "format": "google-gemini-v1"},
        {"type": "reasoning.encrypted", "data": 3, "format": SIGNED},
        "odd",
    ],
)
def test_thoughts_without_a_signature_of_its_own_are_not_sent(detail: Any) -> None:
    _, turn, _ = contents("go", calling(call("c1"), reasoning_details=[detail]), result("c1", "1"))
    assert [block["type"] for block in turn] == ["tool_use"]


def test_a_step_of_another_model_is_gone_on_with_without_a_budget_for_thinking() -> None:
    """A budget demands that thinking stands before the calls of the current turn; the turn after has it again."""
    foreign = ("go", calling(call("c1")), result("c1", "1"))
    assert "thinking" not in body(request(*foreign, effort="high"), "claude-sonnet-4-5")
    later = body(request(*foreign, said("done"), "next", effort="high"), "claude-sonnet-4-5")
    assert later["thinking"] == {"type": "enabled", "budget_tokens": 24_576}
    assert "thinking" in body(request(*foreign, effort="high"), "claude-opus-4-7")


@pytest.mark.parametrize(
    ("model", "effort", "settings"),
    [
        ("claude-opus-4-7", None, {"thinking": {"type": "adaptive", "display": "summarized"}}),
        ("claude-sonnet-5-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-4-5-20250929", None, {}),
        ("claude-sonnet-4-20250514", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("claude-3-7-sonnet-latest", "off", {}),
        ("claude-3-5-haiku-latest", "high", {}),
        ("house-model", "medium", {"output_config": {"effort": "medium"}}),
    ],
)
def test_how_much_to_think_is_said_in_the_model_s_own_words(model: str, effort: Any, settings: Any) -> None:
    sent = body(request("hi", effort=effort), model)
    assert {key: sent[key] for key in settings} == settings
    if not settings:
        assert not {"thinking", "output_config"} & set(sent)


def test_a_budget_leaves_room_for_the_answer_or_is_left_out() -> None:
    small = body(request("hi", effort="high", max_tokens=4000), "claude-sonnet-4-5")
    assert small["thinking"]["budget_tokens"] == 4000 - 1024
    assert "thinking" not in body(request("hi", effort="high", max_tokens=1500), "claude-sonnet-4-5")


def test_what_can_be_chosen_is_what_the_model_can_do() -> None:
    assert efforts_of("claude-sonnet-5-5") == efforts_of("claude-3-7-sonnet-latest") == ("off", "low", "medium", "high")
    assert efforts_of("claude-3-5-sonnet-latest") == ()
    assert [form_of(name) for name in ("claude-haiku-4-5", "claude-opus-4-6", "claude-fable-1", "x")] == [
        *("budget", "adaptive", "none", "adaptive")
    ]


def test_as_many_tokens_are_asked_for_as_the_model_gives() -> None:
    assert body(request("hi"))["max_tokens"] == 32_000
    assert body(request("hi"), max_output=64_000)["max_tokens"] == 64_000
    assert body(request("hi", max_tokens=100_000), max_output=8_000)["max_tokens"] == 8_000


def test_the_next_request_begins_with_the_bytes_of_the_one_before() -> None:
    encoder = MessagesEncoder(MODEL)
    asked = request("look", calling(call("c1")), result("c1", "one"), tools=[READ])
    longer = ModelRequest(asked.system, [*asked.messages, said("it is one"), Message("user", "ok")], asked.tools)
    before, _, _ = encoder.body(asked).partition(b']}],"max_tokens"')
    assert encoder.body(longer).startswith(before)
    assert MessagesEncoder(MODEL).body(longer) == encoder.body(longer), "as it is after a restart"


def test_an_encoded_message_is_kept_as_long_as_the_message_lives() -> None:
    encoder = MessagesEncoder(MODEL)
    asked = request("hello")
    encoder.body(asked)
    assert len(encoder._kept) == 1
    del asked
    gc.collect()
    assert len(encoder._kept) == 0


def test_a_long_conversation_is_encoded_once() -> None:
    encoder = MessagesEncoder(MODEL)
    asked = request("look", calling(call("c1")), result("c1", "one"), said("it is"), "and?")
    body_before = encoder.body(asked)
    kept = [encoder._kept.get(message) for message in asked.messages]
    longer = request(*asked.messages, said("so"), "well?")
    assert encoder.body(asked) == body_before
    encoder.body(longer)
    assert all(encoder._kept.get(m) is before for m, before in zip(asked.messages, kept, strict=True))


def test_an_id_that_was_used_before_is_sent_as_another_one_always_the_same() -> None:
    """Some models count their calls anew in each step; here an id may stand but once in a conversation."""
    again = calling(call("c1"), call("c2"))
    messages: list[Message | str] = [
        "go",
        calling(call("c1")),
        result("c1", "1"),
        again,
        result("c1", "2"),
        result("c2", "3"),
    ]
    asked = request(*messages)
    assert complaint(body(asked)) is None
    turns = [turn["content"] for turn in body(asked)["messages"]]
    first, other, new = turns[1][0]["id"], turns[3][0]["id"], turns[3][1]["id"]
    assert (first, new) == ("c1", "c2") and other != "c1"
    assert [block["tool_use_id"] for block in turns[4]] == [other, "c2"]
    encoder = MessagesEncoder(MODEL)
    encoder.body(request("go", again, result("c1", "2"), result("c2", "3")))
    assert encoder.body(asked) == MessagesEncoder(MODEL).body(asked), "whatever it was sent as before"


def test_an_empty_id_is_an_id_too() -> None:
    empty = calling(call(""))
    assert complaint(body(request("go", empty, result("", "1"), calling(call("")), result("", "2")))) is None


@pytest.mark.parametrize("messages", [["  "], ["hi", said("hello"), " \n"], ["hi", said("hello"), [{"type": "text"}]]])
def test_a_prompt_of_blanks_is_still_a_prompt(messages: Any) -> None:
    decoded = body(request(*messages))
    assert complaint(decoded) is None
    assert decoded["messages"][-1] == {"role": "user", "content": [{"type": "text", "text": "[Nothing was said.]"}]}


EITHER = {
    "properties": {"why": {"type": "string"}},
    "required": ["why"],
    "anyOf": [
        {"properties": {"id": {"type": "integer"}, "deep": {"anyOf": [{"type": "null"}]}}, "required": ["id"]},
        {"properties": {"url": {"type": "string"}}, "required": ["url"]},
    ],
    "allOf": [{"properties": {"kind": {"enum": ["a"]}}, "required": ["kind"]}, True],
}


def test_alternatives_at_the_root_of_a_tool_s_schema_are_all_offered() -> None:
    assert input_schema(EITHER) == {
        "type": "object",
        "properties": {
            "why": {"type": "string"},
            "kind": {"enum": ["a"]},
            "id": {"type": "integer"},
            "deep": {"anyOf": [{"type": "null"}]},
            "url": {"type": "string"},
        },
        "required": ["why", "kind"],
    }
    same = {"oneOf": [{"required": ["a", "b"]}, {"required": ["b"]}]}
    assert input_schema(same)["required"] == ["b"]
    assert input_schema(READ.parameters) == READ.parameters


def test_the_strict_server_takes_any_tool_whose_schema_can_be_said() -> None:
    tools = [ToolSpec("either", "", EITHER), ToolSpec("none", "", {}), ToolSpec("odd", "", {"anyOf": []})]
    assert complaint(body(request("hi", tools=tools))) is None


TEXTS = st.one_of(
    st.none(),
    st.text(),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, st.text()),
            st.sampled_from([PICTURE, {"type": "foo"}, {}]),
        )
    ),
)
CALLS = st.lists(
    st.builds(ToolCall, st.text(max_size=3), st.text(), st.one_of(st.text(), st.just('{"a":NaN}'))),
    max_size=3,
    unique_by=lambda each: each.id,
)
DETAILS = st.lists(
    st.one_of(
        st.builds(thought, st.text(), st.text(), index=st.integers(), at=st.lists(st.integers(-2, 5), max_size=3)),
        st.dictionaries(st.sampled_from(["type", "format", "data"]), st.sampled_from(["reasoning.text", SIGNED])),
    ),
    max_size=3,
)


STEPS = st.lists(st.tuples(TEXTS, CALLS, DETAILS, TEXTS), max_size=3)


@given(TEXTS, STEPS, TEXTS)
def test_whatever_was_stored_the_strictest_server_takes_it(first: Any, steps: Any, last: Any) -> None:
    messages = [Message("user", first)]
    for text, calls, details, got in steps:
        raw = [each.raw() for each in calls] or None
        messages.append(Message("assistant", text, tool_calls=raw, reasoning_details=details))
        messages += [Message("tool", got, tool_call_id=each.id) for each in calls]
    asked = request(*messages, Message("user", last), tools=[ToolSpec("x", "", {})])
    assert complaint(body(asked)) is None
