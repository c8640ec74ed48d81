"""`acp-adapter`: the commands a person types. Each lives in its own file and is imported only when it is the one.

Expected errors end as one sentence on stderr and exit code 1, never as a traceback; wrong usage as 2, Ctrl-C as 130.
"""

from __future__ import annotations

import argparse
import keyword
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Protocol, cast

from acp_adapter import __version__
from acp_adapter.cli import terminal
from acp_adapter.errors import AcpAdapterError

COMMANDS = {
    "chat": "talk with the agent in this terminal",
    "setup": "choose a model, get editor settings",
    "model": "fetch and list local models",
    "doctor": "check everything and say what to do",
    "sessions": "list stored sessions, show one",
    "search": "find what was said in any session",
    "blame": "say which session wrote a line of a file",
    "export": "write conversations to a file: to keep, to read, to train on",
    "import": "bring back what export wrote",
    "db": "care for the ledger: verify, backup, vacuum, prune, stats",
}

DESCRIPTION = "An AI agent for every editor that speaks the Agent Client Protocol, and for this terminal."
EPILOG = "Without a command it speaks ACP on stdin and stdout: that is what an editor starts."


class Command(Protocol):
    """What a command's module offers. `run` gives the exit code and raises AcpAdapterError."""

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _never_fail_to_print()
    try:
        args = parser(words).parse_args(words)
        if args.run is None:
            parser(()).print_help()
            return 2
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except AcpAdapterError as fault:
        print(f"acp-adapter: {terminal.safe(fault.message)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return terminal.end_by_interrupt()
    except BrokenPipeError:
        terminal.quiet_broken_pipe()
        return 1


def _never_fail_to_print() -> None:
    """A character that the terminal or file has no place for becomes a question mark instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser for these words: it knows all commands by name, and the arguments of the one that is meant."""
    top = argparse.ArgumentParser(prog="acp-adapter", description=DESCRIPTION, epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"acp-adapter {__version__}")
    top.set_defaults(run=None)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    meant = next((word for word in words if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary.capitalize() + ".")
        if name == meant:
            file = f"{name}_" if keyword.iskeyword(name) else name
            module = cast(Command, import_module(f"acp_adapter.cli.{file}"))
            module.arguments(command)
            command.set_defaults(run=module.run)
    return top
