"""`acp-adapter setup --editor`: shows the change of an editor's settings as a diff, asks, writes; and takes it back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from acp_adapter.cli import terminal
from acp_adapter.cli.editors import EDITORS, agent_command
from acp_adapter.cli.editors.places import Machine
from acp_adapter.cli.editors.receipts import Receipts
from acp_adapter.cli.editors.settings import Change, Settings, SettingsFault
from acp_adapter.config import Config

Agree = Callable[[str], bool]
"""Asks a question; whether the answer is yes."""


def asked(question: str) -> bool:
    """Enter is a yes: the person has begun this, and sees the change. The end of input is a no."""
    try:
        return input(f"{question} [Y/n] ").strip().lower() in ("", "y", "yes")
    except EOFError:
        print()
        return False


def agreed(question: str) -> bool:
    """The answer of --yes."""
    return True


def print_snippet(name: str) -> int:
    """The snippet alone on stdout, so that it can be piped; where it belongs on stderr."""
    editor = EDITORS[name]
    print(f"{editor.title}: put this into {editor.where}, then open: {editor.then}", file=sys.stderr)
    print(editor.snippet(agent_command()))
    return 0


def connect(config: Config, name: str, agree: Agree) -> int:
    """Write the agent into each settings file of an editor; what can't be written is shown instead. The exit code."""
    code = 0
    for path in Machine.of(config).settings(name):
        try:
            _connect(config, name, path, agree)
        except SettingsFault as fault:
            print(f"! {terminal.safe(fault.message)}", file=sys.stderr)
            code = 1
    if code:
        print_snippet(name)
    return code


def _connect(config: Config, name: str, path: Path, agree: Agree) -> None:
    editor, settings = EDITORS[name], Settings.read(name, path)
    change = settings.added(agent_command())
    if change is None:
        print(f"{editor.title}: {path} starts this agent already. Nothing to do.")
        return
    if started := settings.started():
        other = " ".join(started.command) or "something else"
        print(f"{editor.title}: the entry in {path} starts {terminal.safe(other)}. Changed to this installation:")
    elif settings.file is None:
        print(f"{editor.title}: a new file, {path}:")
    else:
        print(f"{editor.title}: to be added to {path}:")
    show(change)
    if not agree("Write this?"):
        print("Nothing was written.")
        return
    kept = change.write(config)
    print(f"Written. Open it by: {editor.then}" + (f"\nThe file as it was: {kept}" if kept else ""))


def disconnect(config: Config, name: str, agree: Agree) -> int:
    """Take back what setup wrote into each settings file of an editor, or its entry by whomever. The exit code."""
    done = code = 0
    for path in Machine.of(config).settings(name):
        try:
            change = Settings.read(name, path).removed(Receipts(config))
            if change is None:
                continue
            done += 1
            print(f"{EDITORS[name].title}: to be taken back in {path}:")
            show(change)
            if not agree("Take this back?"):
                print("Nothing was written.")
                continue
            kept = change.take_back(config)
            print(f"Taken back. The file as it was: {kept}")
        except SettingsFault as fault:
            print(f"! {terminal.safe(fault.message)}", file=sys.stderr)
            code = 1
    if not done and not code:
        print(f"{EDITORS[name].title}: there is nothing of this agent in its settings.")
    return code


def offer(config: Config) -> None:
    """For each editor that is found here: connect it, show what to put where, or say that all is done."""
    for name in Machine.of(config).found():
        print()
        if EDITORS[name].form:
            connect(config, name, asked)
        else:
            print(f"{EDITORS[name].title}: acp-adapter setup --editor {name} prints its settings.")


def show(change: Change) -> None:
    """The diff, in colour where this is a terminal. What the file holds can't move the cursor."""
    from rich.console import Console  # costs start-up time that a pipe need not pay

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    for line in change.diff():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "") if line[:3] not in ("+++", "---") else "bold"
        console.out(terminal.in_place(line), style=style)
