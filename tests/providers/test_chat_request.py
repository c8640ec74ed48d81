"""What is sent: the whole body for the common cases, and the forms that strict servers insist on."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.providers.services import SERVICES
from acp_adapter.transcript import Message, ToolCall
from tests.providers.calls import calling, request, result
from tests.stub_model import complaint

READ = ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
LINK = {"type": "resource_link", "uri": "file:///p/a%20b.py#L3-5", "name": "a b.py"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///x.py", "mimeType": "text/x-python", "text": "X=1"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///x.bin", "blob": "AA=="}}

SYSTEM = {"role": "system", "content": "be brief"}
STREAMED = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}


def call(call_id: str, name: str = "read_file", arguments: str = '{"path":"x"}') -> ToolCall:
    return ToolCall(call_id, name, arguments)


def wire_call(call_id: str, name: str = "read_file", arguments: str = '{"path":"x"}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


CASES: dict[str, tuple[ModelRequest, dict[str, Any]]] = {
    "a first question": (
        request("hello"),
        {"messages": [SYSTEM, {"role": "user", "content": "hello"}]},
    ),
    "without a system prompt": (
        request("hello", system=""),
        {"messages": [{"role": "user", "content": "hello"}]},
    ),
    "with tools and a limit": (
        request("hello", tools=[READ], max_tokens=300),
        {
            "messages": [SYSTEM, {"role": "user", "content": "hello"}],
            "max_tokens": 300,
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "read_file", "description": "Reads.", "parameters": READ.parameters},
                }
            ],
        },
    ),
    "two calls and their results": (
        request("hello", calling(call("c1"), call("c2"), text="I look."), result("c1", "one"), result("c2", "")),
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "I look.", "tool_calls": [wire_call("c1"), wire_call("c2")]},
                {"role": "tool", "tool_call_id": "c1", "content": "one"},
                {"role": "tool", "tool_call_id": "c2", "content": ""},
            ]
        },
    ),
    "a call without text": (
        request("hello", calling(call("c1")), result("c1", "one")),
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": None, "tool_calls": [wire_call("c1")]},
                {"role": "tool", "tool_call_id": "c1", "content": "one"},
            ]
        },
    ),
    "an answer and the next question": (
        request("hello", Message("assistant", "yes?", reasoning="hm", reasoning_details=[{"type": "x"}]), "more"),
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "yes?"},
                {"role": "user", "content": "more"},
            ]
        },
    ),
    "parts of text become one string": (
        request(Message("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])),
        {"messages": [SYSTEM, {"role": "user", "content": "ab"}]},
    ),
    "pictures and sound stay parts": (
        request(Message("user", [{"type": "text", "text": "see"}, PICTURE, SOUND])),
        {"messages": [SYSTEM, {"role": "user", "content": [{"type": "text", "text": "see"}, PICTURE, SOUND]}]},
    ),
    "resources are shown as text": (
        request(Message("user", [{"type": "text", "text": "explain "}, LINK, EMBEDDED, BLOB, {"type": "foo"}])),
        {
            "messages": [
                SYSTEM,
                {
                    "role": "user",
                    "content": "explain [a b.py](file:///p/a%20b.py#L3-5)"
                    '\n<resource uri="file:///x.py">\nX=1\n</resource>\n'
                    "[binary resource file:///x.bin, not shown][foo part, not shown]",
                },
            ]
        },
    ),
    "a resource beside a picture": (
        request(Message("user", [PICTURE, LINK])),
        {
            "messages": [
                SYSTEM,
                {
                    "role": "user",
                    "content": [PICTURE, {"type": "text", "text": "[a b.py](file:///p/a%20b.py#L3-5)"}],
                },
            ]
        },
    ),
    "what the model is sent goes before what the user wrote": (
        request(Message("user", [LINK], api_content="file a b.py, lines 3 to 5: …")),
        {"messages": [SYSTEM, {"role": "user", "content": "file a b.py, lines 3 to 5: …"}]},
    ),
    "a tool's picture is told in words": (
        request(
            "hello", calling(call("c1")), Message("tool", [{"type": "text", "text": "x"}, PICTURE], tool_call_id="c1")
        ),
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": None, "tool_calls": [wire_call("c1")]},
                {"role": "tool", "tool_call_id": "c1", "content": "x[image_url part, not shown]"},
            ]
        },
    ),
    "an answer of nothing but reasoning is left out": (
        request("hello", Message("assistant", None, reasoning="hm"), "still there?"),
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "hello"},
                {"role": "user", "content": "still there?"},
            ]
        },
    ),
    "arguments that are no JSON object": (
        request("hello", calling(call("c1", arguments="{broken"), call("c2", arguments="")), result("c1", "no")),
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "hello"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        wire_call("c1", arguments='{"not_a_json_object": "{broken"}'),
                        wire_call("c2", arguments="{}"),
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "no"},
            ]
        },
    ),
    "a function name that no server takes": (
        request("hello", calling(call("c1", name="my tool!")), result("c1", "unknown")),
        {
            "messages": [
                SYSTEM,
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": None, "tool_calls": [wire_call("c1", name="my_tool_")]},
                {"role": "tool", "tool_call_id": "c1", "content": "unknown"},
            ]
        },
    ),
}


def body(encoder: ChatEncoder, asked: ModelRequest) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(encoder.body(asked))
    return decoded


@pytest.mark.parametrize("name", CASES)
def test_the_body_of(name: str) -> None:
    asked, expected = CASES[name]
    assert body(ChatEncoder("m", Dialect()), asked) == {**STREAMED, **expected}


def sent(message: Message, **dialect: Any) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(ChatEncoder("m", Dialect(**dialect)).message(message))
    return decoded


def test_reasoning_goes_back_only_to_the_server_that_wants_it() -> None:
    details = [{"type": "reasoning.text", "text": "hm", "signature": "s"}]
    message = calling(call("c1"), reasoning="hm", reasoning_details=details)
    assert not {"reasoning_content", "reasoning_details"} & set(sent(message))
    assert sent(message, echoes=frozenset({"reasoning_details"}))["reasoning_details"] == details
    assert sent(message, echoes=frozenset({"reasoning_content"}))["reasoning_content"] == "hm"
    assert "reasoning_details" not in sent(calling(call("c1")), echoes=frozenset({"reasoning_details"}))


def test_a_server_that_wants_reasoning_beside_calls_gets_it_even_if_there_was_none() -> None:
    assert sent(calling(call("c1")), echoes=frozenset({"reasoning_content"}))["reasoning_content"] == ""


def test_what_a_service_hides_in_a_call_goes_back_to_it_alone() -> None:
    raw = {**call("c1").raw(), "extra_content": {"google": {"thought_signature": "s"}}, "call_id": "elsewhere"}
    message = Message("assistant", None, tool_calls=[raw])
    assert sent(message)["tool_calls"] == [wire_call("c1")]
    echoed = sent(message, echoes=frozenset({"extra_content"}))["tool_calls"]
    assert echoed == [{**wire_call("c1"), "extra_content": {"google": {"thought_signature": "s"}}}]


def test_call_ids_are_given_the_form_that_the_server_takes_on_both_sides() -> None:
    encoder = ChatEncoder("m", SERVICES["mistral"].dialect)
    asked = request(
        "x", calling(call("call_abc-1"), call("Ab3456789")), result("call_abc-1", "1"), result("Ab3456789", "2")
    )
    _, _, assistant, first, second = body(encoder, asked)["messages"]
    ids = [each["id"] for each in assistant["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert ids[0] != "call_abc-1"
    assert all(len(each) == 9 and each.isalnum() for each in ids)
    assert ids[1] == "Ab3456789"


def test_an_id_longer_than_servers_take_is_shortened_on_both_sides() -> None:
    long = "x" * 41
    _, _, assistant, tool = body(ChatEncoder("m", Dialect()), request("x", calling(call(long)), result(long, "1")))[
        "messages"
    ]
    assert assistant["tool_calls"][0]["id"] == tool["tool_call_id"]
    assert len(tool["tool_call_id"]) <= 40


def test_a_lone_surrogate_does_not_spoil_the_request() -> None:
    assert sent(Message("user", "a\ud800b"))["content"] == "a?b"


def test_limits_have_the_name_that_the_service_knows() -> None:
    openai = ChatEncoder("m", SERVICES["openai"].dialect)
    assert body(openai, request(max_tokens=5))["max_completion_tokens"] == 5
    assert "max_tokens" not in body(openai, request(max_tokens=5))


def test_the_next_request_begins_with_the_bytes_of_the_one_before() -> None:
    encoder = ChatEncoder("m", Dialect())
    first = request("hello")
    longer = ModelRequest(first.system, [*first.messages, Message("assistant", "yes"), Message("user", "and?")])
    before, _, _ = encoder.body(first).rpartition(b"]")
    assert encoder.body(longer).startswith(before)


def test_an_encoded_message_is_kept_as_long_as_the_message_lives() -> None:
    encoder = ChatEncoder("m", Dialect())
    message = Message("user", "hello")
    assert encoder.message(message) is encoder.message(message)
    del message
    gc.collect()
    assert len(encoder._kept) == 0


TEXTS = st.one_of(
    st.none(),
    st.text(),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, st.text()),
            st.sampled_from([PICTURE, SOUND, LINK, EMBEDDED, BLOB, {"type": "foo"}, {}]),
        )
    ),
)
CALLS = st.lists(
    st.builds(ToolCall, st.text(min_size=1), st.text(), st.one_of(st.text(), st.just('{"a":1}'))),
    max_size=3,
    unique_by=lambda each: each.id,
)


@given(TEXTS, CALLS, TEXTS, TEXTS)
def test_whatever_was_stored_the_strictest_server_takes_it(said: Any, calls: Any, text: Any, got: Any) -> None:
    assistant = Message("assistant", said, tool_calls=[each.raw() for each in calls] or None)
    results = [Message("tool", got, tool_call_id=each.id) for each in calls]
    decoded = body(ChatEncoder("m", Dialect()), request(Message("user", text), assistant, *results, "go on"))
    assert complaint(decoded) is None


@pytest.mark.parametrize(
    ("service", "effort", "told"),
    [
        ("openai", "low", {"reasoning_effort": "low"}),
        ("openai", "off", {"reasoning_effort": "none"}),
        ("openrouter", "high", {"reasoning": {"effort": "high"}}),
        ("openrouter", "off", {"reasoning": {"enabled": False}}),
        ("deepseek", "medium", {"thinking": {"type": "enabled"}}),
        ("moonshot", "off", {"thinking": {"type": "disabled"}}),
        ("groq", None, {}),
    ],
)
def test_how_much_to_reason_is_said_in_the_service_s_own_words(service: str, effort: Any, told: dict[str, Any]) -> None:
    body = json.loads(ChatEncoder("m", SERVICES[service].dialect).body(request("hi", effort=effort)))
    assert {name: body[name] for name in ("reasoning_effort", "reasoning", "thinking") if name in body} == told


def test_a_server_that_can_t_be_told_how_much_to_reason_is_not_told_again() -> None:
    encoder = ChatEncoder("m", Dialect())
    asked = request("hi", effort="off")
    assert encoder.adapt("Unsupported value: 'reasoning_effort' does not support 'none' with this model.", asked)
    assert "reasoning_effort" not in json.loads(encoder.body(asked))
    assert encoder.adapt("Use /v1/responses or set reasoning_effort to 'none' to call functions.", asked)
    assert json.loads(encoder.body(asked))["reasoning_effort"] == "none"


def test_only_a_service_that_knows_the_key_is_given_one() -> None:
    asked = request("hi", session="s-1")
    assert json.loads(ChatEncoder("m", SERVICES["openai"].dialect).body(asked))["prompt_cache_key"] == "s-1"
    assert "prompt_cache_key" not in json.loads(ChatEncoder("m", Dialect()).body(asked))
