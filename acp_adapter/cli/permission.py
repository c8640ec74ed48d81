"""Asking the person whether a tool may run. Whatever is not a clear yes is a no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from acp_adapter.cli.keys import single_keys
from acp_adapter.cli.screen import Screen
from acp_adapter.cli.terminal import one_line

Json = dict[str, Any]

KEYS = {"allow_once": "y", "allow_always": "a", "reject_once": "n", "reject_always": "N"}
CANCELLED: Json = {"outcome": "cancelled"}


async def ask(screen: Screen, params: Json) -> Json:
    """Show the call and its options, wait for a key; the outcome for `session/request_permission`.

    Escape and the end of input reject. Being cancelled (the turn was) leaves the terminal as it was.
    """
    options = keyed(params.get("options") or [])
    call = params.get("toolCall") or {}
    screen.settle()
    screen.tool_preview(call)
    option: Json | None = None
    with single_keys() as read_key:
        screen.aside.out(f"? {screen.tool_title(call)}", style="yellow bold")
        for key, choice in options.items():
            name = one_line(str(choice.get("name") or choice.get("kind")), screen.aside.width - 6)
            screen.aside.out(f"  [{key}] {name}")
        try:
            option = await _choice(options, read_key)
        finally:
            screen.aside.out("  → " + (str(option.get("name")) if option else "not allowed"), style="dim")
    return selected(option) if option else reject(list(options.values()))


def keyed(options: list[Json]) -> dict[str, Json]:
    """Each option under its key; one whose kind has no key, or whose key is taken, gets a number."""
    table: dict[str, Json] = {}
    for number, option in enumerate(options, start=1):
        key = KEYS.get(str(option.get("kind")), "")
        table[key if key and key not in table else str(number)] = option
    return table


def allow(options: list[Json]) -> Json:
    """The answer of `--yes`: once, so that nothing is remembered which nobody decided."""
    return _first(options, "allow_once", "allow_always")


def reject(options: list[Json]) -> Json:
    return _first(options, "reject_once", "reject_always")


def selected(option: Json) -> Json:
    return {"outcome": "selected", "optionId": option.get("optionId")}


def _first(options: list[Json], *kinds: str) -> Json:
    for kind in kinds:
        for option in options:
            if option.get("kind") == kind:
                return selected(option)
    return CANCELLED


async def _choice(options: dict[str, Json], read_key: Callable[[], Awaitable[str]]) -> Json | None:
    while True:
        key = await read_key()
        if key in options:
            return options[key]
        if key in ("", "\x1b", "\x04"):
            return None
        if key.lower() in options:
            return options[key.lower()]
