"""What a budget reads, and when."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_adapter.agent.budget import Budget
from acp_adapter.agent.events import Noticed, TurnEvent
from acp_adapter.errors import BudgetSpent
from acp_adapter.ledger.usage import Spent
from acp_adapter.project_defaults import Limit
from acp_adapter.providers.local.provider import LocalProvider
from acp_adapter.providers.scripted import ScriptedProvider
from acp_adapter.transcript import Usage

NOTHING = Spent(0, 0.0, 0, 0.0)


def _limits(amounts: Mapping[str, float]) -> dict[str, Limit]:
    return {name: Limit(amount) for name, amount in amounts.items()}


class House:
    """The ledger and the files that a budget asks, and what it says."""

    def __init__(self, limits: Mapping[str, float], spent: Spent = NOTHING) -> None:
        self.looks, self.readings, self.said = 0, 0, list[str]()
        self.now, self.total = limits, spent
        self.budget = Budget(_limits(limits), self.current, self.spent, self.emit)

    async def current(self) -> Mapping[str, Limit]:
        self.readings += 1
        return _limits(self.now)

    async def spent(self) -> Spent:
        self.looks += 1
        return self.total

    def emit(self, event: TurnEvent) -> None:
        assert isinstance(event, Noticed)
        self.said.append(event.title)


async def test_without_a_budget_neither_the_ledger_nor_a_file_is_read() -> None:
    house = House({}, Spent(10**9, 1e9, 10**9, 1e9))
    await house.budget.check()
    assert (house.looks, house.readings, house.said) == (0, 0, [])


async def test_files_are_read_again_only_when_a_limit_is_reached() -> None:
    house = House({"session_tokens": 100}, Spent(99, 0.0, 99, 0.0))
    await house.budget.check()
    assert (house.looks, house.readings) == (1, 0)
    house.total = Spent(100, 0.0, 100, 0.0)
    with pytest.raises(BudgetSpent, match="this session is spent: 100 tokens of 100 tokens"):
        await house.budget.check()
    assert house.readings == 1
    house.now = {}
    await house.budget.check()


async def test_the_sentence_says_what_was_spent_of_how_much_and_what_to_do() -> None:
    house = House({"day_usd": 2.0}, Spent(5, 0.5, 9, 2.345))
    with pytest.raises(BudgetSpent) as spent:
        await house.budget.check()
    assert str(spent.value) == (
        "The budget for today, over all sessions is spent: $2.35 of $2.00. All that was done is kept. To go on, raise "
        "day_usd under [budget] in config.toml, then prompt again."
    )


@pytest.mark.parametrize(("used", "warned"), [(79, 0), (80, 1), (99, 1)])
async def test_one_warning_from_four_fifths_on(used: int, warned: int) -> None:
    house = House({"session_tokens": 100}, Spent(used, 0.0, used, 0.0))
    for _ in range(3):
        await house.budget.check()
    assert len(house.said) == warned


async def test_a_budget_in_money_says_once_for_which_models_it_does_not_hold() -> None:
    house = House({"session_usd": 1.0})
    local = LocalProvider("small", Path("small.gguf"), Path("home"))
    unpriced = ScriptedProvider([], model="unpriced")
    for _ in range(2):
        house.budget.count(local.card.priced(Usage(10, 5)), local)
        house.budget.count(Usage(10, 5, cost=0.1), ScriptedProvider([], model="its server tells"))
        house.budget.count(unpriced.card.priced(Usage(10, 5)), unpriced)
    assert house.said == ["What scripted:unpriced costs is not known, so the budget in US dollars does not count it"]


async def test_a_budget_in_tokens_holds_for_every_model() -> None:
    house = House({"session_tokens": 1.0})
    house.budget.count(Usage(10, 5), ScriptedProvider([]))
    assert house.said == []
