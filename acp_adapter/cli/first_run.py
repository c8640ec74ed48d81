"""The first prompt on a fresh machine: where no model can be found, the embedded one is offered."""

from __future__ import annotations

import asyncio
import sys

from acp_adapter.cli import terminal
from acp_adapter.config import Config
from acp_adapter.errors import AcpAdapterError, AuthRequired

QUESTION = "There is no model yet. Fetch {offer}? [Y/n] "


def offer_a_model(config: Config, *, yes: bool) -> None:
    """Fetch the embedded model where it is the only one there could be, and the person agrees, or said --yes.

    Does nothing where a model is set up or an agent of the user's own needs none, where the program that
    runs the embedded one is not installed, or where nobody can be asked: the agent will say what is missing. Raises
    WeightsError.
    """
    if config.agent:
        return
    from acp_adapter.cli import model  # with its catalogue: not needed by those who are set up

    if (config.model and not config.model.startswith("local")) or not model.has_runtime() or _has_model(config):
        return
    if yes:
        print(f"There is no model yet; fetching {model.OFFER}.", file=sys.stderr)
    elif not terminal.interactive() or input(QUESTION.format(offer=model.OFFER)).strip().lower() not in (
        "",
        "y",
        "yes",
    ):
        return
    model.pull_weights(config, None)


def _agrees(question: str) -> bool:
    return input(question).strip().lower() in ("", "y", "yes")


def _has_model(config: Config) -> bool:
    """Whether the agent will find a model. What is set up counts as found: it is not asked twice."""
    from acp_adapter.providers.choose import choose  # as above
    from acp_adapter.providers.endpoints import configured

    if next(configured(config), None) is not None:
        return True
    try:
        provider = asyncio.run(choose(config))
    except AuthRequired:
        return False
    except AcpAdapterError:
        return True
    asyncio.run(provider.aclose())
    return True
