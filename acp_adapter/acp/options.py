"""What a person can set in the panel: permission mode, model and reasoning effort, as ACP config options; the mode as
ACP modes too; and all of them by slash commands, for editors that know neither.

One state stands behind each, however it is set (ACP v1, section Session Config Options). Unknown ids and values are
InvalidParams and change nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from acp_adapter.acp import types
from acp_adapter.acp.session import SessionState
from acp_adapter.agent.permissions import MODES, Mode
from acp_adapter.errors import InvalidParams
from acp_adapter.providers.card import Effort, ModelCard
from acp_adapter.providers.choose import ModelChoice
from acp_adapter.providers.services import title_of

AUTOMATIC = "auto"
DEFAULT = "default"
SHOWN = 50
"""Models of one provider that are shown; some list hundreds, and the list goes out with every change. All are taken."""

MODE_TEXTS: dict[Mode, tuple[str, str]] = {
    "ask": ("Ask", "Reads run; writing and commands ask first."),
    "accept_edits": ("Accept edits", "Edits inside the session's folders run; commands ask first."),
    "plan": ("Plan", "Read-only: nothing is written or run."),
    "bypass": ("Bypass", "Everything runs without asking. Only for a sandbox."),
}


def modes_of(session: SessionState) -> types.SessionModeState:
    return types.SessionModeState(
        current_mode_id=session.mode,
        available_modes=[types.SessionMode(mode, *MODE_TEXTS[mode]) for mode in MODES],
    )


def options_of(session: SessionState, offered: Sequence[ModelChoice]) -> list[types.SessionConfigOption]:
    """All config options with their current values; clients get the whole list each time."""
    if not session.has_model:
        return [_mode_option(session)]
    return [_mode_option(session), _model_option(session, offered), *_effort_option(session)]


def check_has_model(session: SessionState) -> None:
    """Raises InvalidParams where the user's own agent answers."""
    if not session.has_model:
        raise InvalidParams("An agent of your own answers here: it chooses its model and how much that reasons itself.")


def checked_mode(value: object) -> Mode:
    """`value` if it is a mode. Raises InvalidParams."""
    for mode in MODES:
        if value == mode:
            return mode
    raise InvalidParams(f"There is no mode {value!r}. The modes are: {', '.join(MODES)}.")


def checked_model(value: object, session: SessionState, offered: Sequence[ModelChoice]) -> str | None:
    """`value` as `provider:model`, None for the automatic choice. Raises InvalidParams for what is not offered."""
    check_has_model(session)
    if value == AUTOMATIC:
        return None
    values = [_value(choice) for choice in offered]
    if isinstance(value, str) and (value == session.model or value in values):
        return value
    raise InvalidParams(f"There is no model {value!r} here. The models are: {_named([AUTOMATIC, *values])}.")


def checked_effort(value: object, session: SessionState) -> Effort | None:
    """`value` as an effort of the session's model, None for its own default. Raises InvalidParams."""
    check_has_model(session)
    if value == DEFAULT:
        return None
    known = session.chosen.card.efforts
    for effort in known:
        if value == effort:
            return effort
    raise InvalidParams(f"There is no effort {value!r} for this model. There are: {', '.join([DEFAULT, *known])}.")


def shown(offered: Sequence[ModelChoice]) -> list[ModelChoice]:
    """The first of each provider, in the order in which they are offered."""
    seen = Counter[str]()
    return [choice for choice in offered if seen.update([choice.provider]) or seen[choice.provider] <= SHOWN]


def _named(values: Sequence[str]) -> str:
    rest = len(values) - SHOWN
    return ", ".join(values[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _mode_option(session: SessionState) -> types.SessionConfigOption:
    return types.SelectConfigOption(
        id="mode",
        name="Permissions",
        description="What runs without asking.",
        category="mode",
        current_value=session.mode,
        options=[types.SessionConfigSelectOption(mode, *MODE_TEXTS[mode]) for mode in MODES],
    )


def _model_option(session: SessionState, offered: Sequence[ModelChoice]) -> types.SessionConfigOption:
    """In groups by provider. The session's own model is among them even where it can't be reached now."""
    automatic = types.SessionConfigSelectOption(AUTOMATIC, "Automatic", "The first model that is reachable.")
    groups = {AUTOMATIC: [automatic]}
    for choice in shown(offered):
        option = types.SessionConfigSelectOption(_value(choice), choice.name, _about(choice.card))
        groups.setdefault(choice.provider, []).append(option)
    if session.model and session.model not in {option.value for options in groups.values() for option in options}:
        provider = session.model.partition(":")[0]
        groups.setdefault(provider, []).insert(0, types.SessionConfigSelectOption(session.model, session.model))
    return types.SelectConfigOption(
        id="model",
        name="Model",
        category="model",
        current_value=session.model or AUTOMATIC,
        options=[types.SessionConfigSelectGroup(name, _title(name), options) for name, options in groups.items()],
    )


def _title(group: str) -> str:
    return "Automatic" if group == AUTOMATIC else title_of(group)


def _effort_option(session: SessionState) -> list[types.SessionConfigOption]:
    """Nothing for a model that can't be told. A choice that this model does not have shows as its default."""
    known = session.chosen.card.efforts
    if not known:
        return []
    return [
        types.SelectConfigOption(
            id="effort",
            name="Reasoning",
            description="How much the model thinks before it answers.",
            category="thought_level",
            current_value=session.chosen.effort if session.chosen.effort in known else DEFAULT,
            options=[
                types.SessionConfigSelectOption(DEFAULT, "Default", "As much as the model itself finds right."),
                *(types.SessionConfigSelectOption(effort, effort.capitalize()) for effort in known),
            ],
        )
    ]


def _about(card: ModelCard) -> str | None:
    """Window and price, where they are known."""
    window = f"{card.context_window // 1000:,}k tokens" if card.context_window else ""
    price = card.price
    dollars = f"${price.input:g} in, ${price.output:g} out for a million tokens" if price and price.output else ""
    return ", ".join(filter(None, (window, dollars))) or None


def _value(choice: ModelChoice) -> str:
    return f"{choice.provider}:{choice.model}"
