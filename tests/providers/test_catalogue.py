"""What is known of models: from the table, from the user, from the server; and what a call costs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from genai_prices import Usage as TheirUsage
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from acp_adapter.agent import permissions
from acp_adapter.config import EFFORTS, MODES, Config
from acp_adapter.providers import own_models
from acp_adapter.providers.card import Effort, ModelCard, Price
from acp_adapter.providers.catalogue import generate
from acp_adapter.providers.catalogue.families import context_window
from acp_adapter.providers.catalogue.lookup import _table, card_of
from acp_adapter.providers.endpoints import endpoint
from acp_adapter.providers.services import SERVICES
from acp_adapter.transcript import Usage

WHEEL = os.environ.get("ACP_ADAPTER_TEST_LITELLM", "")
"""A litellm wheel, to make the table anew from."""


@pytest.mark.skipif(not WHEEL, reason="set ACP_ADAPTER_TEST_LITELLM to the wheel that the table was made from")
def test_the_table_is_what_its_source_gives() -> None:
    assert generate.text_of(generate.read(Path(WHEEL))) == generate.TABLE.read_text("utf-8")


def test_one_model_is_one_line_and_the_lines_are_sorted() -> None:
    table = _table()
    lines = [f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in table.items()]
    assert generate.TABLE.read_text("utf-8") == "{\n" + ",\n".join(lines) + "\n}\n"
    assert [name.split(":", 1) for name in table] == sorted(name.split(":", 1) for name in table)


async def test_nothing_is_read_before_a_model_is_looked_up() -> None:
    code = (
        "import sys; from acp_adapter.acp import handshake; "
        "from acp_adapter.providers.catalogue import lookup; assert lookup._table.cache_info().currsize == 0; "
        "lookup.card_of('openai', 'gpt-5'); assert lookup._table.cache_info().currsize == 1; "
        "assert not {'genai_prices', 'litellm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_table_knows_the_services_and_the_model_that_each_begins_with() -> None:
    services = {name.partition(":")[0] for name in _table()}
    assert services == set(SERVICES) - {"openrouter"}, "OpenRouter tells of its models itself"
    known = [name for name in services if card_of(name, SERVICES[name].model).context_window]
    assert set(known) == services


@pytest.mark.parametrize("full", sorted(_table()))
def test_every_line_of_the_table_can_be_what_it_says(full: str) -> None:
    card = card_of(*full.split(":", 1))
    assert card.context_window is None or card.context_window >= 500
    if card.price:
        assert 0 <= card.price.input < 1000 and 0 <= card.price.output < 2000
        assert (card.price.cache_read or 0) <= max(card.price.input, 0.01) * 1.01


THEIR_NAMES = {"gemini": "google", "moonshot": "moonshotai", "xai": "x-ai"}
AGREED = [
    *(("openai", name, 10_000) for name in ("gpt-4.1", "gpt-4o-mini", "gpt-5-mini", "o3")),
    *(("anthropic", name, 10_000) for name in ("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5")),
    ("gemini", "gemini-2.5-flash", 10_000),
    ("gemini", "gemini-2.5-pro", 10_000),
    ("gemini", "gemini-2.5-pro", 250_000),
    ("openai", "gpt-5.5", 300_000),
]


@pytest.mark.parametrize(("service", "model", "size"), AGREED)
def test_prices_agree_with_another_list_that_others_maintain(service: str, model: str, size: int) -> None:
    ours, theirs = costs(service, model, Usage(size, 1_000, cache_read_tokens=4_000))
    assert ours == pytest.approx(theirs, rel=0.01)


def test_no_service_s_prices_differ_from_another_list_but_for_a_few_models() -> None:
    """Two lists are never the same; where more than a tenth of a service differs, one of them is read wrongly."""
    found: dict[str, list[bool]] = {}
    for full in _table():
        service, _, model = full.partition(":")
        with contextlib.suppress(LookupError):
            ours, theirs = costs(service, model, Usage(10_000, 1_000))
            found.setdefault(service, []).append(ours == pytest.approx(theirs, rel=0.02))
    assert len(found) >= 8 and sum(map(len, found.values())) > 200
    for service in ("openai", "anthropic", "gemini", "moonshot", "groq"):
        assert found[service].count(False) <= len(found[service]) / 10, service


def costs(service: str, model: str, usage: Usage) -> tuple[float, float]:
    """By our table and by theirs. Raises LookupError where one of them does not know."""
    ours = card_of(service, model).price
    if ours is None:
        raise LookupError(model)
    counted = TheirUsage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        output_tokens=usage.output_tokens,
    )
    theirs = calc_price(counted, model, provider_id=THEIR_NAMES.get(service, service))
    return ours.of(usage), float(theirs.total_price)


@pytest.mark.parametrize(
    ("provider", "model", "like"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("openai", "gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("openai", "GPT-5-Mini", "gpt-5-mini"),
        ("gemini", "gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("gemini", "gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini", "models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("mistral", "devstral", "devstral-latest"),
    ],
)
def test_dates_and_labels_do_not_hide_a_model(provider: str, model: str, like: str) -> None:
    known = card_of(provider, like)
    assert known.price is not None
    assert card_of(provider, model).price == known.price


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("office", "anthropic/claude-sonnet-4.5"),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1"),
        ("vertex", "claude-sonnet-4-5@20250929"),
        ("openrouter", "anthropic/claude-sonnet-4.5:nitro"),
    ],
)
def test_a_model_behind_a_gateway_is_known_but_for_its_price(provider: str, model: str) -> None:
    card = card_of(provider, model)
    assert (card.context_window, card.images, card.price) == (200_000, True, None)


def test_azure_s_name_without_dots_is_the_same_model() -> None:
    assert card_of("azure", "gpt-35-turbo").context_window == card_of("openai", "gpt-3.5-turbo").context_window


@pytest.mark.parametrize(
    ("model", "service", "name"),
    [
        ("anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"),
        ("openai/gpt-5-mini", "openai", "gpt-5-mini"),
        ("google/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
    ],
)
def test_openrouter_s_price_is_the_vendor_s_until_openrouter_says_its_own(model: str, service: str, name: str) -> None:
    price = card_of("openrouter", model).price
    assert price is not None and price == card_of(service, name).price
    theirs = calc_price(TheirUsage(input_tokens=10_000, output_tokens=1_000), model, provider_id="openrouter")
    assert price.of(Usage(10_000, 1_000)) == pytest.approx(float(theirs.total_price), rel=0.01)


def test_a_name_newer_than_the_table_has_its_family_s_window() -> None:
    assert card_of("anthropic", "claude-opus-5-9").context_window == context_window("claude-opus-5-9") == 1_000_000
    assert card_of("nobody", "nothing-like-it") == ModelCard()


def test_a_long_prompt_has_the_price_of_long_prompts() -> None:
    price = Price(1.0, 2.0, 0.1, 1.25, {200_000: Price(2.0, 4.0)})
    assert price.of(Usage(input_tokens=100_000, output_tokens=1000)) == pytest.approx(0.102)
    assert price.of(Usage(input_tokens=300_000, output_tokens=1000)) == pytest.approx(0.604)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_comes_from_the_cache_is_paid_once(plain: int, read: int, written: int, made: int) -> None:
    usage = Usage(plain + read + written, made, read, written)
    expected = (plain * 3.0 + read * 0.3 + written * 3.75 + made * 15.0) / 1e6
    assert Price(3.0, 15.0, 0.3, 3.75).of(usage) == pytest.approx(expected)


def test_the_provider_s_own_word_goes_before_ours() -> None:
    card = ModelCard(price=Price(1.0, 1.0))
    assert card.priced(Usage(1_000_000, cost=0.5)).cost == 0.5
    assert card.priced(Usage(1_000_000)).cost == 1.0
    assert ModelCard().priced(Usage(1_000_000)).cost is None


def configured(tmp_path: Path, toml: str, **env: str) -> Config:
    (tmp_path / "config.toml").write_text(toml, "utf-8")
    return Config.load({"ACP_ADAPTER_HOME": str(tmp_path), **env})


def test_what_the_user_says_of_a_model_goes_before_the_table(tmp_path: Path) -> None:
    config = configured(
        tmp_path,
        '[models."anthropic:claude-sonnet-4-5"]\ncontext_window = 1000\ninput_price = 7\noutput_price = 8\n'
        'efforts = ["high", "low"]\nimages = false\n',
        ANTHROPIC_API_KEY="k",
    )
    card = endpoint("anthropic", config).card("claude-sonnet-4-5")
    assert (card.context_window, card.price, card.efforts, card.images) == (1000, Price(7, 8), ("low", "high"), False)
    assert card.max_output == 64_000
    assert endpoint("anthropic", config).card("claude-haiku-4-5").context_window == 200_000


def test_a_server_of_one_s_own_costs_nothing_and_holds_what_it_says_itself(tmp_path: Path) -> None:
    config = configured(tmp_path, '[providers.mine]\nbase_url = "http://127.0.0.1:8000/v1"\n')
    card = endpoint("mine", config).card("gpt-5-mini")
    assert (card.context_window, card.price, card.images) == (None, Price(0, 0), True)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("context_window = 0", "must be a number of tokens"),
        ('input_price = "cheap"', "must be US dollars"),
        ("input_price = 1", "needs both input_price and output_price"),
        ('images = "yes"', "must be true or false"),
        ('efforts = ["huge"]', "must be a list of off, low, medium, high"),
        ("colour = 1", "has colour; it may have context_window"),
    ],
)
def test_a_setting_that_can_t_be_is_named_and_stops_nothing(tmp_path: Path, line: str, told: str) -> None:
    right = '[models."openai:n"]\ncontext_window = 5\n'
    config = configured(tmp_path, f'[models."openai:m"]\n{line}\n{right}', OPENAI_API_KEY="k")
    (problem,) = own_models.problems(config)
    assert told in problem and problem.startswith('config.toml: [models."openai:m"]')
    assert set(endpoint("openai", config).cards) == {"n"}


def test_a_table_of_a_model_without_its_provider_is_told_of(tmp_path: Path) -> None:
    config = configured(tmp_path, '[models."gpt-5"]\ncontext_window = 5\n')
    assert "must be called provider:model" in own_models.problems(config)[0]


def test_modes_and_efforts_are_the_same_words_everywhere(tmp_path: Path) -> None:
    assert (permissions.MODES, get_args(Effort)) == (MODES, EFFORTS)
    config = configured(tmp_path, 'mode = "root"\neffort = "huge"\n')
    assert (config.mode, config.effort) == ("ask", None)
    assert [problem.partition(" must")[0] for problem in config.problems] == [
        "config.toml: mode",
        "config.toml: effort",
    ]
