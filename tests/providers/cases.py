"""Conversations that every provider must be able to send: each API's request for each of them is a snapshot.

    for name, request in CASES.items(): ...

A case is here because a real server once refused it, or because a fact of it was lost on the way.
"""

from __future__ import annotations

from attrs import evolve

from acp_adapter.providers.port import ModelRequest, ToolSpec
from acp_adapter.transcript import Message, ToolCall
from tests.providers.calls import calling, request, result

READ = ToolSpec(
    "read_file", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
PLAN = ToolSpec("update_plan", "Shows a plan.", {"type": "object", "properties": {}})
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
SOUND = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
PAPER = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}}
LINK = {"type": "resource_link", "uri": "file:///p/a%20b.py#L3-5", "name": "a b.py"}


def call(call_id: str, arguments: str = '{"path":"x"}', name: str = "read_file") -> ToolCall:
    return ToolCall(call_id, name, arguments)


def said(text: str | None, **fields: object) -> Message:
    return Message("assistant", text, **fields)  # type: ignore[arg-type]


CASES: dict[str, ModelRequest] = {
    "a first question": request("hello"),
    "without a system prompt": request("hello", system=""),
    "with tools and a limit": request("hello", tools=[READ, PLAN], max_tokens=300),
    "with little effort": request("hello", effort="low", session="s-1"),
    "with great effort": request("hello", tools=[READ], effort="high", session="s-1"),
    "with no reasoning": request("hello", effort="off"),
    "a second question": request("hello", said("hi"), "and now?"),
    "two prompts in a row": request("hello", "are you there?"),
    "a picture and a text": request([{"type": "text", "text": "what is it?"}, PICTURE]),
    "a sound": request([{"type": "text", "text": "what is said?"}, SOUND]),
    "a file": request([{"type": "text", "text": "read it"}, PAPER]),
    "a picture that a tool gave": request(
        "look", calling(call("c1")), result("c1", [{"type": "text", "text": "here"}, PICTURE])
    ),
    "a link as it was sent": request([{"type": "text", "text": "read"}, LINK]),
    "a link in place of which its text is sent": request(
        Message("user", [{"type": "text", "text": "read"}, LINK], api_content="read\n\n/p/a b.py:\nX=1")
    ),
    "two calls and their results": request(
        "look", calling(call("c1"), call("c2", '{"path":"y"}'), text="I look."), result("c1", "one"), result("c2", "")
    ),
    "a call without text": request("look", calling(call("c1")), result("c1", "one"), tools=[READ]),
    "a call and an answer after it": request("look", calling(call("c1")), result("c1", "one"), said("it is one"), "ok"),
    "something said between a result and the next step": request(
        "look", calling(call("c1")), result("c1", "one"), "only the first line", said("it is one"), "ok"
    ),
    "the same call id in two steps": request(
        "look",
        calling(call("c1")),
        result("c1", "one"),
        evolve(calling(call("c1", '{"path":"y"}')), id="m4"),  # an API without such ids is sent a digest of this one
        result("c1", "two"),
    ),
    "a failed call": request(
        "look",
        calling(call("c1")),
        Message("tool", "no such file", tool_call_id="c1", tool_name="read_file", details={"status": "failed"}),
    ),
    "arguments that are no JSON": request("look", calling(call("c1", "{broken")), result("c1", "bad arguments")),
    "arguments that are no object": request("look", calling(call("c1", "[1]")), result("c1", "bad arguments")),
    "a call without arguments": request("look", calling(call("c1", "", "update_plan")), result("c1", "done")),
    "a tool name that no API takes": request("look", calling(call("c1", "{}", "read file!")), result("c1", "none")),
    "a call id that is too long": request("look", calling(call("c" * 80)), result("c" * 80, "one")),
    "an answer of nothing": request("hello", said(None), "and now?"),
    "an answer that was cut": request("hello", said("I was say", finish_reason="cancelled"), "go on"),
    "plain reasoning of another model": request("hello", said("hi", reasoning="they greet"), "and now?"),
    "signed reasoning before a call": request(
        "look",
        calling(
            call("c1"),
            reasoning="I must look",
            reasoning_details=[
                {
                    "type": "reasoning.text",
                    "text": "I must look",
                    "signature": "c2lnbmVk",
                    "format": "anthropic-claude-v1",
                    "index": 0,
                },
                {"type": "reasoning.encrypted", "data": "aGlkZGVu", "format": "anthropic-claude-v1", "index": 1},
            ],
        ),
        result("c1", "one"),
    ),
    "a reasoning item before a call": request(
        "look",
        calling(
            call("c1"),
            reasoning="I must look",
            codex_reasoning_items=[
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "I must look"}],
                    "encrypted_content": "aGlkZGVu",
                }
            ],
        ),
        result("c1", "one"),
    ),
    "reasoning, words and a call with their places": request(
        "look",
        Message(
            "assistant",
            "I look.",
            tool_calls=[{**call("c1").raw(), "output_index": 2}],
            reasoning="I must look",
            codex_reasoning_items=[
                {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "aGlkZGVu", "output_index": 0}
            ],
            codex_message_items=[
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "phase": "commentary",
                    "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
                    "output_index": 1,
                }
            ],
        ),
        result("c1", "one"),
    ),
    "a signed thought at the end of a text": request(
        "hello",
        said(
            "hi",
            reasoning_details=[
                {"type": "reasoning.encrypted", "data": "c2lnbmVk", "format": "google-gemini-v1", "end": 2}
            ],
        ),
        "and now?",
    ),
    "a signed thought inside a call": request(
        "look",
        Message(
            "assistant",
            tool_calls=[{**call("c1").raw(), "extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}],
        ),
        result("c1", "one"),
    ),
}
"""Messages end with a user or a tool message, and all calls have their results: `acp_adapter.pairing` sees to that."""
