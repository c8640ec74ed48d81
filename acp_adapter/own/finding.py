"""An agent of the user's own: found by its name, checked, and made anew for each session."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module, metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

from acp_adapter.errors import AgentFailed, in_words
from acp_adapter.own.author import Author
from acp_adapter.own.turn import Agent, Factory

GROUP = "acp_adapter.agents"
"""The group of entry points in which installed packages offer their agents."""


class OwnAgents:
    """The agents of one process. `given` is the agent, a function without parameters that makes one, or the name of
    either: `module:name`, `path/to/file.py:name`, or an entry point's name in GROUP.

    The module is imported for the first session, which may take its time: nothing else waits for it. `redact` takes
    secrets out of what is told of an exception.
    """

    def __init__(self, given: str | Agent | Factory, redact: Callable[[str], str] = str) -> None:
        self.author = Author()
        self.name = given if isinstance(given, str) else _name_of(given)
        self._given = given
        self._redact = redact
        self._found: Agent | Factory | None = None

    async def make(self) -> Agent:
        """The agent of one session. Raises AgentFailed, which names what can't be used and why."""
        if self._found is None:
            self._found = await self.author.in_thread(self._find)
        if not _is_factory(self._found):
            return cast(Agent, self._checked(self._found))
        try:
            made: Any = await self.author.call(cast(Factory, self._found))
        except Exception as fault:
            raise self._failed(f"{self.name} raised {in_words(fault)}") from fault
        return cast(Agent, self._checked(made))

    def _find(self) -> Agent | Factory:
        if not isinstance(self._given, str):
            return self._given
        reference, colon, name = self._given.rpartition(":")
        if not colon:
            reference, _, name = self._entry_point(self._given).partition(":")
        found: Any = self._module(reference)
        for part in name.split("."):
            if not hasattr(found, part):
                raise self._failed(f"{reference} has no {name!r}")
            found = getattr(found, part)
        return cast(Agent, found)

    def _entry_point(self, name: str) -> str:
        offered = {each.name: each.value for each in metadata.entry_points(group=GROUP)}
        if name not in offered:
            known = f"there are: {', '.join(sorted(offered))}" if offered else "there is none"
            raise self._failed(f"no installed package offers it as an entry point of {GROUP} ({known})")
        return offered[name]

    def _module(self, reference: str) -> Any:
        try:
            return _module_of_file(Path(reference)) if reference.endswith(".py") else import_module(reference)
        except BaseException as fault:
            raise self._failed(f"{reference} can't be imported: {in_words(fault)}") from fault

    def _checked(self, agent: object) -> object:
        if callable(agent) and not inspect.isclass(agent) and _required(agent) == 1:
            return agent
        raise self._failed(f"{self.name} gives {_kind(agent)}, and an agent is a function that takes a turn")

    def _failed(self, why: str) -> AgentFailed:
        return AgentFailed(self._redact(f"The agent {self.name} can't be used: {why}."))


def _module_of_file(path: Path) -> Any:
    """The module in that file; it may import what stands beside it."""
    path = path.expanduser().resolve(strict=True)
    name = path.stem if path.stem not in sys.modules else f"agent_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _is_factory(found: object) -> bool:
    return callable(found) and (inspect.isclass(found) or _required(found) == 0)


def _required(function: Callable[..., Any]) -> int:
    """How many arguments it must be given; 1 where it does not say, or takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    return len(needed)


def _name_of(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__qualname__)}"


def _kind(agent: object) -> str:
    if callable(agent) and not inspect.isclass(agent):
        return f"a function that takes {_required(agent)} arguments"
    return "None" if agent is None else f"a {type(agent).__name__}"
