"""What is sent to Gemini: every case is taken by the strict server and by the official SDK's own types."""

from __future__ import annotations

import gc
import json
import time
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.gemini.request import SIGNATURES, UNSIGNED, GeminiEncoder
from acp_adapter.providers.gemini.schema import openapi
from acp_adapter.providers.gemini.thinking import efforts_of
from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.transcript import Message, Part, ToolCall
from tests.providers.calls import calling, request, result
from tests.providers.cases import CASES, PICTURE, READ, call, said
from tests.providers.gemini_server import GeminiServer
from tests.stub_server import Received

PATH = "/v1beta/models/gemini-3-stub:streamGenerateContent?alt=sse"


def body(asked: ModelRequest, model: str = "gemini-3-stub") -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(GeminiEncoder(model).body(asked))
    return decoded


def complaint(decoded: dict[str, Any]) -> str | None:
    return GeminiServer().complaint(Received(PATH, {}, decoded))


def as_the_sdk_reads_it(decoded: dict[str, Any]) -> dict[str, Any]:
    """The body through the SDK's types, which forbid all fields that they don't know, and back."""
    contents = [types.Content.model_validate(content) for content in decoded["contents"]]
    config = types.GenerateContentConfig.model_validate(
        {
            **decoded.get("generationConfig", {}),
            **{key: decoded[key] for key in ("tools", "systemInstruction") if key in decoded},
        }
    )
    read: dict[str, Any] = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"contents": [c.model_dump(mode="json", by_alias=True, exclude_none=True) for c in contents], **read}


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_taken_by_the_strict_server_and_by_the_official_types(name: str) -> None:
    decoded = body(CASES[name])
    assert complaint(decoded) is None
    read = as_the_sdk_reads_it(decoded)
    assert read.get("systemInstruction") == decoded.get("systemInstruction")
    for ours, theirs in zip(decoded["contents"], read["contents"], strict=True):
        assert [set(part) for part in ours["parts"]] == [set(part) for part in theirs["parts"]]


def test_the_sdk_would_find_a_field_of_our_own() -> None:
    with pytest.raises(ValueError, match="role2"):
        as_the_sdk_reads_it({"contents": [{"role2": "user", "parts": []}]})


def test_the_whole_body_of_a_step_with_two_calls() -> None:
    calls = calling(call("c1"), call("c2", '{"path":"y"}'), text="I look.")
    failed = Message("tool", "no such file", tool_call_id="c2", details={"status": "failed"})
    assert body(request("look", calls, result("c1", "one"), failed, tools=[READ], max_tokens=300, effort="low")) == {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I look."},
                    {
                        "functionCall": {"id": "c1", "name": "read_file", "args": {"path": "x"}},
                        "thoughtSignature": UNSIGNED,
                    },
                    {"functionCall": {"id": "c2", "name": "read_file", "args": {"path": "y"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "one"}}},
                    {"functionResponse": {"id": "c2", "name": "read_file", "response": {"error": "no such file"}}},
                ],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read_file", "description": "Reads a file.", "parametersJsonSchema": READ.parameters}
                ]
            }
        ],
        "generationConfig": {
            "maxOutputTokens": 300,
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"},
        },
    }


def parts(*messages: Message | str) -> list[list[dict[str, Any]]]:
    return [content["parts"] for content in body(request(*messages))["contents"]]


def test_sides_alternate_whatever_was_said_in_a_row() -> None:
    got = parts("one", "two", said(None), "three", said("yes"), said("and no"), "four")
    assert [[part["text"] for part in content] for content in got] == [
        ["one", "two", "three"],
        ["yes", "and no"],
        ["four"],
    ]


def test_a_picture_stands_where_it_was_among_the_texts() -> None:
    content: list[Part] = [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        PICTURE,
        {"type": "text", "text": "c"},
    ]
    assert parts(Message("user", content)) == [
        [{"text": "ab"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}, {"text": "c"}]
    ]


def test_a_picture_by_address_is_told_in_words() -> None:
    elsewhere = {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}
    assert parts(Message("user", [elsewhere])) == [[{"text": "[image_url part, not shown]"}]]


def signed(signature: str, call_id: str = "c1") -> dict[str, Any]:
    return {**call(call_id).raw(), "extra_content": {"google": {"thought_signature": signature}}}


def test_a_signature_goes_back_on_the_call_where_it_came() -> None:
    step = Message("assistant", "x", tool_calls=[call("c0").raw(), signed("c2lnbmVk")])
    _, model, _ = parts("look", step, result("c0", "1"), result("c1", "2"))
    assert [part.get("thoughtSignature") for part in model] == [None, UNSIGNED, "c2lnbmVk"]


def test_a_signature_that_came_by_another_gateway_goes_back_too() -> None:
    detail = {"type": "reasoning.encrypted", "data": "c2ln", "format": SIGNATURES, "id": "c1", "index": 0}
    _, model, _ = parts("look", calling(call("c1"), reasoning_details=[detail]), result("c1", "one"))
    assert model[0]["thoughtSignature"] == "c2ln"


def test_signed_texts_are_parted_where_their_signatures_stood() -> None:
    def detail(data: str, end: int) -> dict[str, Any]:
        return {"type": "reasoning.encrypted", "data": data, "format": SIGNATURES, "end": end}

    foreign = {"type": "reasoning.encrypted", "data": "eA==", "format": "anthropic-claude-v1", "end": 1}
    details = [detail("YQ==", 3), detail("Yg==", 3), foreign, detail("Yw==", 5)]
    _, model, _ = parts("hi", said("one, two", reasoning_details=details), "go on")
    assert model == [
        {"text": "one", "thoughtSignature": "YQ=="},
        {"text": ", ", "thoughtSignature": "Yw=="},
        {"text": "two"},
    ]


def test_older_models_are_sent_no_stand_in_for_a_signature() -> None:
    asked = request("look", calling(call("c1")), result("c1", "one"))
    assert "thoughtSignature" not in json.dumps(body(asked, "gemini-2.5-flash"))
    assert "thoughtSignature" in json.dumps(body(asked, "gemini-flash-latest"))


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-3-pro", None, {"includeThoughts": True}),
        ("gemini-3.8-flash", "high", {"includeThoughts": True, "thinkingLevel": "high"}),
        ("gemini-3.8-flash", "off", {"includeThoughts": True, "thinkingLevel": "minimal"}),
        ("gemini-flash-latest", "medium", {"includeThoughts": True, "thinkingLevel": "medium"}),
        ("gemini-2.5-flash", "low", {"includeThoughts": True, "thinkingBudget": 1024}),
        ("gemini-2.5-flash", "off", {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-pro", "off", {"includeThoughts": True, "thinkingBudget": 128}),
        ("gemini-2.0-flash", "high", None),
        ("gemma-3-27b-it", "high", None),
    ],
)
def test_how_much_to_think_is_said_in_the_model_s_own_words(model: str, effort: Any, config: Any) -> None:
    sent = body(request("hi", effort=effort), model).get("generationConfig")
    assert (sent or {}).get("thinkingConfig") == config


def test_what_can_be_chosen_is_what_the_model_can_do() -> None:
    assert efforts_of("gemini-2.5-flash") == ("off", "low", "medium", "high")
    assert efforts_of("gemini-3-pro-preview") == efforts_of("gemini-2.5-pro") == ("low", "medium", "high")
    assert efforts_of("gemini-1.5-pro") == efforts_of("gemma-3-1b-it") == ()


ODD = {
    "type": "object",
    "$schema": "x",
    "additionalProperties": False,
    "properties": {
        "a": {"type": ["string", "null"], "format": "uri"},
        "b": {"oneOf": [{"const": 1}, {"type": "array", "items": {"type": "integer", "exclusiveMinimum": 0}}]},
    },
    "required": ["a"],
}


def test_a_schema_is_cut_to_the_words_of_the_older_form() -> None:
    cut = openapi(ODD)
    assert cut == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "nullable": True},
            "b": {"anyOf": [{"type": "string", "enum": ["1"]}, {"type": "array", "items": {"type": "integer"}}]},
        },
        "required": ["a"],
    }
    types.Schema.model_validate(cut)


def test_the_next_request_begins_with_the_bytes_of_the_one_before() -> None:
    encoder = GeminiEncoder("gemini-3-stub")
    asked = request("look", calling(call("c1")), result("c1", "one"))
    longer = ModelRequest(asked.system, [*asked.messages, said("it is one"), Message("user", "ok")])
    before, _, _ = encoder.body(asked).partition(b'],"generationConfig"')
    assert encoder.body(longer).startswith(before)
    assert GeminiEncoder("gemini-3-stub").body(longer) == encoder.body(longer), "as it is after a restart"


def test_an_encoded_message_is_kept_as_long_as_the_message_lives() -> None:
    encoder = GeminiEncoder("gemini-3-stub")
    asked = request("hello")
    encoder.body(asked)
    assert len(encoder._kept) == 1
    del asked
    gc.collect()
    assert len(encoder._kept) == 0


def test_a_long_conversation_is_encoded_once() -> None:
    encoder = GeminiEncoder("gemini-3-stub")
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
            st.sampled_from([PICTURE, {"type": "foo"}, {}]),
        )
    ),
)
CALLS = st.lists(
    st.builds(ToolCall, st.text(min_size=1), st.text(), st.one_of(st.text(), st.just('{"a":NaN}'))),
    max_size=3,
    unique_by=lambda each: each.id,
)


@given(TEXTS, CALLS, TEXTS, TEXTS)
def test_whatever_was_stored_the_strictest_server_takes_it(said: Any, calls: Any, text: Any, got: Any) -> None:
    assistant = Message("assistant", said, tool_calls=[each.raw() for each in calls] or None)
    results = [Message("tool", got, tool_call_id=each.id) for each in calls]
    asked = request("first", Message("user", text), assistant, *results, "go on", tools=[ToolSpec("x", "", {})])
    assert complaint(body(asked)) is None
