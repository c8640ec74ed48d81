"""`acp-adapter model`, and the offer of the embedded model where there is none."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_adapter.cli.model import OFFER
from acp_adapter.providers.weights import DEFAULT, KNOWN
from tests.cli.conftest import Run

needs_runtime = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="needs the extra `local`")


def pretend_fetched(home: Path) -> Path:
    """A file of the right size, without its content: what a finished download looks like to all but the runtime."""
    path = KNOWN[DEFAULT].path(home)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        os.truncate(file.fileno(), KNOWN[DEFAULT].size)
    return path


def test_the_list_says_what_is_here(cli: Run, home: Path) -> None:
    assert [line.split()[-1] for line in cli("model", "list").stdout.splitlines()[1:]] == ["no", "no"]
    path = pretend_fetched(home)
    assert str(path) in cli("model", "list").stdout
    found = [json.loads(line) for line in cli("model", "list", "--json").stdout.splitlines()]
    assert [model["here"] for model in found] == [True, False]


def test_a_model_that_is_here_is_not_fetched_again(cli: Run, home: Path) -> None:
    path = pretend_fetched(home)
    before = path.stat().st_mtime_ns
    done = cli("model", "pull")
    assert done.returncode == 0
    assert str(path) in done.stderr
    assert path.stat().st_mtime_ns == before


def test_an_unknown_model_is_a_usage_error_that_names_the_known(program: Run) -> None:
    done = program("model", "pull", "gpt-99")
    assert done.returncode == 2
    assert DEFAULT in done.stderr


if sys.platform != "win32":
    from tests.cli.pty_session import PtySession

    @needs_runtime
    def test_a_first_prompt_without_any_model_offers_the_embedded_one(
        env: dict[str, str], project: Path, home: Path
    ) -> None:
        with PtySession([sys.executable, "-m", "acp_adapter", "chat", "hi"], env, project) as screen:
            assert OFFER in screen.expect("[Y/n]")
            screen.send("n\n")
            screen.expect("No model is set up")
            assert screen.wait() == 1
        assert not (home / "models").exists()

    def test_nothing_is_offered_where_a_model_is_set_up(
        env: dict[str, str], project: Path, script: Callable[..., Path]
    ) -> None:
        script({"text": "Hello."})
        with PtySession([sys.executable, "-m", "acp_adapter", "chat", "hi"], env, project) as screen:
            screen.expect("Hello.")
            assert screen.wait() == 0
        assert "[Y/n]" not in screen.text
