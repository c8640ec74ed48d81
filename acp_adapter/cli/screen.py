"""What a conversation looks like in a terminal: each `session/update` becomes lines a person can follow.

The model's answer goes to stdout; everything about it (thoughts, tools, diffs, plan, notices, questions) to stderr,
so that `acp-adapter chat … > answer.txt` holds the answer alone. Colours appear only on a terminal, and never
where NO_COLOR is set.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.status import Status

from acp_adapter.cli.terminal import one_line, safe

Json = dict[str, Any]

OUTPUT_LINES = 8
DIFF_LINES = 80

PLAN_MARKS = {"completed": ("✔", "green"), "in_progress": ("▸", "yellow"), "pending": ("·", "dim")}
NOTICE_MARKS = {"info": ("i", "cyan"), "warning": ("!", "yellow"), "error": ("✗", "red")}


class Screen:
    """Shows updates as they come. It remembers only what the next line's form depends on."""

    def __init__(self) -> None:
        self.answer = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.aside = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
        self.commands: list[str] = []
        self.title: str | None = None
        self._status: Status | None = None
        self._open: tuple[str, str | None] | None = None
        self._titles: dict[str, str] = {}
        self._held = ""
        self._message = ""
        self._silent: set[str] = set()
        """Calls whose effect is shown otherwise: a plan is a plan update."""
        self._diffs: set[tuple[str, str]] = set()
        self._last_call: str | None = None

    def show(self, update: Json) -> None:
        """Show one update. A kind this client does not know is left out, as the protocol asks."""
        shower = getattr(self, "_show_" + str(update.get("sessionUpdate")), None)
        if shower is not None:
            shower(update)

    def update(self, params: Json) -> None:
        """As `show`, from the params of `session/update`."""
        self.show(params.get("update") or {})

    def ended(self, session_id: str, result: Json) -> None:
        self.settle()

    def note(self, message: str) -> None:
        self.say(f"! {message}", style="yellow")

    def waiting(self, message: str) -> None:
        """Say what is being waited for, until anything else is shown. Nothing where nobody watches."""
        if self._status is None and self._open is None and self.aside.is_terminal:
            self._status = self.aside.status(message, spinner="dots", spinner_style="dim")
            self._status.start()

    def settle(self) -> None:
        """End a line that is still open and stop waiting; what comes next starts at the left edge."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        if self._open is not None:
            (self.answer if self._open[0] == "answer" else self.aside).out("")
            self._open, self._held = None, ""
        self.answer.file.flush()

    def say(self, message: str, style: str = "dim") -> None:
        """One line of our own."""
        self.settle()
        self._last_call = None
        self.aside.out(safe(message), style=style)

    def has_said(self, text: str) -> bool:
        """Whether the last message of the agent was this: an error that came as text need not be told again."""
        return self._message.strip() == text.strip()

    def tool_title(self, call: Json) -> str:
        """The best name known for a tool call, from this update or an earlier one."""
        call_id = str(call.get("toolCallId"))
        title = call.get("title") or self._titles.get(call_id) or call.get("name") or "a tool"
        self._titles[call_id] = str(title)
        return one_line(str(title), max(40, self.aside.width - 4))

    def tool_content(self, call: Json) -> None:
        """What a call shows: its diffs as soon as they are known, each once, and its output when it has ended."""
        call_id = str(call.get("toolCallId"))
        ended = call.get("status") in ("completed", "failed")
        for item in call.get("content") or ():
            if item.get("type") == "diff":
                self._diff(call_id, item)
            elif item.get("type") == "content" and ended:
                self._output(unfenced(chunk_text(item.get("content") or {})), failed=call.get("status") == "failed")

    def tool_preview(self, call: Json) -> None:
        """What a call is about to do, whole: who is asked must see what they allow."""
        self.tool_content(call)
        for item in call.get("content") or ():
            if item.get("type") == "content":
                for line in safe(unfenced(chunk_text(item.get("content") or {}))).rstrip().split("\n"):
                    self.aside.out("  │ " + line)

    def _show_user_message_chunk(self, update: Json) -> None:
        self._stream("user", update, "bold")

    def _show_agent_message_chunk(self, update: Json) -> None:
        self._stream("answer", update, None)

    def _show_agent_thought_chunk(self, update: Json) -> None:
        self._stream("thought", update, "dim italic")

    def _stream(self, kind: str, update: Json, style: str | None) -> None:
        text = chunk_text(update.get("content") or {})
        if not text:
            return
        now = (kind, update.get("messageId"))
        if self._open != now:
            self.settle()
            self._open = now
            self._message = ""
            if kind == "user":
                text = "› " + text
        self._last_call = None
        self._message += text
        if kind == "answer":
            self._answer_text(text)
        else:
            self.aside.out(safe(text), style=style, end="")

    def _answer_text(self, text: str) -> None:
        """To a file or pipe the model's own characters, to a terminal only those that can't act on it.

        Line ends are held back until more text follows: however many a message ends with, one is shown.
        """
        if self.answer.is_terminal:
            text = safe(text)
        body = text.rstrip("\n")
        if body:
            self.answer.file.write(self._held + body)
            self.answer.file.flush()
            self._held = ""
        self._held += "\n" * (len(text) - len(body))

    def _show_tool_call(self, update: Json) -> None:
        if update.get("kind") == "think":
            self._silent.add(str(update.get("toolCallId")))
            return
        self.settle()
        self._announce(update, "bold")
        self._show_tool_call_update(update)

    def _announce(self, call: Json, style: str) -> None:
        self._last_call = str(call.get("toolCallId"))
        self.aside.out("● ", style="cyan", end="")
        self.aside.out(self.tool_title(call), style=style)

    def _show_tool_call_update(self, update: Json) -> None:
        if update.get("toolCallId") in self._silent and update.get("status") != "failed":
            return
        title = self.tool_title(update)
        ended = update.get("status") in ("completed", "failed")
        if ended or any(item.get("type") == "diff" for item in update.get("content") or ()):
            self.settle()
            if self._last_call != update.get("toolCallId"):
                self._announce(update, "dim")
            self.tool_content(update)
        if update.get("status") == "failed":
            self.aside.out("  ✗ failed", style="red")
        self.waiting("thinking" if ended else title)

    def _output(self, text: str, *, failed: bool) -> None:
        lines = safe(text).rstrip().split("\n")
        for line in lines[:OUTPUT_LINES]:
            self.aside.out("  │ " + line, style="red" if failed else "dim")
        if len(lines) > OUTPUT_LINES:
            self.aside.out(f"  │ … {len(lines) - OUTPUT_LINES} more lines", style="dim")

    def _diff(self, call_id: str, item: Json) -> None:
        seen = (call_id, repr(item))
        if seen in self._diffs:
            return
        self._diffs.add(seen)
        self.aside.out("  " + safe(str(item.get("path"))), style="bold")
        lines = list(diff_lines(item.get("oldText") or "", item.get("newText") or ""))
        for line, style in lines[:DIFF_LINES]:
            self.aside.out("  " + safe(line), style=style)
        if len(lines) > DIFF_LINES:
            self.aside.out(f"  … {len(lines) - DIFF_LINES} more lines", style="dim")

    def _show_plan(self, update: Json) -> None:
        self.settle()
        self._last_call = None
        self.aside.out("Plan", style="bold")
        for entry in update.get("entries") or ():
            mark, style = PLAN_MARKS.get(str(entry.get("status")), ("·", "dim"))
            self.aside.out(f"  {mark} {one_line(str(entry.get('content')), 200)}", style=style)

    def _show_notice(self, update: Json) -> None:
        mark, style = NOTICE_MARKS.get(str(update.get("severity")), ("i", "cyan"))
        detail = update.get("description")
        self.say(f"{mark} {update.get('title')}" + (f"\n  {detail}" if detail else ""), style=style)

    def _show_current_mode_update(self, update: Json) -> None:
        self.say(f"mode: {update.get('currentModeId')}")

    def _show_available_commands_update(self, update: Json) -> None:
        self.commands = [str(command.get("name")) for command in update.get("availableCommands") or ()]

    def _show_session_info_update(self, update: Json) -> None:
        self.title = update.get("title", self.title)


def unfenced(text: str) -> str:
    """What agents put in a Markdown fence, for a screen that shows it as it is."""
    found = re.fullmatch(r"(`{3,})[^\n`]*\n(.*)\n\1\s*", text, re.DOTALL)
    return found[2] if found else text


def chunk_text(content: Json) -> str:
    """A content block as text; what is not text is named."""
    kind = content.get("type")
    if kind == "text":
        return str(content.get("text") or "")
    if kind == "resource_link":
        return f"[{content.get('name') or content.get('uri')}]"
    if kind == "resource":
        return f"[{(content.get('resource') or {}).get('uri', 'resource')}]"
    return f"[{kind}]"


def diff_lines(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The lines of a unified diff, each with its style; without the two lines of file names."""
    diff = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    for number, line in enumerate(diff):
        if number >= 2:
            yield line, {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
