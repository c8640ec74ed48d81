"""Lines from bytes, values from lines."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.acp.framing import LineSplitter, TooLong, decode, encode
from acp_adapter.errors import InvalidRequest, ParseError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def chunked(data: bytes, cuts: list[int]) -> list[bytes]:
    at = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(at)]


def lines(splitter: LineSplitter, *chunks: bytes) -> list[bytes | None]:
    return [None if isinstance(each, TooLong) else each for chunk in chunks for each in splitter.feed(chunk)]


@given(st.lists(st.binary(max_size=12)), st.lists(st.integers(min_value=0), max_size=20))
def test_any_chunking_yields_the_same_lines(parts: list[bytes], cuts: list[int]) -> None:
    data = b"\n".join(parts)
    whole = lines(LineSplitter(limit=8), data)
    assert lines(LineSplitter(limit=8), *chunked(data, cuts)) == whole
    assert whole == [
        None if len(each) > 8 else each for each in data.split(b"\n")[:-1] if each.strip() or len(each) > 8
    ]


def test_blank_lines_are_no_frames_and_line_ends_of_windows_are_fine() -> None:
    assert [decode(each) for each in LineSplitter().feed(b'\n  \r\n{"a":1}\r\n\r\n[2]\n')] == [{"a": 1}, [2]]


def test_a_line_above_the_limit_is_reported_once_and_not_kept() -> None:
    splitter = LineSplitter(limit=1000)
    assert lines(splitter, *[b"x" * 400] * 50) == []
    assert len(splitter._part) <= 1000
    assert lines(splitter, b"x\nhi\n") == [None, b"hi"]
    with pytest.raises(InvalidRequest, match="longer than"):
        decode(TooLong(b"x"))


@pytest.mark.parametrize(
    ("head", "envelope"),
    [
        (b'{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{', {"id": 4, "method": None}),
        (b'{ "jsonrpc" : "2.0", "method" : "m", "id" : "a\\"b" , "params"', {"id": 'a"b', "params": None}),
        (b'\xef\xbb\xbf{"id":-1,"result":{"content":"x', {"id": -1, "result": None}),
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":4,', None),
        (b'{"params":{"id":4,', None),
        (b'{"id":1.5,"method":"m"', None),
        (b'{"id":true,"method":"m"', None),
        (b"xxxx", None),
    ],
)
def test_of_a_line_above_the_limit_the_id_is_known_where_it_stands_in_front(head: bytes, envelope: Any) -> None:
    (found,) = LineSplitter(limit=100).feed(head + b"x" * 200 + b"\n")
    assert isinstance(found, TooLong)
    assert found.envelope() == envelope


@pytest.mark.parametrize(
    ("left", "line"), [(b'{"a":1}', [b'{"a":1}']), (b'{"a":1', []), (b"", []), (b"  \r", []), (b"\xff", [])]
)
def test_a_last_line_without_line_end_counts_if_it_is_whole(left: bytes, line: list[bytes]) -> None:
    splitter = LineSplitter()
    assert lines(splitter, b"[0]\n" + left) == [b"[0]"]
    assert list(splitter.finish()) == line
    assert list(splitter.finish()) == []


def test_a_byte_order_mark_is_tolerated() -> None:
    assert decode(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"nope", "not JSON"),
        (b'{"a":1', "not JSON"),
        (b'{"a":1} {"b":2}', "not JSON"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":-Infinity}', "-Infinity"),
        (b'{"a":"\xff"}', "not UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON that can be read"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_not_json_says_why(bad: bytes, why: str) -> None:
    with pytest.raises(ParseError, match=why):
        decode(bad)


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"a\uDC00b"', "a\ufffdb"),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'{"\ud800": ["\ude00\ud83d"]}', {"\ufffd": ["\ufffd\ufffd"]}),
        (rb'"\\ud800"', "\\ud800"),
    ],
)
def test_lone_surrogates_are_replaced_and_pairs_are_not(escaped: bytes, text: Any) -> None:
    assert decode(escaped) == text


@given(JSON)
def test_what_is_encoded_is_one_line_and_decodes_to_the_same(value: Any) -> None:
    data = encode(value)
    assert data.endswith(b"\n")
    assert len(data.decode("utf-8").splitlines()) == 1
    assert decode(data[:-1]) == value


@given(st.text(alphabet=st.characters()))
def test_no_text_breaks_a_frame(text: str) -> None:
    """Surrogates and all that some reader takes for a line end included."""
    data = encode({"text": text})
    assert len(data.decode("utf-8").splitlines()) == 1
    assert json.loads(data)["text"] == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_numbers_that_json_lacks_become_null() -> None:
    assert encode({"a": [float("nan"), float("-inf"), 1.5]}) == b'{"a":[null,null,1.5]}\n'


def test_what_is_no_json_value_is_refused() -> None:
    with pytest.raises(TypeError):
        encode({"a": object()})
