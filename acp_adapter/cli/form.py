"""Forms in the terminal (ACP's `elicitation/create`): one choice, one answer in words, or both; no others are shown."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from attrs import frozen

from acp_adapter.cli.keys import single_keys
from acp_adapter.cli.screen import Screen
from acp_adapter.cli.terminal import one_line, safe

Json = dict[str, Any]

DECLINED: Json = {"action": "decline"}
CANCELLED: Json = {"action": "cancel"}
ENTER, ERASE = ("\r", "\n"), ("\x7f", "\x08")
LEAVE = ("", "\x04", "\x1b")


@frozen
class Form:
    """`options` are the values of the field `choice`, with their names; `words` is a field for any text."""

    choice: str | None
    options: list[tuple[str, str]]
    words: str | None

    @classmethod
    def of(cls, schema: Json) -> Form | None:
        """None for a form that asks for more than this, or for something else."""
        fields = schema.get("properties") or {}
        texts = {name: field for name, field in fields.items() if field.get("type") == "string"}
        choices = [name for name, field in texts.items() if options_of(field)]
        words = [name for name in texts if name not in choices]
        if not texts or len(texts) < len(fields) or len(choices) > 1 or len(words) > 1:
            return None
        if len(set(schema.get("required") or ())) > 1:
            return None
        return cls(
            next(iter(choices), None), options_of(fields[choices[0]]) if choices else [], next(iter(words), None)
        )

    def answer(self, line: str) -> Json | None:
        """The content that a line means: a number or the name of an option, else words. None where it means nothing."""
        by_number = {str(number): value for number, (value, _) in enumerate(self.options, 1)}
        by_name = {name.casefold(): value for value, name in self.options}
        number = re.sub(r"^#|[.):]$", "", line)
        chosen = by_name.get(line.casefold()) or by_number.get(number)
        if self.choice and chosen is not None:
            return {self.choice: chosen}
        return {self.words: line} if self.words else None


def options_of(field: Json) -> list[tuple[str, str]]:
    """The values of an enumeration with their names."""
    named = [(str(each.get("const")), str(each.get("title"))) for each in field.get("oneOf") or ()]
    return named or [(str(value), str(value)) for value in field.get("enum") or ()]


async def fill_in(screen: Screen, params: Json) -> Json:
    """Show the question, wait for a line; the result for `elicitation/create`.

    An empty line declines, Escape and the end of input dismiss. Being cancelled leaves the terminal as it was.
    """
    form = Form.of(params.get("requestedSchema") or {}) if params.get("mode") == "form" else None
    if form is None:
        screen.say("! The agent asks with a form that this client can't show; it was told so.", style="yellow")
        return DECLINED
    screen.settle()
    with single_keys() as read_key:
        screen.aside.out("? " + safe(str(params.get("message") or "")), style="yellow bold")
        for number, (_, name) in enumerate(form.options, 1):
            screen.aside.out(f"  [{number}] {one_line(name, screen.aside.width - 8)}")
        return await _answer(screen, form, read_key)


async def _answer(screen: Screen, form: Form, read_key: Callable[[], Awaitable[str]]) -> Json:
    while True:
        line = await _line(screen, read_key)
        if not line:
            screen.aside.out("  → no answer", style="dim")
            return CANCELLED if line is None else DECLINED
        if content := form.answer(line):
            return {"action": "accept", "content": content}
        screen.aside.out(f"  That is none of the answers. They have the numbers 1 to {len(form.options)}.", style="dim")


async def _line(screen: Screen, read_key: Callable[[], Awaitable[str]]) -> str | None:
    """What is typed up to Enter, shown as it is typed; None where the person leaves."""
    typed = ""
    screen.aside.out("  → ", style="dim", end="")
    while (key := await read_key()) not in ENTER:
        if key in LEAVE:
            screen.aside.out("")
            return None
        if key in ERASE and typed:
            typed = typed[:-1]
            screen.aside.file.write("\b \b")
        elif key.isprintable():
            typed += key
            screen.aside.file.write(key)
        screen.aside.file.flush()
    screen.aside.out("")
    return typed.strip()
