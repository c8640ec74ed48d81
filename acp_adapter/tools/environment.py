"""The environment of commands: no secrets, no editors, no pagers, no questions."""

from __future__ import annotations

from collections.abc import Mapping

from acp_adapter.redaction import is_secret

QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""What keeps programs from waiting for a person who can't answer them."""

_STARTUP = ("BASH_ENV", "ENV", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS")


def command_environment(*layers: Mapping[str, str]) -> dict[str, str]:
    """Later layers over earlier ones, secrets left out, and QUIET over all."""
    merged = {name: value for layer in layers for name, value in layer.items()}
    kept = {n: v for n, v in merged.items() if n not in _STARTUP and not is_secret(n, v)}
    return {**kept, **QUIET}


def terminal_environment(*layers: Mapping[str, str]) -> dict[str, str]:
    """What to set in an editor's terminal, whose environment is the editor's own: QUIET, and secrets emptied."""
    merged = {name: value for layer in layers for name, value in layer.items()}
    return {**{name: "" for name, value in merged.items() if is_secret(name, value)}, **QUIET}
