"""A step's JSON read while it streams: what the user hears does not depend on how it was cut."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.providers.local.answer import StepReader

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from('\ud83d\ude00"\\\n€'))


def spoken(text: str, *, escaped: bool = True) -> str:
    return json.dumps({"tool": "say", "arguments": {"text": text}}, ensure_ascii=escaped)


@given(TEXTS, st.booleans(), st.lists(st.integers(1, 9)))
def test_any_chunking_gives_the_same_text(text: str, escaped: bool, cuts: list[int]) -> None:
    raw = spoken(text, escaped=escaped)
    reader, heard, at = StepReader(), "", 0
    for cut in [*cuts, *[1] * len(raw)]:
        heard += reader.feed(raw[at : at + cut])
        at += cut
    assert heard == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_text_is_told_as_soon_as_nothing_can_change_it() -> None:
    reader = StepReader()
    assert reader.feed('{"tool": "say", "arguments": {"te') == ""
    assert reader.tool == "say"
    assert reader.feed('xt": "Good') == "Good"
    assert reader.feed(" day\\") == " day"
    assert reader.feed("n\\ud83d") == "\n"
    assert reader.feed("\\ude00!") == "😀!"
    assert reader.feed('"}}') == ""


def test_nothing_is_told_of_a_tool_call() -> None:
    reader = StepReader()
    assert reader.feed('{"tool": "write_file", "arguments": {"path": "say", "content": "text"}}') == ""
    assert reader.tool == "write_file"


def test_white_space_that_the_model_puts_in_changes_nothing() -> None:
    reader = StepReader()
    assert reader.feed('{\n  "tool" : "say",\n "arguments":{ "text" :"Yes"\n}}') == "Yes"
