"""`acp-adapter setup`: finds models and editors, lets the person choose, and writes their settings."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from getpass import getpass
from urllib.parse import urlsplit

from attrs import frozen

from acp_adapter.cli import model as local
from acp_adapter.cli import setup_editor, terminal
from acp_adapter.cli.config_file import Setting, change
from acp_adapter.cli.doctor import show
from acp_adapter.cli.editors import EDITORS
from acp_adapter.config import Config
from acp_adapter.doctor import model as check_model
from acp_adapter.errors import InvalidParams

MOST = 12
"""Models offered by number; any other can be typed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--editor", choices=list(EDITORS), metavar="NAME", help="only this editor: " + ", ".join(EDITORS)
    )
    parser.add_argument("--print", action="store_true", help="with --editor: only print the settings for the agent")
    parser.add_argument("--undo", action="store_true", help="with --editor: take back what was written")
    parser.add_argument("--yes", action="store_true", help="with --editor: write without a question")


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    if args.editor:
        return editor(config, args)
    if args.undo or args.yes or args.print:
        raise InvalidParams("--undo, --yes and --print are for one editor. Name it with --editor.")
    if not can_ask():
        return report(config)
    for problem in config.problems:
        print(f"! {problem}")
    try:
        settings = choose(config)
    except EOFError:
        return terminal.end_by_interrupt()
    if settings:
        save(config, settings)
    found = asyncio.run(check_model(Config.load()))
    show(found, as_json=False)
    setup_editor.offer(config)
    print('\nTry it here: acp-adapter chat "What is this project?"')
    return 0 if found.verdict == "ok" else 1


def can_ask() -> bool:
    return terminal.interactive() and sys.stdout.isatty()


def editor(config: Config, args: argparse.Namespace) -> int:
    """Without a terminal nothing is written, unless --yes was given: the settings are printed."""
    name = args.editor
    if args.print or EDITORS[name].form is None:
        return setup_editor.print_snippet(name)
    if not (args.yes or can_ask()):
        if args.undo:
            raise InvalidParams("There is no terminal to ask in. With --yes it is taken back without a question.")
        print("Nothing is written: there is no terminal to ask in, and no --yes.", file=sys.stderr)
        return setup_editor.print_snippet(name)
    agree = setup_editor.agreed if args.yes else setup_editor.asked
    act = setup_editor.disconnect if args.undo else setup_editor.connect
    return act(config, name, agree)


def report(config: Config) -> int:
    """Without a terminal nothing is asked: say what there is and what to do. The exit code: is a model usable?"""
    finding = asyncio.run(check_model(config))
    show(finding, as_json=False)
    if finding.verdict == "ok":
        return 0
    print("There is no terminal to ask in. Run `acp-adapter setup` in one, or `acp-adapter model pull`, or write")
    print(f'a line such as  model = "openai:gpt-5-mini"  into {config.home / "config.toml"}.')
    return 1


@frozen
class Way:
    """One line of the menu. `take` asks what is left to ask; its settings go into config.toml."""

    label: str
    take: Callable[[Config], Sequence[Setting]]


def choose(config: Config) -> Sequence[Setting]:
    """Ask for one of the ways to a model; no settings where the person leaves everything as it is."""
    print("Looking for models on this machine …")
    ways = offered(config)
    if config.model:
        print(f"Chosen now: {config.model}")
    for number, way in enumerate(ways, start=1):
        print(f"  {number:2}. {way.label}")
    while True:
        answer = input(f"Which one (1 to {len(ways)}, or provider:model; Enter leaves it as it is)? ").strip()
        if not answer:
            return ()
        if answer.isdecimal() and 1 <= int(answer) <= len(ways):
            return ways[int(answer) - 1].take(config)
        if ":" in answer:
            return (Setting("", "model", answer),)


def offered(config: Config) -> list[Way]:
    from acp_adapter.providers.choose import available  # asks servers: an HTTP client that --editor must not wait for

    found = asyncio.run(available(config))
    ways = [Way(choice.name, _take(f"{choice.provider}:{choice.model}")) for choice in found[:MOST]]
    if not any(choice.provider == "local" for choice in found):
        ways.append(Way(local.OFFER, take_local))
    ways.append(Way("a hosted service, with an API key", take_service))
    ways.append(Way("another server of the OpenAI form (vLLM, llama.cpp, a proxy)", take_server))
    return ways


def save(config: Config, settings: Sequence[Setting]) -> None:
    path = config.make_home() / "config.toml"
    aside = change(path, settings)
    if aside:
        print(f"! The old {path.name} could not be read; it is kept as {aside}.")
    print(f"Written to {path}.")


def take_local(config: Config) -> Sequence[Setting]:
    local.pull_weights(config, None)
    return (Setting("", "model", "local"),)


def take_service(config: Config) -> Sequence[Setting]:
    from acp_adapter.providers.services import SERVICES  # as above

    name = input(f"Which ({', '.join(SERVICES)})? ").strip().lower()
    if name not in SERVICES:
        raise InvalidParams(f"There is no service {name!r} in the list; nothing was changed.")
    key = getpass("Its API key (not shown; kept in config.toml, which only you can read): ").strip()
    model = input(f"Which model [{SERVICES[name].model}]? ").strip() or SERVICES[name].model
    keys = (Setting(f"providers.{name}", "api_key", key),) if key else ()
    return (Setting("", "model", f"{name}:{model}"), *keys)


def take_server(config: Config) -> Sequence[Setting]:
    url = input("Its base URL (such as http://127.0.0.1:8000/v1): ").strip().rstrip("/")
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidParams(f"{url!r} is not an http or https URL; nothing was changed.")
    key = getpass("Its API key, if it wants one (not shown): ").strip()
    model = input("Which model (Enter: the first it has)? ").strip()
    keys = (Setting("providers.server", "api_key", key),) if key else ()
    chosen = f"server:{model}" if model else "server"
    return (Setting("", "model", chosen), Setting("providers.server", "base_url", url), *keys)


def _take(model: str) -> Callable[[Config], Sequence[Setting]]:
    return lambda config: (Setting("", "model", model),)
