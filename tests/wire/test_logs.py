"""Logging never makes the agent wait and never fails."""

from __future__ import annotations

import logging
import os
import select
import stat
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter import logs
from acp_adapter.logs import DescriptorHandler, configure, configure_from


@pytest.fixture(autouse=True)
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    for handler in logger.handlers:
        if handler not in handlers:
            handler.close()
    logger.handlers[:], logger.level = handlers, level
    logging.captureWarnings(False)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    os.close(ends[0])


def record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("n", logging.ERROR, "file.py", 7, message, arguments, None)


def drain(fd: int, until: bytes) -> bytes:
    found = b""
    while until not in found:
        assert select.select([fd], [], [], 5)[0], "nothing more was written"
        found += os.read(fd, 1 << 16)
    return found


def test_a_megabyte_nobody_reads_is_dropped_and_the_next_line_says_how_much(pipe: tuple[int, int]) -> None:
    handler = DescriptorHandler(pipe[1])
    for _ in range(5000):
        handler.emit(record("x" * 1000))
    read = drain(pipe[0], b"dropped")
    while handler._lines.unfinished_tasks:
        read += os.read(pipe[0], 1 << 16) if select.select([pipe[0]], [], [], 0.1)[0] else b""
    handler.emit(record("the last"))
    read += drain(pipe[0], b"the last")
    assert b"more messages were dropped" in read
    written = read.count(b"x" * 1000)
    said = sum(int(each.split()[0]) for each in read.decode().split("(")[1:])
    assert written + said == 5000


def test_a_record_that_cannot_be_shown_is_named_and_not_raised(pipe: tuple[int, int]) -> None:
    handler = DescriptorHandler(pipe[1])
    handler.emit(record("%d", "no number"))
    assert b"file.py:7" in drain(pipe[0], b"\n")


def test_a_closed_stderr_does_no_harm() -> None:
    source, sink = os.pipe()
    os.close(source)
    handler = DescriptorHandler(sink)
    for _ in range(logs._WAITING * 2):
        handler.emit(record("x"))
    os.close(sink)


def test_an_unknown_level_counts_as_warning(root: logging.Logger) -> None:
    configure("loud")
    assert root.level == logging.WARNING
    configure("debug")
    assert root.level == logging.DEBUG


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_log_file_is_private(tmp_path: Path) -> None:
    configure_from({"ACP_ADAPTER_LOG_FILE": str(tmp_path / "log"), "ACP_ADAPTER_LOG_LEVEL": "INFO"})
    logging.getLogger("n").info("hällo")
    assert "hällo" in (tmp_path / "log").read_text("utf-8")
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_a_log_file_that_cannot_be_written_is_said_and_replaced(tmp_path: Path, root: logging.Logger) -> None:
    configure(file=tmp_path / "missing" / "log")
    (handler,) = root.handlers
    assert isinstance(handler, DescriptorHandler)


def test_python_warnings_are_logged(tmp_path: Path) -> None:
    configure(file=tmp_path / "log")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        logging.captureWarnings(True)
        warnings.warn("watch out", stacklevel=1)
        logging.captureWarnings(False)
    assert "watch out" in (tmp_path / "log").read_text("utf-8")
