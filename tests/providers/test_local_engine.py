"""The child process that runs the model: how it starts, fails, shares, ends. With the real runtime; the heavy ones with
the real model of the home folder."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import psutil
import pytest

from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, AuthRequired, BrokenStream, ProviderError
from acp_adapter.providers import weights
from acp_adapter.providers.local import engine
from acp_adapter.providers.local.child import Child
from acp_adapter.providers.local.provider import LocalProvider
from acp_adapter.providers.local.server import Order
from acp_adapter.providers.port import Completed, ModelRequest, TextDelta, ToolSpec
from acp_adapter.tools.toolbox import builtin_tools
from acp_adapter.transcript import Message
from tests.providers.talk import asked, called

WAIT = 60.0
SPECS = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in builtin_tools().values()]

needs_runtime = pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed")


def request(*messages: Message) -> ModelRequest:
    return ModelRequest("You help.", messages, SPECS)


async def answer(provider: LocalProvider, wanted: ModelRequest) -> tuple[str, Completed]:
    """The streamed text, and the end."""
    text = ""
    async with asyncio.timeout(WAIT), aclosing(provider.stream(wanted)) as events:
        async for event in events:
            if isinstance(event, Completed):
                return text, event
            text += event.text if isinstance(event, TextDelta) else ""
    raise AssertionError("no Completed")


def test_without_weights_the_user_is_told_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(AuthRequired, match=r"model pull|acp-adapter\[local\]"):
        LocalProvider.of("", tmp_path)


@needs_runtime
async def test_a_file_that_is_no_model_is_an_error_that_names_the_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but no model" * 100)
    provider = LocalProvider.of(str(broken), tmp_path)
    try:
        with pytest.raises(ProviderError, match=r"can't be loaded.*embedded-model\.log"):
            await answer(provider, request(asked("hello")))
    finally:
        await provider.aclose()
    assert not _children("acp_adapter.providers.local.server")


def test_a_child_ends_when_its_pipe_closes(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "acp_adapter.providers.local.server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin and child.stdout
    child.stdin.close()
    assert child.wait(WAIT) == 0
    child.stdout.close()


@pytest.mark.skipif("sys.platform == 'win32'", reason="a pipe in the place of the model is POSIX")
def test_a_child_gets_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    os.mkfifo(tmp_path / "never.gguf")  # it waits for its model, so it lives as long as it is looked at
    child = Child(_order(tmp_path / "never.gguf", tmp_path), tmp_path)
    try:
        environ = psutil.Process(child.pid).environ()
        assert "OPENAI_API_KEY" not in environ and "PATH" in environ
    finally:
        child.end()
    assert not child.running()


def _order(model: Path, folder: Path) -> Order:
    return {
        "model": str(model),
        "context": 512,
        "idle": 60,
        "threads": 1,
        "api_key": "k",
        "cache": str(folder),
        "log": "",
    }


def _children(word: str) -> list[psutil.Process]:
    mine = psutil.Process().children(recursive=True)
    return [child for child in mine if child.is_running() and word in " ".join(child.cmdline())]


@pytest.fixture
async def provider() -> AsyncIterator[LocalProvider]:
    try:
        found = LocalProvider.of("", Config.load().home)
    except AcpAdapterError as missing:
        pytest.skip(missing.message)
    yield found
    await found.aclose()
    assert not _children("acp_adapter.providers.local.server")


@pytest.mark.heavy
async def test_a_file_is_read_and_the_answer_is_in_it(provider: LocalProvider) -> None:
    wanted = asked("Read pyproject.toml and tell me the project's name")
    text, first = await answer(provider, request(wanted))
    [call] = first.message.calls()
    assert (text, call.name, json.loads(call.arguments)) == ("", "read_file", {"path": "pyproject.toml"})
    content = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    text, second = await answer(provider, request(wanted, *called("read_file", {"path": "pyproject.toml"}, content)))
    assert "acp-adapter" in text
    assert second.message.text() == text and second.finish_reason == "stop"


@pytest.mark.heavy
async def test_plain_talk_is_answered_plainly(provider: LocalProvider) -> None:
    text, completed = await answer(provider, request(asked("hello")))
    assert text and completed.message.text() == text and not completed.message.tool_calls
    text, _ = await answer(provider, ModelRequest("Answer with one word.", [asked("What is the capital of France?")]))
    assert "Paris" in text


@pytest.mark.heavy
async def test_the_beginning_is_computed_once_and_not_at_each_start(provider: LocalProvider) -> None:
    await provider.warm()
    await provider.aclose()
    _, completed = await answer(provider, request(asked("hello there")))
    assert completed.usage and completed.usage.cache_read_tokens > 400


@pytest.mark.heavy
async def test_an_idle_model_gives_its_memory_back_and_wakes_with_its_beginning(
    provider: LocalProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "IDLE", 2)
    await provider.warm()
    [child] = _children("acp_adapter.providers.local.server")
    loaded = child.memory_info().rss
    async with asyncio.timeout(WAIT):
        while child.memory_info().rss > loaded / 2:
            await asyncio.sleep(0.1)
    _, completed = await answer(provider, request(asked("hello there")))
    assert completed.usage and completed.usage.cache_read_tokens > 400


@pytest.mark.heavy
async def test_providers_of_the_same_model_share_one_child(provider: LocalProvider) -> None:
    other = LocalProvider.of("", provider.home)
    await asyncio.gather(provider.warm(), other.warm())
    assert len(_children("acp_adapter.providers.local.server")) == 1
    await other.aclose()
    assert (await answer(provider, request(asked("hello"))))[0]


@pytest.mark.heavy
async def test_a_cancelled_request_frees_the_model_at_once(provider: LocalProvider) -> None:
    await provider.warm()
    long = request(asked("Explain this:\n" + "words and numbers 1 2 3 4 5\n" * 250))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1), aclosing(provider.stream(long)) as events:
            await anext(events)
    begun = asyncio.get_running_loop().time()
    assert (await answer(provider, request(asked("hello"))))[0]
    assert asyncio.get_running_loop().time() - begun < 20


@pytest.mark.heavy
async def test_a_child_that_is_killed_is_an_error_and_the_next_request_works(provider: LocalProvider) -> None:
    await provider.warm()
    [child] = _children("acp_adapter.providers.local.server")
    with pytest.raises(BrokenStream, match="stopped in the middle"):
        async with asyncio.timeout(WAIT), aclosing(provider.stream(request(asked("What is a river?")))) as events:
            assert isinstance(await anext(events), TextDelta)
            child.kill()
            async for _ in events:
                pass
    assert (await answer(provider, request(asked("hello"))))[0]


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_the_child_dies_with_its_parent_however_that_dies() -> None:
    home = Config.load().home
    if not any(model.here for model in weights.installed(home)):
        pytest.skip("no weights")
    program = (
        "import asyncio, pathlib, sys\n"
        "from acp_adapter.providers.local.provider import LocalProvider\n"
        "async def main():\n"
        "    provider = LocalProvider.of('', pathlib.Path(sys.argv[1]))\n"
        "    await provider.warm()\n"
        "    print(provider.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(home)], stdout=subprocess.PIPE)
    assert parent.stdout
    child = psutil.Process(int(parent.stdout.readline()))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait(WAIT)
    parent.stdout.close()
    child.wait(WAIT)
