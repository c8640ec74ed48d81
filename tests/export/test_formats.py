"""What people read and trainers learn from: whole, well formed, and nothing in it is more than text."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from acp_adapter.export import html, markdown, trajectories
from acp_adapter.export.conversation import conversations
from acp_adapter.ledger.db import SessionDB
from acp_adapter.redaction import MARK, Redactor
from acp_adapter.transcript import Message, Part, ToolCall
from tests.export.conftest import KEY, PIXEL, fill

VOID = {"meta", "img", "br", "hr"}


class Page(HTMLParser):
    """Every element must be closed in order; what is text and what is an element is kept apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def written(write: Any, db: SessionDB, *ids: str) -> str:
    out: list[str] = []
    write(conversations(db, ids, Redactor()), out.append)
    return "".join(out)


def test_the_page_is_well_formed_and_shows_everything(db: SessionDB) -> None:
    fill(db)
    page = Page(written(html.write, db, "first", "branch", "other"))
    for said in ("My key is " + MARK, "Done, ", "海象 again", "Here.", "Edit rose.py", "b = <3>", "<b>bold</b>", "ö"):
        assert said in page.text
    assert "take this back" not in page.text
    assert len(page.all("article")) == 3
    assert [image["src"] for image in page.all("img")] == [PIXEL, PIXEL]
    assert len(page.all("ins")) == len(page.all("del")) == 2
    assert KEY not in page.text


def test_what_a_message_says_stays_text(db: SessionDB) -> None:
    db.create_session("x", model='"><script>', model_config={}, cwd="/<script>", title="<script>t</script>")
    hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n[a](javascript:alert(1)) ![b](http://x.example/p.png)"
    call = ToolCall('"><script>', "<script>", hostile).raw()
    details = {
        "title": hostile,
        "content": [
            {"type": "diff", "path": hostile, "oldText": None, "newText": hostile},
            {"type": "content", "content": {"type": "image", "mimeType": 'x" onerror="alert(1)', "data": "AA=="}},
            {"type": "content", "content": {"type": "resource_link", "uri": "javascript:alert(1)", "name": hostile}},
        ],
    }
    parts: list[Part] = [
        {"type": "image_url", "image_url": {"url": "http://x.example/y.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,AAAA"}},
        {"type": "resource", "resource": {"uri": hostile, "text": hostile}},
        {"type": hostile},
    ]
    db.append("x", [Message("user", hostile), Message("user", parts)])
    db.append("x", [Message("assistant", hostile, reasoning=hostile, tool_calls=[call])])
    db.append("x", [Message("tool", hostile, tool_call_id='"><script>', details=details)])
    page = Page(written(html.write, db, "x"))
    assert page.all("script") == page.all("img") == []
    assert {link["href"] for link in page.all("a")} == {"http://x.example/y.png", "http://x.example/p.png"}
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.text.count("<script>alert(1)</script>") >= 5
    [policy] = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def test_markdown_shows_everything_and_no_fence_is_left_open(db: SessionDB) -> None:
    fill(db)
    text = written(markdown.write, db, "first", "other")
    for said in (f"My key is {MARK}", "Done, **rose**.", "海象 again", "Edit rose.py", "+b = <3>", "> I <think>"):
        assert said in text
    assert "````\n```\n<b>bold</b>\n```\n````" in text
    assert "(`read`, failed)" in text
    assert "take this back" not in text


def test_a_conversation_for_training_has_each_result_directly_after_its_call(db: SessionDB) -> None:
    fill(db)
    lines = [
        json.loads(line) for line in written(trajectories.write_openai, db, "first", "branch", "other").splitlines()
    ]
    assert [line.keys() for line in lines] == [{"messages"}] * 3
    for line in lines:
        valid(line["messages"])
    first = lines[0]["messages"]
    assert [message["role"] for message in first] == [
        *("system", "user", "assistant", "tool", "tool", "assistant"),
        *("user", "assistant"),
    ]
    assert first[0]["content"] == "Be kind."
    assert [message["tool_call_id"] for message in first if message["role"] == "tool"] == ["c-read", "c-edit"]
    assert first[1]["content"][1]["image_url"]["url"] == PIXEL


def valid(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [call["id"] for call in message.get("tool_calls", ())]
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert waiting == []


def test_sharegpt_has_speakers_by_turns_thoughts_calls_and_results(db: SessionDB) -> None:
    fill(db)
    [record] = map(json.loads, written(trajectories.write_sharegpt, db, "first").splitlines())
    said = record["conversations"]
    assert [entry["from"] for entry in said] == ["system", "human", "gpt", "tool", "gpt", "human", "gpt"]
    assert record["images"] == [PIXEL]
    assert said[1]["value"] == f"My key is {MARK}<image>"
    assert said[2]["value"].count("<tool_call>") == said[3]["value"].count("<tool_response>") == 2
    assert '{"name": "read", "arguments": {"path": "read.py"}}' in said[2]["value"]
    assert said[4]["value"] == "<think>\nI <think>\n</think>\nDone, **rose**."


def test_a_conversation_in_which_the_model_never_spoke_teaches_nothing(db: SessionDB) -> None:
    db.create_session("x", model=None, model_config={}, cwd="/w", system_prompt="Be kind.")
    db.append("x", [Message("user", "hello?")])
    assert written(trajectories.write_openai, db, "x") == written(trajectories.write_sharegpt, db, "x") == ""


def test_a_call_that_never_got_a_result_is_closed(db: SessionDB) -> None:
    db.create_session("x", model=None, model_config={}, cwd="/w")
    db.append(
        "x", [Message("user", "go"), Message("assistant", "", tool_calls=[ToolCall("c", "read", "no json").raw()])]
    )
    [line] = map(json.loads, written(trajectories.write_openai, db, "x").splitlines())
    valid(line["messages"])
    assert line["messages"][-1]["content"].startswith("The tool call was interrupted")


@pytest.mark.parametrize("write", [html.write, markdown.write, trajectories.write_openai, trajectories.write_sharegpt])
def test_the_ledger_of_another_program_can_be_taken_out(hermes_path: Any, write: Any) -> None:
    db = SessionDB.open(hermes_path)
    try:
        ids = [listed.id for listed in db.list_sessions().sessions]
        text = written(write, db, *ids)
    finally:
        db.close()
    assert "zebra-42" in text
    if write is html.write:
        Page(text)
    if write is trajectories.write_openai:
        for line in text.splitlines():
            valid(json.loads(line)["messages"])
