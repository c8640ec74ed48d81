"""What the small model is told: a system text and worked examples, the same for everybody, then the conversation.

The beginning is byte-stable, so that it is computed once and kept. The agent's own system prompt is written for models
that can follow a page of advice; this one does better without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from acp_adapter.errors import ContextTooLong
from acp_adapter.providers.local.record import sent_text
from acp_adapter.providers.local.steps import NAMES, SAY, Step
from acp_adapter.transcript import Message, ToolCall

Said = dict[str, str]
"""One message as llama.cpp takes it: role and content."""

RESULT, WORDS = 3_000, 3_000
"""Characters that are told of a tool's result, and of what the model said or asked for."""

SYSTEM = """\
You are a coding assistant in a project folder. Reply with one JSON object: the next tool call.
read_file: show a file. list_folder: show a folder. find_files: find files by name. search_text: find text in files.
write_file: create a new file. run_command: run a shell command (tests, git, versions, programs).
say: talk to the user. Look with a tool before you say something about the project."""


def told(role: str, content: str) -> Said:
    """Without the marks by which the model tells speakers apart: no file can speak for the user."""
    return {"role": role, "content": content.replace("<|", "<\u200b|")}


def beginning() -> list[Said]:
    """What every request with tools begins with."""
    return [told("system", SYSTEM), *(said for piece in _examples() for said in piece)]


def conversation(messages: Sequence[Message]) -> list[list[Said]]:
    """The transcript in pieces that stay together: what somebody said, or a call with its result.

    How a piece is told depends on it and on what came before, never on what comes after.
    """
    return list(_pieces(messages))


def talk(messages: Sequence[Message]) -> list[list[Said]]:
    """The transcript as plain talk, for requests without tools."""
    return [[told("user" if m.role == "tool" else m.role, sent_text(m))] for m in messages if sent_text(m)]


def last_asked(pieces: Sequence[Sequence[Said]]) -> int:
    """Where the last word of the user stands among the pieces."""
    return max((at for at, piece in enumerate(pieces) if len(piece) == 1 and piece[0]["role"] == "user"), default=0)


def fitting(sizes: Sequence[int], asked: int, room: int) -> list[int]:
    """The pieces to tell, by their sizes in tokens: the newest that fit, and the one at `asked` in any case.

    Where there is no room for one more, a third of the room is freed at once, so that the prompts of the next steps
    begin alike. Raises ContextTooLong where the last word of the user, or the newest piece beside it, has no room.
    """
    free = room - (sizes[asked] if sizes else 0)
    first, kept = 0, 0
    for at, size in enumerate(sizes):
        kept += size if at != asked else 0
        if kept > free:
            while kept > free * 2 // 3 and first < at:
                kept -= sizes[first] if first != asked else 0
                first += 1
    if min(free, free - kept) < 0:
        raise ContextTooLong(
            f"This is too long for the embedded model, which has room for {room} tokens. "
            "Shorten it, or choose a bigger model with `acp-adapter setup`."
        )
    return [at for at in range(len(sizes)) if at >= first or at == asked]


def clipped(text: str, limit: int) -> str:
    """Head and tail of a long text, with a note of how much lies between."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"


def _pieces(messages: Sequence[Message]) -> Iterator[list[Said]]:
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if message.role == "tool":
            if call := calls.pop(message.tool_call_id or "", None):
                yield _call(call.name, _arguments(call), sent_text(message))
        elif message.calls():
            calls |= {call.id: call for call in message.calls()}
        elif message.role == "assistant":
            yield [_say(sent_text(message))]
        else:
            yield [told("user", sent_text(message))]


def _call(tool: str, arguments: dict[str, Any], result: str) -> list[Said]:
    step = clipped(Step(tool, arguments).written(), WORDS)
    about = next(iter(arguments.values()), "") if len(arguments) == 1 else arguments.get("path", "")
    heading = f"Result of {NAMES.get(tool, tool)} {str(about)[:200]}".strip()
    return [told("assistant", step), told("user", f"{heading}:\n{clipped(result, RESULT)}")]


def _say(text: str) -> Said:
    return told("assistant", Step(SAY, {"text": clipped(text, WORDS)}).written())


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        read = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _examples() -> Iterator[list[Said]]:
    for words, steps in EXAMPLES:
        yield [told("user", words)]
        for tool, arguments, result in steps:
            yield (
                [told("assistant", Step(tool, arguments).written())]
                if result is None
                else _call(tool, arguments, result)
            )


Worked = tuple[str, dict[str, Any], str | None]
"""A step of an example, with its result where the example goes on."""

HELLO_C = '#include <stdio.h>\n\nint main(void) {\n    puts("hello");\n}\n'
SETTINGS = "[log]\nlevel = debug\nfile = app.log\n"

EXAMPLES: list[tuple[str, list[Worked]]] = [
    (
        "Write hi.py, which prints hi, and run it.",
        [
            ("write_file", {"path": "hi.py", "content": 'print("hi")\n'}, "Created hi.py (1 lines)."),
            ("run_command", {"command": "python hi.py"}, "hi"),
            (SAY, {"text": "hi.py prints hi."}, None),
        ],
    ),
    (
        "What is the log level in config/settings.ini?",
        [
            ("read_file", {"path": "config/settings.ini"}, SETTINGS),
            (SAY, {"text": "The log level in config/settings.ini is debug."}, None),
        ],
    ),
    ("find the JSON files in assets", [("glob", {"pattern": "assets/**/*.json"}, None)]),
    (
        "Who calls load_user?",
        [
            ("grep", {"pattern": "load_user"}, "app/auth.py:12:    user = load_user(name)"),
            (SAY, {"text": "app/auth.py calls load_user in line 12."}, None),
        ],
    ),
    ("Do the tests pass?", [("run_command", {"command": "python -m pytest"}, None)]),
    ("Good morning!", [(SAY, {"text": "Good morning! What shall I do in this project?"}, None)]),
    ("Create main.c with a hello program", [("write_file", {"path": "main.c", "content": HELLO_C}, None)]),
    ("Which files are here?", [("list_directory", {"path": "."}, None)]),
    ("Is docker installed?", [("run_command", {"command": "docker --version"}, None)]),
    (
        "What is a hash map?",
        [(SAY, {"text": "A hash map stores values under keys and finds them by the key's hash."}, None)],
    ),
    ("do we have curl?", [("run_command", {"command": "curl --version"}, None)]),
    ("which modules use numpy?", [("grep", {"pattern": "import numpy"}, None)]),
    ("every Go file of this project", [("glob", {"pattern": "**/*.go"}, None)]),
    ("who wrote the newest commit?", [("run_command", {"command": "git log -1"}, None)]),
    ("In which file is the struct Point declared?", [("grep", {"pattern": "Point"}, None)]),
]
