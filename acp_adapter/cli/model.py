"""`acp-adapter model`: fetch and list the models that run on this machine."""

from __future__ import annotations

import argparse
import json
import sys

from acp_adapter.cli.progress import download
from acp_adapter.config import Config
from acp_adapter.providers import weights

OFFER = "the embedded model: runs inside this program, without account or network (a download of 491 MB)"


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    fetch = actions.add_parser("pull", help="fetch an embedded model, once")
    fetch.add_argument("name", nargs="?", metavar="NAME", help=f"which (default: {weights.DEFAULT})")
    show = actions.add_parser("list", help="list the embedded models")
    show.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    if args.action == "pull":
        pull(config, args.name)
        return 0
    for model in weights.installed(config.home):
        print(_line(model, args.json))
    return 0


def pull(config: Config, name: str | None) -> None:
    """Fetch a model with a progress bar; say where it is. Raises AcpAdapterError."""
    config.make_home()
    wanted = weights.known(name)
    with download(wanted.name) as advance:
        path = weights.pull(wanted.name, config.home, advance)
    print(f"{wanted.name} is in {path}.", file=sys.stderr)


def _line(model: weights.Installed, as_json: bool) -> str:
    name, size = model.weights.name, model.weights.size
    if as_json:
        return json.dumps({"name": name, "size": size, "installed": model.here, "path": str(model.path)})
    return f"{name:20} {size // 1_000_000:>6,} MB  {model.path if model.here else 'acp-adapter model pull ' + name}"
