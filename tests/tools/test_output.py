"""Output: whatever comes in whatever pieces, bounded, and honest about what is left out."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.tools.output import Output, clean

chunks = st.lists(st.binary(max_size=40), max_size=30)


def fed(pieces: list[bytes], head: int, tail: int) -> Output:
    output = Output(head, tail)
    for piece in pieces:
        output.feed(piece)
    return output


@given(chunks)
def test_what_fits_comes_back_whole_however_it_was_cut(pieces: list[bytes]) -> None:
    output = fed(pieces, 1000, 1000)
    assert (output.left_out, output.text()) == (0, clean(b"".join(pieces)))


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200), st.integers(1, 50))
def test_what_does_not_fit_loses_whole_lines_and_counts_them(numbers: list[int], size: int) -> None:
    data = "".join(f"{n:07d}\n" for n in numbers).encode()
    output = fed([data[i : i + size] for i in range(0, len(data), size)], 32, 64)
    text = output.text()
    if len(data) <= 96:
        assert text == data.decode()
        return
    head, mark, tail = text.partition("\n[… ")
    count, _, tail = tail.partition(" bytes left out …]\n")
    assert mark
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
    assert len(head) + 1 + len(tail) + int(count.replace(",", "")) == len(data)


@given(chunks, st.integers(1, 100))
def test_the_end_is_never_longer_than_asked(pieces: list[bytes], size: int) -> None:
    assert len(fed(pieces, 50, 50).end(size)) <= size


def test_memory_stays_bounded() -> None:
    output = Output(10, 100)
    for _ in range(10_000):
        output.feed(b"x" * 50)
    assert output.total == 500_000
    assert len(output._tail) <= 250


def test_one_endless_line_is_kept_at_both_ends() -> None:
    text = fed([b"a" * 100, b"b" * 100], 50, 50).text()
    assert text == "a" * 50 + "\n[… 100 bytes left out …]\n" + "b" * 50


def test_a_progress_bar_leaves_its_last_state() -> None:
    assert clean(b"10%\r50%\r100%\r\nnext\n") == "100%\nnext\n"


def test_cleaning_takes_linear_time() -> None:
    began = time.process_time()
    clean(b"x" * 1_000_000)
    clean(b"\x1b[" + b"1" * 1_000_000)
    clean(b"\x1b]" * 500_000)
    assert time.process_time() - began < 2
