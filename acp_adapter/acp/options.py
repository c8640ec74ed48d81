"""What a person can set in the panel: permission mode and model, as ACP modes and as config options.

One state stands behind both: some editors know only modes, others only config options (ACP v1, section Session
Config Options). Unknown ids and values are InvalidParams and change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from acp_adapter.acp import types
from acp_adapter.acp.session import SessionState
from acp_adapter.agent.permissions import MODES, Mode
from acp_adapter.errors import InvalidParams
from acp_adapter.providers.choose import ModelChoice

AUTOMATIC = "auto"

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
    return [_mode_option(session), _model_option(session, offered)]


def checked_mode(value: object) -> Mode:
    """`value` if it is a mode. Raises InvalidParams."""
    for mode in MODES:
        if value == mode:
            return mode
    raise InvalidParams(f"There is no mode {value!r}. The modes are: {', '.join(MODES)}.")


def checked_model(value: object, session: SessionState, offered: Sequence[ModelChoice]) -> str | None:
    """`value` as `provider:model`, None for the automatic choice. Raises InvalidParams for what is not offered."""
    if value == AUTOMATIC:
        return None
    values = [_value(choice) for choice in offered]
    if isinstance(value, str) and (value == session.model or value in values):
        return value
    raise InvalidParams(f"There is no model {value!r} here. The models are: {', '.join([AUTOMATIC, *values])}.")


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
    options = [types.SessionConfigSelectOption(AUTOMATIC, "Automatic", "The first model that is reachable.")]
    options += [types.SessionConfigSelectOption(_value(choice), choice.name) for choice in offered]
    if session.model and session.model not in {option.value for option in options}:
        options.insert(1, types.SessionConfigSelectOption(session.model, session.model))
    return types.SelectConfigOption(
        id="model",
        name="Model",
        category="model",
        current_value=session.model or AUTOMATIC,
        options=options,
    )


def _value(choice: ModelChoice) -> str:
    return f"{choice.provider}:{choice.model}"
