"""Times and sizes as people write them."""

from __future__ import annotations

import time

import pytest

from acp_adapter.cli.quantities import bytes_of, moment_of, seconds_of
from acp_adapter.errors import InvalidParams
from acp_adapter.sizes import size


@pytest.mark.parametrize(("text", "seconds"), [("90min", 5400), ("12h", 43200), ("7d", 604800), ("4w", 2419200)])
def test_spans_are_seconds(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


def test_a_moment_is_a_date_or_a_span_before_now() -> None:
    assert abs(moment_of("2d") - (time.time() - 2 * 86400)) < 5
    assert moment_of("2026-02-01") - moment_of("2026-01-31") == pytest.approx(86400, abs=3600)


@pytest.mark.parametrize(
    ("text", "count"), [("500M", 500_000_000), ("1.5g", 1_500_000_000), ("10 KB", 10_000), ("7", 7)]
)
def test_sizes_are_bytes(text: str, count: int) -> None:
    assert bytes_of(text) == count


@pytest.mark.parametrize("read", [seconds_of, moment_of, bytes_of])
@pytest.mark.parametrize("text", ["yesterday", "", "-1d", "1d2", "M"])
def test_anything_else_is_refused_with_an_example(read: object, text: str) -> None:
    with pytest.raises(InvalidParams, match="such as"):
        read(text)  # type: ignore[operator]


def test_sizes_are_shown_in_one_unit() -> None:
    assert [size(n) for n in (999, 1_000, 2_500_000, 3_200_000_000)] == ["999 bytes", "1.0 KB", "2.5 MB", "3.2 GB"]
