"""`acp-adapter chat`: a small ACP client in the terminal, for one prompt or a conversation."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import threading
from functools import partial
from pathlib import Path

from acp_adapter.cli import first_run, form, permission, terminal
from acp_adapter.cli.client import AgentError, Ask, Json
from acp_adapter.cli.conversation import Conversation, Display, JsonLines, Wish
from acp_adapter.cli.line_editor import LineEditor
from acp_adapter.cli.screen import Screen
from acp_adapter.config import Config
from acp_adapter.errors import InvalidParams

PIPE_SECONDS = 3.0
"""How long a pipe may stay silent when there is a prompt already: some programs pass on a pipe nobody writes to."""

ENDINGS = {
    "refusal": "The model refused to go on.",
    "max_tokens": "The answer was cut off: the model's token limit is reached.",
    "max_turn_requests": "The turn was stopped: it took as many model calls as one turn may.",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to do; without it a conversation starts. "
                        "Piped input is appended; a last word - waits for it without a time limit")  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--resume", metavar="ID", help="go on with this session (an id, the start of one, or a title)")
    which.add_argument("--continue", dest="newest", action="store_true", help="go on with this folder's newest session")
    parser.add_argument("--mode", help="permission mode: ask, accept_edits, plan or bypass")
    parser.add_argument("--model", help="provider:model for this session")
    parser.add_argument("--cwd", type=Path, default=Path(), help="the session's folder (default: this one)")
    parser.add_argument("--yes", action="store_true", help="allow whatever the agent asks for, without asking you")
    parser.add_argument("--json", action="store_true", help="write the agent's updates as JSON, one a line")


def run(args: argparse.Namespace) -> int:
    cwd = args.cwd.absolute()
    if not cwd.is_dir():
        raise InvalidParams(f"{cwd} is not a folder.")
    prompt = request(args.prompt)
    if prompt is None and not (terminal.interactive() and sys.stdout.isatty()):
        raise InvalidParams('There is nothing to do: give a prompt, as in `acp-adapter chat "What is this project?"`.')
    if not args.model:
        first_run.offer_a_model(Config.load(), yes=args.yes)
    wish = Wish(cwd, args.resume, args.newest, args.mode, args.model, replay=prompt is None)
    with asyncio.Runner() as runner:
        conversation, screen = _conversation(args)
        try:
            _open(runner, conversation, screen, wish)
            if prompt is None:
                code = converse(runner, conversation, screen)
            else:
                code = one_turn(runner, conversation, screen, prompt)
        finally:
            runner.run(conversation.aclose())
            _farewell(conversation, screen)
    return code


def request(words: list[str]) -> str | None:
    """The prompt from the command line and from a pipe, None for neither."""
    patient = not words or words[-1] == "-"
    given = " ".join(words[:-1] if words[-1:] == ["-"] else words).strip()
    piped = "" if terminal.typed() else read_pipe(None if patient else PIPE_SECONDS).strip()
    return "\n\n".join(part for part in (given, piped) if part) or None


def read_pipe(seconds: float | None) -> str:
    """All of standard input; if not even its first byte comes in `seconds`, nothing, and that is said."""
    chunks: list[bytes] = []
    begun, ended = threading.Event(), threading.Event()

    def read() -> None:
        fd = sys.stdin.fileno()
        with contextlib.suppress(OSError):
            while chunk := os.read(fd, 1 << 16):
                chunks.append(chunk)
                begun.set()
        begun.set()
        ended.set()

    # A daemon that reads the descriptor itself: one that waits for ever must not hold up the end of the program.
    threading.Thread(target=read, daemon=True).start()
    if not begun.wait(seconds):
        print(f"Nothing came through the pipe in {seconds:.0f} s, so the prompt goes without it. "
              "(A last word - waits as long as it takes.)", file=sys.stderr)  # fmt: skip
        return ""
    ended.wait()
    return b"".join(chunks).decode("utf-8", "replace")


def one_turn(runner: asyncio.Runner, conversation: Conversation, screen: Screen, prompt: str) -> int:
    """Run one turn; the exit code says how it ended. The first Ctrl-C cancels it, a second one leaves at once."""
    try:
        stop = runner.run(_turn(conversation, screen, prompt))
    except AgentError as fault:
        if screen.has_said(fault.message):
            return 1
        raise
    if stop == "cancelled":
        screen.say("Cancelled.")
        return terminal.end_by_interrupt()
    if stop != "end_turn":
        screen.say("! " + ENDINGS.get(stop, f"The turn ended with {stop}."), style="yellow")
    return 0 if stop == "end_turn" else 1


def converse(runner: asyncio.Runner, conversation: Conversation, screen: Screen) -> int:
    """Prompt after prompt until Ctrl-D; a turn's error ends the turn, not the conversation."""
    editing = LineEditor(Config.load().make_home() / "chat_history", lambda: screen.commands)
    screen.say(headline(conversation), style="bold")
    screen.say("Ctrl-C stops a turn, Ctrl-D leaves; a line that starts with / is a command.")
    while (prompt := editing.read()) is not None:
        if not prompt.strip():
            continue
        try:
            one_turn(runner, conversation, screen, prompt)
        except AgentError as fault:
            screen.say(f"✗ {fault.message}", style="red")
    return 0


def headline(conversation: Conversation) -> str:
    agent = conversation.agent
    model = conversation.option("model") or {}
    facts = [
        f"{agent.get('title') or agent.get('name') or 'agent'} {agent.get('version') or ''}".strip(),
        f"model {model['currentValue']}" if model.get("currentValue") else "",
        f"mode {conversation.modes['currentModeId']}" if conversation.modes.get("currentModeId") else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def _conversation(args: argparse.Namespace) -> tuple[Conversation, Screen]:
    screen = Screen()
    display: Display = JsonLines() if args.json else screen
    if not terminal.interactive() or args.json:
        return Conversation(display, None, args.yes), screen
    asking = asyncio.Lock()
    ask = partial(_one_by_one, asking, partial(permission.ask, screen))
    fill_in = partial(_one_by_one, asking, partial(form.fill_in, screen))
    return Conversation(display, ask, args.yes, fill_in), screen


async def _one_by_one(asking: asyncio.Lock, ask: Ask, params: Json) -> Json:
    """There is one keyboard: a question waits until the one before it is answered."""
    async with asking:
        return await ask(params)


def _open(runner: asyncio.Runner, conversation: Conversation, screen: Screen, wish: Wish) -> None:
    screen.waiting("starting")
    try:
        runner.run(conversation.open(wish))
    finally:
        screen.settle()


async def _turn(conversation: Conversation, screen: Screen, prompt: str) -> str:
    screen.waiting("thinking")
    try:
        return await conversation.turn(prompt)
    finally:
        screen.settle()


def _farewell(conversation: Conversation, screen: Screen) -> None:
    if conversation.session_id:
        screen.say(f"Session {conversation.session_id}. To go on: acp-adapter chat --resume {conversation.session_id}")
