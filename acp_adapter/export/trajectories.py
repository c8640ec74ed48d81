"""Training data: one conversation a line, in the two forms that trainers read.

OpenAI: `{"messages": [{"role", "content", "tool_calls"…}]}`, the messages as the model was sent them.
ShareGPT: `{"id", "conversations": [{"from": "system|human|gpt|tool", "value"}]}`. Thoughts stand in `<think>`, calls in
`<tool_call>`, the results of one step in one `tool` entry of `<tool_response>` blocks; `images` are in the order of
their `<image>` marks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from acp_adapter.export.conversation import Conversation, Step, Write, steps
from acp_adapter.providers.chat.request import ChatEncoder, Dialect
from acp_adapter.transcript import Message, ToolCall

_EVERYTHING = Dialect(echoes=frozenset({"reasoning_content"}), call_ids=r".+")

_SPEAKERS = {"system": "system", "user": "human", "assistant": "gpt", "tool": "tool"}


def write_openai(conversations: Iterable[Conversation], out: Write) -> None:
    for conversation in conversations:
        if messages := openai_messages(conversation):
            out(_line({"messages": messages}))


def write_sharegpt(conversations: Iterable[Conversation], out: Write) -> None:
    for conversation in conversations:
        if record := sharegpt_record(conversation):
            out(_line(record))


def openai_messages(conversation: Conversation) -> list[dict[str, Any]]:
    """Every message that says something; empty for a conversation in which the model never spoke."""
    encoder = ChatEncoder("", _EVERYTHING)
    told = (message for step in _learnable(conversation) for message in _in_order(step))
    messages = [json.loads(encoded) for message in told if (encoded := encoder.message(message))]
    if not any(message["role"] == "assistant" for message in messages):
        return []
    prompt = conversation.system_prompt
    return [*([{"role": "system", "content": prompt}] if prompt else []), *messages]


def sharegpt_record(conversation: Conversation) -> dict[str, Any]:
    """Empty for a conversation in which the model never spoke."""
    entries = [{"from": "system", "value": conversation.system_prompt}] if conversation.system_prompt else []
    images: list[str] = []
    for step in _learnable(conversation):
        entries += _entries(step, images)
    if not any(entry["from"] == "gpt" for entry in entries):
        return {}
    return {"id": conversation.id, "conversations": entries, **({"images": images} if images else {})}


def _learnable(conversation: Conversation) -> Iterator[Step]:
    """Summaries are left out: what they stand for is there."""
    return (step for step in steps(conversation) if not step.is_summary)


def _in_order(step: Step) -> Iterator[Message]:
    yield step.message
    yield from (result for _, result in step.calls)


def _entries(step: Step, images: list[str]) -> Iterator[dict[str, str]]:
    message = step.message
    value = _thought(message) + _content(message, images) + "".join(_call(call) for call, _ in step.calls)
    if value:
        yield {"from": _SPEAKERS[message.role], "value": value}
    if step.calls:
        yield {"from": "tool", "value": "\n".join(_response(call, result) for call, result in step.calls)}


def _thought(message: Message) -> str:
    thought = message.reasoning or message.reasoning_content
    return f"<think>\n{thought}\n</think>\n" if thought else ""


def _content(message: Message, images: list[str]) -> str:
    content = message.content if message.api_content is None else message.api_content
    if content is None or isinstance(content, str):
        return content or ""
    said = []
    for part in content:
        if part.get("type") == "image_url":
            images.append(str((part.get("image_url") or {}).get("url", "")))
            said.append("<image>")
        else:
            said.append(_words(message, part))
    return "".join(said)


def _words(message: Message, part: dict[str, Any]) -> str:
    """Any other part as the model is told of it."""
    encoded = ChatEncoder("", _EVERYTHING).message(Message(message.role, [part]))
    content = json.loads(encoded)["content"] if encoded else ""
    return content if isinstance(content, str) else f"[{part.get('type')} part, not shown]"


def _call(call: ToolCall) -> str:
    said = json.dumps({"name": call.name, "arguments": _parsed(call.arguments)}, ensure_ascii=False)
    return f"\n<tool_call>\n{said}\n</tool_call>"


def _response(call: ToolCall, result: Message) -> str:
    said = {"tool_call_id": call.id, "name": call.name, "content": result.text()}
    return f"<tool_response>\n{json.dumps(said, ensure_ascii=False)}\n</tool_response>"


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
