"""`acp-adapter model`: fetch and list the models that run on this machine."""

from __future__ import annotations

import argparse

from acp_adapter.config import Config

OFFER = "the embedded model: runs inside this program, without account or network (a download of 491 MB)"


def arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(args: argparse.Namespace) -> int:
    return 0


def pull(config: Config, name: str | None) -> None:
    pass
