"""Commented JSON is read to its last character, and changed in one place only."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.cli.editors.jsonc import NotJsonc, find, parse, value_of, with_value, without
from tests.editors.documents import NAME, TABLE, documents

ENTRY = {"type": "custom", "command": "/opt/über dir/acp-adapter", "args": [], "env": {}}
PATH = (TABLE, NAME)


ZED = """\
// Zed settings

{
  "theme": "One Dark", // mine
  /* fonts */
  "buffer_font_size": 15,
}
"""


@given(documents())
def test_what_is_written_is_read(document: tuple[str, object]) -> None:
    text, value = document
    assert value_of(text) == value


@given(documents())
def test_an_entry_is_added_by_one_insertion_and_all_else_is_said_as_before(
    document: tuple[str, dict[str, Any]],
) -> None:
    text, value = document
    after = with_value(text, PATH, ENTRY)
    assert value_of(after) == {**value, TABLE: {**value.get(TABLE, {}), NAME: ENTRY}}
    inserted = len(after) - len(text)
    assert any(after[:at] + after[at + inserted :] == text for at in range(len(text) + 1))


@given(documents())
def test_an_entry_is_taken_out_and_all_else_is_said_as_before(document: tuple[str, dict[str, Any]]) -> None:
    text, value = document
    after = without(with_value(text, PATH, ENTRY), PATH)
    assert value_of(after) == {**value, TABLE: value.get(TABLE, {})}
    assert without(text, PATH) == text


@given(documents(), st.data())
def test_any_member_can_go_and_its_comments_stay(document: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, value = document
    if value:
        key = data.draw(st.sampled_from(sorted(value)))
        after = without(text, (key,))
        assert value_of(after) == {name: each for name, each in value.items() if name != key}


@given(documents())
def test_line_ends_are_those_of_the_file(document: tuple[str, dict[str, Any]]) -> None:
    text, _ = document
    if "\n" in text:
        after = with_value(text, PATH, ENTRY)
        assert after.count("\r\n") == (after.count("\n") if "\r\n" in text else 0)


@given(documents(), st.data())
def test_a_text_with_a_piece_missing_is_refused_or_read_whole(
    document: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    """Cut anywhere, nothing but NotJsonc is ever raised, and what is changed all the same says what was there."""
    text, _ = document
    at = data.draw(st.integers(0, len(text)))
    cut = text[:at] + text[at + data.draw(st.integers(0, 3)) :]
    try:
        value = value_of(cut)
        after = with_value(cut, PATH, ENTRY)
    except NotJsonc:
        return
    assert find(after, PATH)
    assert {**value_of(after), TABLE: None} == {**value, TABLE: None}


def test_a_persons_settings_keep_their_looks() -> None:
    assert with_value(ZED, PATH, {"command": "x"}) == ZED.replace(
        "{\n",
        """\
{
  "agent_servers": {
    "acp-adapter": {
      "command": "x"
    }
  },
""",
        1,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("// none", '// none\n{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"c": 2}', '{"a": {"b": 1}, "c": 2}'),
        ('{ "c": 2 }', '{ "a": {"b": 1}, "c": 2 }'),
        ('{\n\t"c": 2\n}', '{\n\t"a": {\n\t\t"b": 1\n\t},\n\t"c": 2\n}'),
        ('{ // all\n    "c": 2\n}', '{ // all\n    "a": {\n        "b": 1\n    },\n    "c": 2\n}'),
        ('{\r\n  "a": {},\r\n}\r\n', '{\r\n  "a": {\r\n    "b": 1\r\n  },\r\n}\r\n'),
        ('{\n  "a": {\n    "c": 2 // two\n  }\n}', '{\n  "a": {\n    "b": 1,\n    "c": 2 // two\n  }\n}'),
        ('{"a": {"b": 2, "c": 3}}', '{"a": {"b": 1, "c": 3}}'),
    ],
)
def test_what_is_added_is_written_as_the_rest_is(before: str, after: str) -> None:
    assert with_value(before, ("a", "b"), 1) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n  "a": 1,\n  "b": 2 // two\n}', '{\n  "a": 1\n   // two\n}'),
        ('{\n  "a": 1, // one\n  "b": 2,\n}', '{\n  "a": 1, // one\n}'),
        ('{"b": 2, "a": 1}', '{ "a": 1}'),
        ('{"a": 1, "b": 2}', '{"a": 1 }'),
        ('{"b": 2}', "{}"),
        ('{ // all\n"b": 2}', "{ // all\n}"),
        ('{\n  "b": [\n    2\n  ] // two\n  , "a": 1\n}', '{\n   // two\n   "a": 1\n}'),
    ],
)
def test_what_is_taken_out_takes_its_comma_along(before: str, after: str) -> None:
    assert without(before, ("b",)) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1 "b": 2}', "line 1, column 9"),
        ('{\n  "a": NaN\n}', "line 2, column 8"),
        ('{"a": 01}', "column 7"),
        ("{'a': 1}", "column 2"),
        ('{"a": "\t"}', "column 7"),
        ('{"a": "\\q"}', "column 7"),
        ('{"a": 1}}', "column 9"),
        ("[1,,2]", "column 4"),
        ("{,}", "column 2"),
        ('{"a": 1', "too early"),
        ("{ /* }", "column 3"),
        ("[" * 5000, "deep"),
        ("1" * 5000, "column 1"),
        ('{"a": {"b": 1}, "a": {}}', "twice"),
        ('{"a": 5}', "a is not an object"),
        ("[]", "not an object"),
    ],
)
def test_what_is_not_understood_is_refused_and_named(text: str, why: str) -> None:
    with pytest.raises(NotJsonc, match=why):
        with_value(text, ("a", "b"), 1)


def test_many_spaces_and_comments_cost_no_more_than_their_length() -> None:
    """A pattern that tries every way to cut them up would never come back."""
    text = "{" + " " * 20_000 + "/* * */" * 2_000 + '"a": 1}'
    assert value_of(with_value(text, ("b",), 2)) == {"a": 1, "b": 2}
    assert parse(text)
