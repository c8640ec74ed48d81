"""update_plan: whatever a model calls its steps, the editor gets ACP plan entries."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.bench import Bench


async def test_entries_become_whole_plan_entries(bench: Bench) -> None:
    entries = [
        "look",
        {"content": " write ", "status": "In-Progress", "priority": "HIGH", "id": 7},
        {"content": "test", "status": "done", "priority": None},
    ]
    said = await bench.text("update_plan", entries=entries)
    assert said == "The plan is shown: 3 entries, 1 completed."
    assert bench.plans == [
        [
            {"content": "look", "priority": "medium", "status": "pending"},
            {"content": "write", "priority": "high", "status": "in_progress"},
            {"content": "test", "priority": "medium", "status": "completed"},
        ]
    ]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{"status": "done"}], "Entry 1 of the plan needs a content: what the step is, as text."),
        (["a", 5], "Entry 2 of the plan needs a content: what the step is, as text."),
        (["  "], "Entry 1 of the plan needs a content: what the step is, as text."),
        (
            [{"content": "a", "status": "lost"}],
            "The status of entry 1 must be one of pending, in_progress, completed, not 'lost'.",
        ),
        ([{"content": "a", "priority": []}, {"content": "b", "priority": 3}], "The priority of entry 2 must be"),
        (["a"] * 101, "The plan has 101 entries; 100 are the most."),
    ],
)
async def test_what_is_no_plan_is_refused_and_the_old_one_stays(bench: Bench, entries: list[Any], said: str) -> None:
    assert (await bench.refused("update_plan", entries=entries)).startswith(said)
    assert not bench.plans


async def test_an_empty_plan_clears_it(bench: Bench) -> None:
    await bench.call("update_plan", entries=[])
    assert bench.plans == [[]]


async def test_it_needs_no_permission(bench: Bench) -> None:
    assert (await bench.intent("update_plan", entries=[])).action == "none"
