"""Reading refusals: the forms of error bodies, waits, and what must not be shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_adapter.errors import ContextTooLong, ProviderRejected
from acp_adapter.providers.faults import Refusal, fault, masked, refusal, retry_after


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "no", "code": "x"}}, "no"),
        ({"error": "no"}, "no"),
        ({"message": "no"}, "no"),
        ({"detail": "no"}, "no"),
        ({"detail": [{"loc": ["body", "stream_options"], "msg": "extra"}, "more"]}, "body.stream_options: extra; more"),
        ([{"error": {"message": "no"}}], "no"),
        ({"error": {"message": "no", "metadata": {"raw": "upstream died"}}}, "no (upstream died)"),
        ([], ""),
        ("no", "no"),
        ({}, ""),
    ],
)
def test_an_error_body_is_read_in_any_form(body: Any, message: str) -> None:
    assert refusal(400, json.dumps(body).encode()).message == message


def test_a_page_instead_of_json_is_cut_to_its_words() -> None:
    page = b"<html><head><script>var x = 1</script></head><body><h1>Bad</h1>\n<p>Gateway \xff</p></body></html>"
    assert refusal(502, page) == Refusal(502, "Bad Gateway \ufffd")


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 8192),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000, decrease input", 200_000),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("the request exceeds the available context size. try increasing it", None),
        ("Input is too long for requested model.", None),
    ],
)
def test_the_servers_words_for_too_long_are_known(message: str, limit: int | None) -> None:
    error = fault("x", Refusal(400, message))
    assert type(error) is ContextTooLong
    assert error.limit == limit


@pytest.mark.parametrize("message", ["max_tokens is too large: this model gives at most 4096", "name is too long"])
def test_other_things_that_are_too_long_are_not_the_context(message: str) -> None:
    assert type(fault("x", Refusal(400, message))) is ProviderRejected


def test_a_wait_until_a_date_counts_from_now() -> None:
    headers = {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}
    assert retry_after(headers, now=1445412480 - 30) == 30
    assert retry_after(headers, now=1445412480 + 30) == 0


@pytest.mark.parametrize("said", ["soon", "", "nan", "inf", "1e999", "٣x", "Wed, 99 Foo"])
def test_a_wait_that_is_none_is_left_out(said: str) -> None:
    assert retry_after({"retry-after": said}) is None


def test_secrets_are_masked_and_what_looks_like_one_too() -> None:
    text = "blue key hunter2 and sk-proj-abcdefghijklmno"
    assert masked(text, ["hunter2", "", "blue"]) == "blue key *** and sk-***"
