"""Budget: what a session and a day may use, in money and in tokens, looked at before each model call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Protocol

from attrs import define, field

from acp_adapter.agent.events import Noticed, TurnEvent
from acp_adapter.errors import BudgetSpent
from acp_adapter.project_defaults import Limit
from acp_adapter.providers.port import Provider
from acp_adapter.transcript import Usage

WARNED_AT = 0.8
"""The part of a budget from which on the user is warned."""

WORDS = {
    "session_usd": "this session",
    "session_tokens": "this session",
    "day_usd": "today, over all sessions",
    "day_tokens": "today, over all sessions",
}


class Spent(Protocol):
    """What the ledger has counted: tokens in and out together, and US dollars."""

    @property
    def session_tokens(self) -> int: ...
    @property
    def session_cost(self) -> float: ...
    @property
    def day_tokens(self) -> int: ...
    @property
    def day_cost(self) -> float: ...


@define(eq=False)
class Budget:
    """`limits` holds those of `acp_adapter.config.BUDGETS` that are set, `current` reads them anew, `spent` asks the
    ledger.

    Where none is set, nothing is asked and nothing read. Each warning is given once a session.
    """

    limits: Mapping[str, Limit]
    current: Callable[[], Awaitable[Mapping[str, Limit]]]
    spent: Callable[[], Awaitable[Spent]]
    emit: Callable[[TurnEvent], None]
    _told: set[str] = field(factory=set)

    async def check(self) -> None:
        """Raises BudgetSpent, a sentence that says which budget, how much of it, and how to go on.

        A limit that was raised meanwhile counts at once.
        """
        if not self.limits:
            return
        spent = await self.spent()
        if any(used >= self.limits[name].amount for name, used in self._used(spent)):
            await self.renew()
        for name, used in self._used(spent):
            limit, where = self.limits[name].amount, self.limits[name].where
            if used >= limit:
                raise BudgetSpent(
                    f"The budget for {WORDS[name]} is spent: {_amount(name, used)} of {_amount(name, limit)}. All that "
                    f"was done is kept. To go on, raise {name} under [budget] in {where}, then prompt again."
                )
            if used >= limit * WARNED_AT:
                self._tell(name, f"{_amount(name, used)} of the {_amount(name, limit)} for {WORDS[name]} are used")

    def count(self, usage: Usage | None, provider: Provider) -> None:
        """Take in what a call used: where nobody knows what it cost, a budget in money does not hold, so say that."""
        if (usage is None or usage.cost is None) and any(name.endswith("_usd") for name in self.limits):
            name = f"{provider.name}:{provider.model}"
            self._tell(name, f"What {name} costs is not known, so the budget in US dollars does not count it")

    async def renew(self) -> None:
        """Take the limits as they are set now."""
        self.limits = await self.current()

    def _used(self, spent: Spent) -> Iterator[tuple[str, float]]:
        known: dict[str, float] = {
            "session_usd": spent.session_cost,
            "session_tokens": spent.session_tokens,
            "day_usd": spent.day_cost,
            "day_tokens": spent.day_tokens,
        }
        yield from ((name, used) for name, used in known.items() if name in self.limits)

    def _tell(self, about: str, title: str) -> None:
        if about not in self._told:
            self._told.add(about)
            self.emit(Noticed("warning", title))


def _amount(name: str, value: float) -> str:
    return f"${value:,.2f}" if name.endswith("_usd") else f"{value:,.0f} tokens"
