"""The real process: how it starts, what reaches stdout, and that it always ends."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.wire.wire import INITIALIZE, line, notification, outcome, request

ROOT = Path(__file__).parents[2]
END = 3.0
"""Seconds in which the process has to be gone."""

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")


class Agent:
    def __init__(self, *, stderr: Any = subprocess.PIPE, stdin: Any = subprocess.PIPE, **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.wire.echo_agent"],
            cwd=ROOT,
            env={**os.environ, **environ},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
        )
        self._read = bytearray()

    def send(self, *messages: Any) -> None:
        assert self.process.stdin
        rest = memoryview(b"".join(each if isinstance(each, bytes) else line(each) for each in messages))
        while rest:
            rest = rest[self.process.stdin.write(rest) :]

    def frame(self, timeout: float = 20) -> Any:
        """The next frame."""
        assert self.process.stdout
        while b"\n" not in self._read:
            ready, _, _ = select.select([self.process.stdout], [], [], timeout)
            assert ready, "no frame came"
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            assert data, "the process closed its stdout"
            self._read += data
        frame, _, rest = bytes(self._read).partition(b"\n")
        self._read = bytearray(rest)
        return json.loads(frame)

    def do(self, name: str, params: Any = None) -> Any:
        """The result of one of the Echo's methods."""
        self.send(request(name, f"_do/{name}", params))
        msg_id, result = outcome(self.frame())
        assert msg_id == name
        return result

    def start(self) -> Agent:
        self.send(INITIALIZE)
        assert self.frame()["id"] == "init"
        return self

    def ended(self) -> tuple[int, float]:
        """The exit code, and the seconds that the end took from now."""
        since = time.monotonic()
        return self.process.wait(10), time.monotonic() - since

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


Start = Callable[..., Agent]


@pytest.fixture
def agent() -> Iterator[Start]:
    started: list[Agent] = []

    def start(**options: Any) -> Agent:
        started.append(Agent(**options))
        return started[-1]

    yield start
    for each in started:
        each.close()


# -- the start


def test_initialize_is_answered_before_the_wire_libraries_are_loaded(agent: Start) -> None:
    """Seen from outside: an agent that can't import them at all answers it."""
    code = "import sys; sys.modules['pygls'] = sys.modules['attrs'] = sys.modules['asyncio'] = None\n"
    code += "from acp_adapter.acp import stdio; stdio.run(lambda: None)"
    run = subprocess.run([sys.executable, "-c", code], input=line(INITIALIZE), capture_output=True, timeout=20)
    assert outcome(json.loads(run.stdout))[0] == "init"
    assert b"ImportError" in run.stderr or b"ModuleNotFoundError" in run.stderr


def test_what_comes_in_one_write_with_initialize_is_served(agent: Start) -> None:
    here = agent()
    here.send(line(INITIALIZE) + line(request(1, "_do/echo", {"a": 1})) + line(request(2, "_do/who")))
    assert [outcome(here.frame())[0] for _ in range(2)] == ["init", 1]
    assert here.frame()["result"] == INITIALIZE["params"]


def test_a_frame_in_single_bytes_and_two_frames_in_one_write_are_served(agent: Start) -> None:
    here = agent()
    for byte in line(INITIALIZE) + line(request(1, "_do/echo", {})):
        here.send(bytes([byte]))
    here.send(line(request(2, "_do/echo", {})) + line(request(3, "_do/echo", {})))
    assert [outcome(here.frame())[0] for _ in range(4)] == ["init", 1, 2, 3]


@pytest.mark.parametrize(
    ("first", "answer"),
    [
        (b"nope\n", (None, -32700)),
        (b"\xff\n", (None, -32700)),
        (line(request(1, "initialize", {})), (1, -32602)),
        (line({**INITIALIZE, "id": 1.5}), (None, -32600)),
    ],
)
def test_another_first_line_gets_its_answer_and_initialize_still_works(agent: Start, first: bytes, answer: Any) -> None:
    here = agent()
    here.send(first)
    assert outcome(here.frame()) == answer
    here.start()
    assert here.do("echo", {"x": 1}) == {"x": 1}


def test_without_a_single_byte_the_process_ends_at_once(agent: Start) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.wire.echo_agent"], cwd=ROOT, input=b"", capture_output=True, timeout=10
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")


@posix
def test_a_closed_stdout_is_said_in_a_sentence() -> None:
    run = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m tests.wire.echo_agent >&-"],
        cwd=ROOT,
        input=line(INITIALIZE),
        capture_output=True,
        timeout=10,
    )
    assert run.returncode == 2
    assert b"one of them is closed" in run.stderr
    assert b"Traceback" not in run.stderr


@pytest.mark.parametrize("last", [b"", b"\n"])
def test_a_script_that_is_piped_in_gets_its_answers(last: bytes) -> None:
    script = line(INITIALIZE) + line(request(1, "_do/echo", {"a": 1})) + line(request(2, "_do/echo")).strip() + last
    run = subprocess.run(
        [sys.executable, "-m", "tests.wire.echo_agent"], cwd=ROOT, input=script, capture_output=True, timeout=10
    )
    answers = [outcome(json.loads(each)) for each in run.stdout.splitlines()]
    assert [msg_id for msg_id, _ in answers] == ["init", 1, 2]
    assert (run.returncode, run.stderr) == (0, b"")


# -- what reaches stdout


def test_print_and_children_land_on_stderr_and_frames_stay_whole(agent: Start) -> None:
    here = agent(PYTHONDEVMODE="1", PYTHONWARNINGS="default", ACP_ADAPTER_LOG_LEVEL="DEBUG").start()
    here.do("noise")
    out, err = here.process.communicate(timeout=10)
    assert out == b""
    for source in (b"print", b"sys.stdout", b"fd 1", b"a child", b"warnings"):
        assert b"from " + source in err


def test_children_and_the_process_itself_find_nothing_on_stdin(agent: Start) -> None:
    assert agent().start().do("read_stdin") == {"child": "", "fd": 0, "sys": ""}


@linux
def test_children_do_not_inherit_the_claimed_descriptors(agent: Start) -> None:
    inherited = agent().start().do("descriptors")
    assert "['/dev/null', " in inherited
    assert "['0', '1', '2', '3']" in inherited  # 3 is the listing itself


@posix
def test_a_megabyte_of_log_on_an_unread_stderr_does_not_block(agent: Start) -> None:
    here = agent().start()
    for n in range(3):
        here.do("log")
        assert here.do("echo", {"n": n}) == {"n": n}
    assert here.process.stdin
    here.process.stdin.close()
    code, took = here.ended()
    assert (code, took < END) == (0, True)


# -- size


def test_large_frames_work_and_one_above_the_limit_is_an_error(agent: Start) -> None:
    here = agent().start()
    for size in (100_000, 5_000_000):
        assert len(here.do("echo", {"text": "x" * size})["text"]) == size
    here.send(line(request("big", "_do/echo", {"text": "x" * (64 * 1024 * 1024)})))
    assert outcome(here.frame()) == ("big", -32600)
    assert here.do("echo", {"text": "hi"}) == {"text": "hi"}


@linux
def test_a_reader_that_sleeps_costs_no_memory_for_each_chunk_and_cancel_still_gets_in(agent: Start) -> None:
    here = agent().start()

    def memory() -> int:
        pages = Path(f"/proc/{here.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    before = memory()
    here.send(request(1, "_do/flood", {"chunks": 20_000, "size": 1}), request(2, "_do/hang"))
    here.send(notification("$/cancel_request", {"requestId": 2}), request(3, "_do/echo", {}))
    answers: dict[Any, Any] = {}
    text = 0
    time.sleep(0.5)  # the reader that sleeps
    grown = memory() - before
    while len(answers) < 3:
        frame = here.frame()
        if "id" in frame:
            msg_id, answers[msg_id] = outcome(frame)
        else:
            text += len(frame["params"]["update"]["content"]["text"])
    assert (answers, text) == ({1: None, 2: -32800, 3: {}}, 20_000)
    assert grown < 8 * 1024 * 1024


# -- the end


@pytest.mark.parametrize(
    ("doing", "end"),
    [
        *itertools.product(["nothing", "hang", "block", "flood"], ["stdin", "stdout", "SIGTERM"]),
        ("nothing", "SIGINT"),
        ("being stubborn", "stdin"),
    ],
)
@posix
def test_whatever_it_does_it_ends_in_time_with_code_zero(agent: Start, tmp_path: Path, doing: str, end: str) -> None:
    mark = tmp_path / "mark"
    stubborn = {"ECHO_STUBBORN": "1"} if doing == "being stubborn" else {}
    here = agent(ECHO_MARK=str(mark), **stubborn).start()
    here.do("echo", {})
    if doing in ("hang", "block", "flood"):
        here.send(request(1, f"_do/{doing}", {"chunks": 3000, "size": 1000}))
    assert here.process.stdin
    assert here.process.stdout
    if end == "stdin":
        here.process.stdin.close()
    elif end == "stdout":
        here.process.stdout.close()
    else:
        here.process.send_signal(getattr(signal, end))
    code, took = here.ended()
    assert (code, took < END) == (0, True), took
    assert mark.read_text() == "shut down"
    assert here.process.stderr
    assert b"Traceback" not in here.process.stderr.read()


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_is_still_loading_ends_it_as_quietly(agent: Start, number: signal.Signals) -> None:
    here = agent().start()
    here.process.send_signal(number)
    code, took = here.ended()
    assert (code, took < END) == (0, True)
    assert here.process.stderr
    assert here.process.stderr.read() == b""
