"""What is sent to Ollama: every case is taken by the strict server and by the official client's own types."""

from __future__ import annotations

import gc
import json
from typing import Any

import ollama
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.ollama.request import OllamaEncoder
from acp_adapter.providers.ollama.show import LARGEST, card_of, listed
from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.transcript import Message, Part, ToolCall
from tests.providers.calls import calling, request, result
from tests.providers.cases import CASES, PICTURE, READ, SOUND, call, said
from tests.providers.ollama_server import OllamaServer
from tests.stub_server import Received

NEWER = {"tool_call_id", "id"}
"""Fields of the server's API (api/types.go) that the official client does not know yet."""


def body(asked: ModelRequest, model: str = "stub-1", window: int | None = 8192) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(OllamaEncoder(model).body(asked, window))
    return decoded


def complaint(decoded: dict[str, Any]) -> str | None:
    return OllamaServer().complaint(Received("/api/chat", {}, decoded))


def as_the_client_reads_it(message: dict[str, Any]) -> dict[str, Any]:
    images = {"images": [ollama.Image(value=image) for image in message["images"]]} if "images" in message else {}
    read: dict[str, Any] = ollama.Message.model_validate({**message, **images}).model_dump(exclude_none=True)
    return read


def without_newer(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_newer(each) for key, each in value.items() if key not in NEWER}
    return [without_newer(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_taken_by_the_strict_server_and_by_the_official_types(name: str) -> None:
    decoded = body(CASES[name])
    assert complaint(decoded) is None
    for message in decoded["messages"]:
        assert as_the_client_reads_it(message) == without_newer(message)
    for tool in decoded.get("tools", ()):
        read = ollama.Tool.model_validate(tool)
        assert read.function is not None and read.function.name == tool["function"]["name"]
        assert read.function.parameters is not None


def test_the_whole_body_of_a_step_with_two_calls() -> None:
    calls = calling(call("c1"), call("c2", "{}", "update_plan"), text="I look.", reasoning="I must look")
    asked = request("look", calls, result("c1", "one"), result("c2", ""), tools=[READ], max_tokens=300, effort="low")
    assert body(asked) == {
        "model": "stub-1",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": "I look.",
                "thinking": "I must look",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "read_file", "arguments": {"path": "x"}}},
                    {"id": "c2", "function": {"name": "update_plan", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "read_file", "tool_call_id": "c1", "content": "one"},
            {"role": "tool", "tool_name": "update_plan", "tool_call_id": "c2", "content": ""},
        ],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": {"num_ctx": 8192, "num_predict": 300},
        "think": "low",
        "tools": [
            {
                "type": "function",
                "function": {"name": "read_file", "description": "Reads a file.", "parameters": READ.parameters},
            }
        ],
    }


def test_pictures_stand_beside_the_text_and_sounds_are_told_in_words() -> None:
    content: list[Part] = [{"type": "text", "text": "see "}, PICTURE, SOUND]
    message = body(request(Message("user", content)))["messages"][1]
    assert message == {"role": "user", "content": "see [input_audio part, not shown]", "images": ["iVBORw0KGgo="]}


def test_thinking_before_an_answer_is_not_sent_back() -> None:
    assert "thinking" not in json.dumps(body(request("hi", said("yes", reasoning="hm"), "go on")))


@pytest.mark.parametrize(
    ("model", "effort", "think"),
    [
        ("qwen3", None, None),
        ("qwen3", "off", False),
        ("qwen3", "high", "high"),
        ("gpt-oss:20b", "off", "low"),
        ("gpt-oss:20b", "medium", "medium"),
    ],
)
def test_how_much_to_think_is_said_in_ollama_s_words(model: str, effort: Any, think: Any) -> None:
    assert body(request("hi", effort=effort), model).get("think") == think


def test_a_window_that_nobody_knows_is_not_invented() -> None:
    assert "options" not in body(request("hi"), window=None)


SHOWN = {"model_info": {"llama.context_length": 262_144}, "capabilities": ["completion", "tools"]}


@pytest.mark.parametrize(
    ("told", "window"),
    [
        (SHOWN, LARGEST),
        ({**SHOWN, "model_info": {"llama.context_length": 4096}}, 4096),
        ({**SHOWN, "parameters": 'stop "x"\nnum_ctx    65536\ntemperature 1'}, 65536),
        ({**SHOWN, "remote_host": "https://ollama.com:443"}, 262_144),
        ({}, None),
        ({"model_info": None, "parameters": None}, None),
        ({"model_info": {"llama.context_length": "many"}}, None),
    ],
)
def test_the_window_is_what_is_set_else_what_a_machine_can_hold(told: dict[str, Any], window: int | None) -> None:
    assert card_of("m", told).context_window == window


def test_what_a_model_can_do_is_told() -> None:
    card = card_of("qwen3", {"capabilities": ["completion", "vision", "thinking"]})
    assert (card.images, card.efforts) == (True, ("off", "low", "medium", "high"))
    card = card_of("gpt-oss", {"capabilities": ["completion", "thinking"]})
    assert (card.images, card.efforts) == (False, ("low", "medium", "high"))
    assert (card_of("m", {}).images, card_of("m", {}).efforts) == (None, ())


def test_models_that_can_not_be_an_agent_are_not_offered() -> None:
    assert listed({"name": "old-server"}) is not None
    assert listed({"name": "m", "capabilities": ["completion", "tools"]}) is not None
    assert listed({"name": "m", "capabilities": ["completion"]}) is None
    assert listed({"name": "m", "capabilities": ["embedding"]}) is None
    assert listed({"model": "no name"}) is None


def test_the_next_request_begins_with_the_bytes_of_the_one_before() -> None:
    encoder = OllamaEncoder("m")
    asked = request("look", calling(call("c1")), result("c1", "one"))
    longer = ModelRequest(asked.system, [*asked.messages, said("it is one"), Message("user", "ok")])
    before, _, _ = encoder.body(asked, 8192).partition(b'],"stream"')
    assert encoder.body(longer, 8192).startswith(before)
    assert OllamaEncoder("m").body(longer, 8192) == encoder.body(longer, 8192), "as it is after a restart"


def test_an_encoded_message_is_kept_as_long_as_the_message_lives() -> None:
    encoder = OllamaEncoder("m")
    asked = request("hello")
    encoder.body(asked, 8192)
    assert len(encoder._kept) == 1
    del asked
    gc.collect()
    assert len(encoder._kept) == 0


TEXTS = st.one_of(
    st.none(),
    st.text(),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, st.text()),
            st.sampled_from([PICTURE, SOUND, {"type": "foo"}, {}]),
        )
    ),
)
CALLS = st.lists(
    st.builds(ToolCall, st.text(min_size=1), st.text(), st.one_of(st.text(), st.just('{"a":NaN}'))),
    max_size=3,
    unique_by=lambda each: each.id,
)


@given(TEXTS, CALLS, TEXTS, TEXTS)
def test_whatever_was_stored_the_strict_server_takes_it(said: Any, calls: Any, text: Any, got: Any) -> None:
    assistant = Message("assistant", said, tool_calls=[each.raw() for each in calls] or None)
    results = [Message("tool", got, tool_call_id=each.id) for each in calls]
    asked = request("first", Message("user", text), assistant, *results, "go on", tools=[ToolSpec("x", "", {})])
    assert complaint(body(asked)) is None
