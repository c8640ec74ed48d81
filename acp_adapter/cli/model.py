"""`acp-adapter model`: fetch and list the models that run on this machine."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path

from acp_adapter.cli import progress
from acp_adapter.cli.columns import aligned
from acp_adapter.config import Config
from acp_adapter.providers import weights
from acp_adapter.sizes import size

OFFER = f"the embedded model, without account or network (a download of {size(weights.known(None).size)})"

NO_RUNTIME = "The program that runs it is not installed yet: pip install 'acp-adapter[local]'"


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True, dest="action")
    pull = actions.add_parser("pull", help="fetch a model, once", description="Fetch a model, once.")
    pull.add_argument("name", nargs="?", choices=list(weights.KNOWN), metavar="NAME", help="default: the smallest")
    listing = actions.add_parser("list", help="list the models", description="List the models, and which are here.")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace) -> int:
    config = Config.load()
    if args.action == "pull":
        pull_weights(config, args.name)
        return 0
    found = weights.installed(config.home)
    if args.json:
        for model in found:
            print(json.dumps(facts(model), ensure_ascii=False))
    else:
        print("\n".join(aligned([["MODEL", "SIZE", "HERE"], *map(row, found)])))
    return 0


def pull_weights(config: Config, name: str | None) -> Path:
    """Fetch a model's weights with a progress bar. Raises WeightsError and InvalidParams."""
    config.make_home()
    wanted = weights.known(name)
    with progress.download(f"Fetching {wanted.name}") as advance:
        path = weights.pull(name, config.home, advance)
    print(f"{wanted.name} is here: {path}", file=sys.stderr)
    if not has_runtime():
        print(f"! {NO_RUNTIME}", file=sys.stderr)
    return path


def has_runtime() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def facts(model: weights.Installed) -> dict[str, object]:
    return {"name": model.weights.name, "bytes": model.weights.size, "here": model.here, "path": str(model.path)}


def row(model: weights.Installed) -> list[str]:
    return [f"local:{model.weights.name}", size(model.weights.size), str(model.path) if model.here else "no"]
