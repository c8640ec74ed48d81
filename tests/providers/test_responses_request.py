"""What is sent to the Responses API: every case is taken by the strict server and by the official SDK's own types."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import ConfigDict, TypeAdapter, with_config

from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.providers.responses.reasoning import efforts_of
from acp_adapter.providers.responses.request import ResponsesEncoder
from acp_adapter.transcript import Message, Part, ToolCall
from tests.providers.calls import calling, request, result
from tests.providers.cases import CASES, PICTURE, READ, call, said
from tests.providers.responses_server import ResponsesServer
from tests.stub_server import Received

MODEL = "gpt-5-stub"


def body(asked: ModelRequest, model: str = MODEL) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(ResponsesEncoder(model).body(asked))
    return decoded


def complaint(decoded: dict[str, Any]) -> str | None:
    return ResponsesServer().complaint(Received("/v1/responses", {}, decoded))


class _Strict(ResponseCreateParamsStreaming):
    pass


OFFICIAL: TypeAdapter[Any] = TypeAdapter(with_config(ConfigDict(extra="forbid"))(_Strict))


def check_with_the_official_types(value: Any) -> None:
    """Raises for a body that they would not take. Their lists are lazy: each is read to its end."""
    todo: list[Any] = [OFFICIAL.validate_python(value)]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            todo += each.values()
        elif isinstance(each, Iterable) and not isinstance(each, str | bytes):
            todo += list(each)


@pytest.mark.parametrize("model", [MODEL, "gpt-4.1"])
@pytest.mark.parametrize("name", CASES)
def test_every_case_is_taken_by_the_strict_server_and_by_the_official_types(name: str, model: str) -> None:
    decoded = body(CASES[name], model)
    assert complaint(decoded) is None
    check_with_the_official_types(decoded)


@pytest.mark.parametrize("wrong", [{"temper": 1}, {"input": [{"type": "message", "role": "robot", "content": "x"}]}])
def test_the_official_types_would_find_a_mistake(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"temper|robot"):
        check_with_the_official_types({**body(request("hi")), **wrong})


def test_the_whole_body_of_a_step_with_two_calls() -> None:
    calls = calling(call("c1"), call("c2", '{"path":"y"}'), text="I look.")
    asked = request(
        *("look", calls, result("c1", "one"), result("c2", "")), tools=[READ], max_tokens=300, effort="low", session="s"
    )
    assert body(asked) == {
        "model": MODEL,
        "stream": True,
        "store": False,
        "instructions": "be brief",
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Reads a file.",
                "parameters": READ.parameters,
                "strict": False,
            }
        ],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
            {"type": "message", "role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path":"x"}'},
            {"type": "function_call", "call_id": "c2", "name": "read_file", "arguments": '{"path":"y"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "one"},
            {"type": "function_call_output", "call_id": "c2", "output": ""},
        ],
        "max_output_tokens": 300,
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "s",
    }


def items(*messages: Message | str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body(request(*messages))["input"]
    return found


def reasoning(number: int, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "eA==", **more}


def spoken(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content, **more}


def test_reasoning_messages_and_calls_go_back_in_the_order_in_which_they_came() -> None:
    step = Message(
        "assistant",
        "I look.",
        tool_calls=[{**call("c1").raw(), "output_index": 3}],
        codex_reasoning_items=[reasoning(0, output_index=0), reasoning(2, output_index=2)],
        codex_message_items=[spoken("I look.", output_index=1, phase="commentary")],
    )
    sent = items("go", step, result("c1", "1"))[1:5]
    assert [item.get("id") or item["call_id"] for item in sent] == ["rs_0", "msg_1", "rs_2", "c1"]
    assert sent[1]["phase"] == "commentary"
    assert "output_index" not in json.dumps(sent)


def test_items_that_another_program_kept_without_their_places_stand_in_the_usual_order() -> None:
    step = calling(call("c1"), text="hm", codex_reasoning_items=[reasoning(1)], codex_message_items=[spoken("hm")])
    assert [item["type"] for item in items("go", step, result("c1", "1"))[1:]] == [
        *("reasoning", "message", "function_call", "function_call_output")
    ]


def test_reasoning_without_its_content_or_without_a_follower_is_not_sent() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "x"}]}
    blank = {**bare, "encrypted_content": "", "content": [{"type": "reasoning_text", "text": "x"}]}
    for odd in (bare, blank, "odd"):
        assert [i["type"] for i in items("go", said("ok", codex_reasoning_items=[odd]), "on")] == ["message"] * 3
    assert [i["type"] for i in items("go", said(None, codex_reasoning_items=[reasoning(1)]), "on")] == ["message"] * 2


def test_a_text_that_was_replaced_since_is_sent_and_not_the_item_of_old() -> None:
    step = said("long", codex_message_items=[spoken("long")], api_content="short")
    assert items("go", step, "on")[1] == {"type": "message", "role": "assistant", "content": "short"}


def test_pictures_are_sent_in_prompts_and_results_and_sounds_are_told_in_words() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    parts: list[Part] = [{"type": "text", "text": "a"}, PICTURE, sound]
    expected = [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
        {"type": "input_text", "text": "[input_audio part, not shown]"},
    ]
    assert items(Message("user", parts))[0]["content"] == expected
    assert items("look", calling(call("c1")), result("c1", parts))[-1]["output"] == expected


@pytest.mark.parametrize(
    ("model", "effort", "reasoning"),
    [
        ("gpt-5-mini", None, {"summary": "auto"}),
        ("o4-mini", "high", {"effort": "high", "summary": "auto"}),
        ("openai/gpt-5.2-codex", "off", {"effort": "none", "summary": "auto"}),
        ("gpt-5-chat-latest", "high", None),
        ("gpt-4.1", "high", None),
        ("my-model", "low", None),
    ],
)
def test_how_much_to_reason_is_said_to_models_that_do(model: str, effort: Any, reasoning: Any) -> None:
    assert body(request("hi", effort=effort), model).get("reasoning") == reasoning
    assert bool(efforts_of(model)) == (reasoning is not None)


def test_the_next_request_begins_with_the_bytes_of_the_one_before() -> None:
    encoder = ResponsesEncoder(MODEL)
    asked = request("look", calling(call("c1")), result("c1", "one"), tools=[READ])
    longer = ModelRequest(asked.system, [*asked.messages, said("it is one"), Message("user", "ok")], asked.tools)
    before, _, _ = encoder.body(asked).rpartition(b'],"reasoning"')
    assert encoder.body(longer).startswith(before)
    assert ResponsesEncoder(MODEL).body(longer) == encoder.body(longer), "as it is after a restart"


def test_an_encoded_message_is_kept_as_long_as_the_message_lives() -> None:
    encoder = ResponsesEncoder(MODEL)
    asked = request("hello")
    encoder.body(asked)
    assert len(encoder._kept) == 1
    del asked
    gc.collect()
    assert len(encoder._kept) == 0


def test_a_long_conversation_is_encoded_once() -> None:
    encoder = ResponsesEncoder(MODEL)
    step = [Message("user", "x" * 200), calling(call("c1")), result("c1", "y" * 2000), said("it is")]
    messages = [Message(m.role, m.content, tool_calls=m.tool_calls, tool_call_id=m.tool_call_id) for m in step * 1250]
    asked = ModelRequest("", [*messages, Message("user", "and?")])
    began = time.process_time()
    first = encoder.body(asked)
    middle = time.process_time()
    assert encoder.body(asked) == first
    assert time.process_time() - middle < (middle - began) / 2


TEXTS = st.one_of(
    st.none(),
    st.text(),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, st.text()),
            st.sampled_from([PICTURE, {"type": "foo"}, {}, {"type": "file", "file": {"file_data": ""}}]),
        )
    ),
)
CALLS = st.lists(
    st.builds(ToolCall, st.text(min_size=1), st.text(), st.one_of(st.text(), st.just('{"a":NaN}'))),
    max_size=3,
    unique_by=lambda each: each.id,
)
ITEMS = st.lists(
    st.sampled_from([reasoning(1), reasoning(2, output_index=0), {"type": "reasoning"}, {}, "odd"]), max_size=3
)


@given(TEXTS, CALLS, ITEMS, TEXTS, TEXTS)
def test_whatever_was_stored_the_strictest_server_takes_it(
    said: Any, calls: Any, kept: Any, text: Any, got: Any
) -> None:
    raw = [each.raw() for each in calls] or None
    assistant = Message("assistant", said, tool_calls=raw, codex_reasoning_items=kept, codex_message_items=kept)
    results = [Message("tool", got, tool_call_id=each.id) for each in calls]
    asked = request("first", Message("user", text), assistant, *results, "go on", tools=[ToolSpec("x", "", {})])
    assert complaint(body(asked)) is None
