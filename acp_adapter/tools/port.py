"""The tool port: what a tool says it will do (Intent), what it may use (ToolContext), what it gives (ToolResult).

A tool never asks for permission itself: it states its intent, and `acp_adapter.agent` decides before `run`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

from attrs import define, field, frozen

from acp_adapter.ledger.file_edits import FileState

Kind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
"""ACP's ToolKind."""

Action = Literal["read", "edit", "execute", "fetch", "none"]
"""What the permission modes decide on: `fetch` reaches out to the network, `none` has no effect (update_plan)."""

Shown = dict[str, Any]
"""One ACP ToolCallContent as JSON: `{"type": "content", "content": {...}}`, `{"type": "diff", "path", "oldText",
"newText"}` or `{"type": "terminal", "terminalId"}`."""


@frozen
class Location:
    """An absolute path and, where it matters, a line counted from 1."""

    path: str
    line: int | None = None


@frozen
class Intent:
    """What one call is about to do, known before it runs: for the permission decision and the editor's display.

    `paths` are absolute and resolved (symlinks followed): everything the call reads or writes as far as it
    can be told; `passed` are other names of them, which lead there by symlinks. `command` is the shell text of an
    execute action, `domain` the host that a fetch asks. `preview` shows an edit as a diff.
    """

    title: str
    kind: Kind
    action: Action
    paths: Sequence[Path] = ()
    command: str | None = None
    locations: Sequence[Location] = ()
    preview: Sequence[Shown] = ()
    domain: str | None = None
    passed: Sequence[Path] = ()


@frozen
class Question:
    """What the model asks the user. `options` are one line each; the user may answer in other words."""

    text: str
    options: Sequence[str] = ()


@frozen
class Answer:
    """What the user did with a question. `text` is the answer where it was accepted."""

    action: Literal["accept", "decline", "cancel"]
    text: str = ""


@frozen
class ToolResult:
    """`text` goes to the model. `shown` goes to the editor; empty means: show the text. `failed` marks both.

    `raw_output` is ACP's rawOutput (JSON), None for none. `asks` is put to the user in the conversation and ends the
    turn.
    """

    text: str
    failed: bool = False
    shown: Sequence[Shown] = ()
    locations: Sequence[Location] = ()
    raw_output: Any = None
    asks: Question | None = None


@frozen
class TerminalRun:
    """How a command in the editor's terminal ended. `exit_code` is None when a signal ended it."""

    output: str
    truncated: bool
    exit_code: int | None
    signal: str | None


class FileHistory(Protocol):
    """Keeps what a call changes, so that it can be taken back and traced."""

    async def begin(self, path: Path, before: FileState, after: FileState, call_id: str) -> int | None:
        """Keep a change that is about to be made; it is safe when this returns. None where it can't be kept, which
        the user has been told."""
        ...

    async def withdraw(self, kept: int) -> None:
        """The change was not made after all."""
        ...

    def watching(self, paths: Iterable[Path], call_id: str) -> AbstractAsyncContextManager[None]:
        """While a command runs: what it changes in these files, and in those that were changed before, is kept."""
        ...


class Editor(Protocol):
    """What the connected editor offers. Each method may be called only where its flag is true.

    All raise ClientError when the editor refuses, answers nonsense or stays silent past a bounded time.
    """

    can_read: bool
    can_write: bool
    can_run: bool
    can_ask: bool

    async def read_text_file(self, path: Path, line: int | None = None, limit: int | None = None) -> str: ...

    async def write_text_file(self, path: Path, content: str) -> None: ...

    async def run_command(
        self, command: str, cwd: Path, env: dict[str, str], output_limit: int, opened: Callable[[str], None]
    ) -> TerminalRun:
        """Run a shell command in the editor's terminal. `opened` gets the terminalId at once, for display.

        Cancelling the caller kills the command. `output_limit` is in bytes.
        """
        ...

    async def ask_user(self, call_id: str, question: Question) -> Answer:
        """Show the question as a form and wait for the user. Cancelling the caller takes it away."""
        ...


@define
class ReadMemory:
    """What this session has read of each file: the path and a hash of its bytes or buffer text as last seen.

    An edit of a file that changed since is refused; one session has one memory for all its turns.
    """

    seen: dict[Path, str] = field(factory=dict)


@frozen
class ToolContext:
    """What a running call may use.

    `cwd` is absolute, as the editor spells it; `roots` are resolved, and the first is `cwd`. `progress` shows
    intermediate content in the editor (it replaces what was shown before). `plan` publishes plan entries as ACP
    PlanEntry JSON. `env` is laid over this program's environment for commands; secrets are left out of both.
    `session_id` owns the children that a command leaves in the background. `intent` and `run` of one call share one
    context: `resolved` holds what each path argument led to when the intent was stated, and `run` works nowhere else;
    `passed` holds the links on the way there.
    `hides` tells whether a rule refuses the file, so that a search must not show what is in it.
    `so_far` takes what there is to show of a call that is cancelled, the last of it counts.
    `outputs` is a private folder of the session in which output beyond what a result holds may be kept. `history`
    keeps what is changed, None where nothing is to be kept.
    """

    call_id: str
    cwd: Path
    roots: Sequence[Path]
    editor: Editor | None
    memory: ReadMemory
    progress: Callable[[Sequence[Shown]], None]
    plan: Callable[[Sequence[dict[str, Any]]], None]
    env: dict[str, str] = field(factory=dict)
    session_id: str = ""
    resolved: dict[str, Path] = field(factory=dict)
    passed: set[Path] = field(factory=set)
    hides: Callable[[Path], bool] = lambda path: False
    outputs: Path | None = None
    so_far: list[ToolResult] = field(factory=list)
    history: FileHistory | None = None


class Tool(Protocol):
    """One thing a model can do. `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]

    def intent(self, args: dict[str, Any], ctx: ToolContext) -> Awaitable[Intent]:
        """What `run` would do with these checked arguments. Changes nothing. Raises ToolError for hopeless ones."""
        ...

    def run(self, args: dict[str, Any], ctx: ToolContext) -> Awaitable[ToolResult]:
        """Do it. Raises ToolError for a failure that the model should read; cancelling it leaves nothing behind."""
        ...
