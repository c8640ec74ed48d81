"""Text made safe for a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.cli.terminal import one_line, safe


def test_a_commands_colours_go_as_a_whole() -> None:
    assert safe("\x1b[1;31mFAILED\x1b[0m two") == "FAILED two"


def test_a_hidden_title_change_and_a_clipboard_write_go() -> None:
    assert safe("a\x1b]0;evil\x07b\x1b]52;c;aGk=\x1b\\c") == "abc"


def test_text_direction_overrides_go() -> None:
    assert safe("if \u202eesrever\u202c then") == "if esrever then"


def test_progress_written_with_carriage_returns_becomes_lines() -> None:
    assert safe("10 %\r20 %\r\ndone") == "10 %\n20 %\ndone"


@given(st.text())
def test_nothing_that_moves_a_cursor_is_left(text: str) -> None:
    assert all(char in "\n\t" or (char >= " " and not "\x7f" <= char <= "\x9f") for char in safe(text))


@given(st.text(), st.integers(min_value=1, max_value=200))
def test_one_line_is_one_line_and_fits(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert len(line) <= width
