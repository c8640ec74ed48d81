"""Which model is used, in which order, and what is said when there is none."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.config import Config
from acp_adapter.errors import AuthRequired, InvalidParams, ProviderUnreachable
from acp_adapter.providers import discovery
from acp_adapter.providers.catalogue.families import context_window
from acp_adapter.providers.chat.provider import ChatProvider
from acp_adapter.providers.choose import ModelChoice, available, choose, provider_from, restored
from acp_adapter.providers.gemini.provider import GeminiProvider
from acp_adapter.providers.http import HostedProvider
from acp_adapter.providers.services import LOOPBACK_SERVERS, SERVICES
from acp_adapter.providers.weights import DEFAULT, KNOWN
from tests.providers.calls import answer
from tests.stub_model import StubModel, T

Configured = Callable[..., Config]


@pytest.fixture(autouse=True)
def nothing_runs_here(monkeypatch: pytest.MonkeyPatch, dead_url: str) -> None:
    """Whatever runs on this machine's usual ports is no matter of these tests."""
    for name in LOOPBACK_SERVERS:
        monkeypatch.setitem(LOOPBACK_SERVERS, name, dead_url)


@pytest.fixture
def dead_url() -> Iterator[str]:
    """Nobody listens there, and nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    def make(toml: str = "", **environ: str) -> Config:
        (tmp_path / "config.toml").write_text(toml, "utf-8")
        return Config.load({"ACP_ADAPTER_HOME": str(tmp_path), **environ})

    return make


def about(provider: Any) -> tuple[str, str, str]:
    return provider.name, provider.model, provider.base_url


def key_of(provider: Any) -> str | None:
    assert isinstance(provider, HostedProvider)
    return provider.api_key


async def test_without_anything_the_ways_to_a_model_are_told(configured: Configured) -> None:
    with pytest.raises(AuthRequired) as caught:
        await choose(configured())
    for way in ("acp-adapter setup", "acp-adapter model pull", "OPENAI_API_KEY"):
        assert way in caught.value.message


async def test_what_the_user_chose_goes_before_everything(configured: Configured) -> None:
    config = configured('model = "mistral:from-file"', OPENAI_API_KEY="k", MISTRAL_API_KEY="m")
    assert about(await choose(config)) == ("mistral", "from-file", "https://api.mistral.ai/v1")
    config = configured('model = "mistral:from-file"', ACP_ADAPTER_MODEL="openai:x", OPENAI_API_KEY="k")
    assert about(await choose(config)) == ("openai", "x", "https://api.openai.com/v1")
    assert (await choose(config, "openai:y")).model == "y"


async def test_a_script_is_chosen_by_its_path(configured: Configured, tmp_path: Path) -> None:
    (tmp_path / "demo.json").write_text('[{"text": "hi"}]', "utf-8")
    provider = await choose(configured(ACP_ADAPTER_MODEL=f"scripted:{tmp_path / 'demo.json'}"))
    assert (await answer(provider)).message.content == "hi"


@pytest.mark.parametrize("name", SERVICES)
async def test_a_key_in_the_environment_chooses_its_service(configured: Configured, name: str) -> None:
    service = SERVICES[name]
    provider = await choose(configured(**{service.keys[0]: "k"}))
    assert about(provider) == (name, service.model, service.base_url)
    assert key_of(provider) == "k"


async def test_a_service_without_its_key_says_which_variable_it_wants(configured: Configured) -> None:
    with pytest.raises(AuthRequired, match="OPENROUTER_API_KEY"):
        await choose(configured(OPENAI_API_KEY="k"), "openrouter:x")


@pytest.mark.parametrize("wanted", ["gpt-5", "nobody:x", "openai-codex:y"])
async def test_an_unknown_provider_is_refused_with_those_that_are_known(configured: Configured, wanted: str) -> None:
    with pytest.raises(InvalidParams, match="openrouter"):
        await choose(configured(OPENAI_API_KEY="k"), wanted)


async def test_openai_base_url_and_key_are_honoured(configured: Configured, stub: StubModel) -> None:
    stub.add(T("hi"))
    provider = await choose(configured(OPENAI_BASE_URL=stub.base_url, OPENAI_API_KEY="k"))
    assert about(provider) == ("openai", "stub-1", stub.base_url)
    assert (await answer(provider)).message.content == "hi"
    assert stub.requests[0].headers["authorization"] == "Bearer k"
    await provider.aclose()


async def test_a_base_url_that_does_not_answer_is_told_and_not_passed_over(
    configured: Configured, dead_url: str
) -> None:
    with pytest.raises(ProviderUnreachable, match=dead_url):
        await choose(configured(OPENAI_BASE_URL=dead_url))


async def test_a_server_on_this_machine_is_found_with_its_first_model(
    configured: Configured, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOOPBACK_SERVERS, "lmstudio", stub.base_url)
    stub.listed = ["nomic-embed-text", "qwen3:8b", "other"]
    provider = await choose(configured())
    assert about(provider) == ("lmstudio", "qwen3:8b", stub.base_url)
    assert about(await choose(configured(), "lmstudio:other")) == ("lmstudio", "other", stub.base_url)
    assert about(await choose(configured(), "lmstudio")) == ("lmstudio", "qwen3:8b", stub.base_url)


async def test_a_server_on_this_machine_is_left_alone_where_the_user_says_so(
    configured: Configured, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOOPBACK_SERVERS, "ollama", stub.base_url)
    for config in (configured("discover = false"), configured(ACP_ADAPTER_DISCOVER="off")):
        with pytest.raises(AuthRequired):
            await choose(config)
        assert await available(config) == []
    assert stub.connections == 0


async def test_a_key_goes_before_a_server_on_this_machine(
    configured: Configured, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOOPBACK_SERVERS, "ollama", stub.base_url)
    assert (await choose(configured(GROQ_API_KEY="k"))).name == "groq"


async def test_something_else_on_a_usual_port_is_passed_over_in_bounded_time(
    configured: Configured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PROBE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setitem(LOOPBACK_SERVERS, "llamacpp", f"http://127.0.0.1:{mute.getsockname()[1]}/v1")
        with pytest.raises(AuthRequired):
            await choose(configured())


@pytest.fixture
def with_weights(tmp_path: Path) -> None:
    """A file of the right size in the right place; nothing reads it before the first prompt."""
    if find_spec("xllamacpp") is None:
        pytest.skip("needs the extra `local`")
    path = KNOWN[DEFAULT].path(tmp_path)
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(KNOWN[DEFAULT].size)


@pytest.mark.usefixtures("with_weights")
async def test_the_embedded_model_is_used_where_nothing_else_is(configured: Configured) -> None:
    assert about(await choose(configured())) == ("local", DEFAULT, "")
    assert about(await choose(configured(ACP_ADAPTER_MODEL="local"))) == ("local", DEFAULT, "")
    assert (await choose(configured(GROQ_API_KEY="k"))).name == "groq"
    assert await available(configured()) == [ModelChoice("local", DEFAULT, f"{DEFAULT} (local)")]
    assert (await restored(configured(GROQ_API_KEY="k"), "local", DEFAULT, ""))[0].name == "local"


async def test_the_embedded_model_is_not_promised_before_it_is_here(configured: Configured) -> None:
    with pytest.raises(AuthRequired, match=r"model pull|acp-adapter\[local\]"):
        await choose(configured(), "local")
    assert await available(configured()) == []


TABLE = """
[providers.house]
base_url = "{url}"
api_key_env = "HOUSE_KEY"
context_window = 32768
headers = {{ x-team = "blue" }}
"""


async def test_a_provider_of_ones_own_is_a_table_in_config_toml(configured: Configured, stub: StubModel) -> None:
    stub.add(T("hi"))
    config = configured(TABLE.format(url=stub.base_url), HOUSE_KEY="h", ANTHROPIC_API_KEY="a")
    provider = await choose(config)
    assert about(provider) == ("house", "stub-1", stub.base_url)
    assert provider.card.context_window == 32768
    await answer(provider)
    assert stub.requests[0].headers["authorization"] == "Bearer h"
    assert stub.requests[0].headers["x-team"] == "blue"
    await provider.aclose()


async def test_a_table_changes_a_known_service(configured: Configured) -> None:
    config = configured('[providers.openai]\napi_key = "t"\nmodel = "gpt-9"\n', OPENAI_API_KEY="k")
    provider = await choose(config)
    assert about(provider) == ("openai", "gpt-9", "https://api.openai.com/v1")
    assert key_of(provider) == "t"


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("[providers.house]\nmodel = 'x'", "needs a base_url"),
        ("[providers.house]\nbase_url = 7", r"base_url of \[providers.house\] must be of type str"),
        ("[providers.house]\nbase_url = 'house'", "not a base URL"),
    ],
)
async def test_a_broken_table_is_told_when_it_is_asked_for(configured: Configured, toml: str, told: str) -> None:
    with pytest.raises(InvalidParams, match=told):
        await choose(configured(toml), "house:x")


async def test_a_broken_table_does_not_stop_the_automatic_choice(configured: Configured) -> None:
    assert (await choose(configured("[providers.house]\nmodel = 'x'", GROQ_API_KEY="k"))).name == "groq"


def test_no_key_is_shown_by_anything_that_holds_one(configured: Configured) -> None:
    config = configured('[providers.openai]\napi_key = "hunter2"\n', GROQ_API_KEY="hunter3")
    for wanted in ("openai", "groq"):
        assert "hunter" not in repr(provider_from(wanted, "x", None, config))
    assert "hunter" not in repr(config)


async def test_a_stored_session_gets_its_provider_back_at_its_address(configured: Configured, stub: StubModel) -> None:
    config = configured(OPENROUTER_API_KEY="k")
    provider, notice = await restored(config, "openrouter", "qwen/qwen3", "https://openrouter.ai/api/v1/")
    assert about(provider) == ("openrouter", "qwen/qwen3", "https://openrouter.ai/api/v1")
    assert (key_of(provider), notice) == ("k", None)
    provider, notice = await restored(config, "custom", "m", stub.base_url)
    assert about(provider) == ("custom", "m", stub.base_url)
    assert (key_of(provider), notice) == (None, None)


async def test_a_key_is_not_sent_to_an_address_that_only_a_stored_session_names(configured: Configured) -> None:
    config = configured(OPENROUTER_API_KEY="k")
    provider, notice = await restored(config, "openrouter", "m", "https://elsewhere.example/v1")
    assert about(provider) == ("openrouter", "openrouter/auto", "https://openrouter.ai/api/v1")
    assert notice is not None
    assert "https://elsewhere.example/v1 is not set up" in notice
    with pytest.raises(InvalidParams):
        provider_from("openrouter", "m", "https://elsewhere.example/v1", config)
    local = provider_from("openrouter", "m", "http://127.0.0.1:9/v1", config)
    assert key_of(local) is None


async def test_a_session_of_a_provider_without_its_key_goes_on_with_the_usual_model(configured: Configured) -> None:
    provider, notice = await restored(configured(GROQ_API_KEY="k"), "anthropic", "claude-x", None)
    assert provider.name == "groq"
    assert notice is not None
    assert "anthropic:claude-x" in notice
    assert "ANTHROPIC_API_KEY" in notice
    assert f"groq:{provider.model}" in notice


GEMINI = "https://generativelanguage.googleapis.com/v1beta"


async def test_gemini_speaks_its_own_api_also_in_sessions_of_its_old_address(configured: Configured) -> None:
    config = configured(GEMINI_API_KEY="k")
    for base_url in (None, f"{GEMINI}/openai", GEMINI):
        provider = provider_from("gemini", "gemini-3-pro", base_url, config)
        assert type(provider) is GeminiProvider
        assert about(provider) == ("gemini", "gemini-3-pro", GEMINI)


async def test_an_address_that_a_user_gave_is_asked_as_before(configured: Configured) -> None:
    old = configured(f'[providers.gemini]\nbase_url = "{GEMINI}/openai"\n', GEMINI_API_KEY="k")
    provider = provider_from("gemini", "gemini-3-pro", None, old)
    assert type(provider) is ChatProvider
    assert "extra_content" in provider.dialect.echoes, "thought signatures go on"
    proxy = configured('[providers.gemini]\nbase_url = "https://proxy.example/v1"\n', GEMINI_API_KEY="k")
    assert type(provider_from("gemini", "gemini-3-pro", None, proxy)) is ChatProvider
    native = '[providers.house]\nbase_url = "https://proxy.example/v1beta"\napi = "gemini"\n'
    assert type(provider_from("house", "gemini-3-pro", None, configured(native))) is GeminiProvider


async def test_what_is_offered_is_what_answers(
    configured: Configured, stub: StubModel, monkeypatch: pytest.MonkeyPatch, dead_url: str
) -> None:
    monkeypatch.setitem(LOOPBACK_SERVERS, "ollama", stub.base_url)
    stub.listed = ["b", "a", "text-embedding-3"]
    config = configured(f'model = "house:mine"\n[providers.house]\nbase_url = "{dead_url}"\n')
    assert await available(config) == [
        ModelChoice("house", "mine", "mine (house)"),
        ModelChoice("ollama", "b", "b (ollama)"),
        ModelChoice("ollama", "a", "a (ollama)"),
    ]


async def test_what_is_offered_is_asked_for_once(
    configured: Configured, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOOPBACK_SERVERS, "ollama", stub.base_url)
    config = configured()
    first = await available(config)
    stub.listed = ["new"]
    assert await available(config) == first != []


async def test_a_window_that_the_server_tells_of_is_known(
    configured: Configured, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LOOPBACK_SERVERS, "llamacpp", stub.base_url)
    stub.listed = [{"id": "m", "max_model_len": 16384}]
    assert (await choose(configured())).card.context_window == 16384


def test_windows_are_known_by_the_longest_beginning() -> None:
    assert context_window("gpt-5-mini") == context_window("openai/gpt-5") == 272_000
    assert context_window("gpt-4") == 8_192
    assert context_window("gpt-4o-mini") == 128_000
    assert context_window("Claude-Sonnet-5-5") == 1_000_000
    assert context_window("nobody-knows") is None
