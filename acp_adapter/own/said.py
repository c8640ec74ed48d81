"""What an agent of one's own may yield, beside text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen


@frozen
class Thought:
    """A piece of reasoning. Editors show it apart from the answer."""

    text: str


@frozen
class Plan:
    """The whole plan, each time anew. An entry is a text, or a mapping with `content`, `status` (`pending`,
    `in_progress` or `completed`) and `priority` (`high`, `medium` or `low`)."""

    entries: Sequence[str | Mapping[str, str]]


@frozen
class Usage:
    """Tokens of one model call: counted towards the session, the day and their budgets.

    `input_tokens` is the whole prompt. `cost` is in US dollars, None where unknown. With `context_window` the editor
    shows how full the window is. `model` is the name under which the call is counted.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    context_window: int | None = None
    model: str | None = None


Said = str | Thought | Plan | Usage
