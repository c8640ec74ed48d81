"""Conversations as one HTML file: to read and to send. It needs no network and no script.

Whatever stands in a message stays text: everything is escaped, Markdown is read without its HTML, and the page's own
policy (Content Security Policy, level 3) lets a browser run nothing and fetch nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from markdown_it import MarkdownIt

from acp_adapter.export import pieces
from acp_adapter.export.conversation import Conversation, Step, Write, steps, tool_status, tool_title
from acp_adapter.export.markdown import indented, moment
from acp_adapter.export.page_style import STYLE
from acp_adapter.export.pieces import Piece
from acp_adapter.transcript import Message, ToolCall

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+")
_WEB = re.compile(r"https?://", re.IGNORECASE)
_NAMES = {"user": "You", "assistant": "Agent", "system": "System"}
_DIFF = {"+": "ins", "-": "del"}

_markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


def write(conversations: Iterable[Conversation], out: Write, title: str = "Conversations") -> None:
    """`title` is the page's; each conversation has a heading of its own."""
    out(_head(title))
    for conversation in conversations:
        for part in article(conversation):
            out(part + "\n")
    out("</main>\n</body>\n</html>\n")


def article(conversation: Conversation) -> Iterator[str]:
    session = conversation.session
    about = [session.source, session.model or "no model", session.cwd, moment(session.last_active)]
    yield f'<article id="{escape(conversation.id)}">'
    yield f"<h1>{escape(conversation.title or 'Untitled conversation')}</h1>"
    told = " · ".join(map(escape, filter(None, about)))
    yield f'<p class="about">{told} · <code>{escape(conversation.id)}</code></p>'
    if conversation.system_prompt:
        yield _folded("System prompt", f"<pre>{escape(conversation.system_prompt)}</pre>")
    for step in steps(conversation):
        yield from _step(step)
    yield "</article>"


def _step(step: Step) -> Iterator[str]:
    message = step.message
    name = "Summary of what was compacted" if step.is_summary else _NAMES[message.role]
    said = "".join(map(_shown, pieces.of_message(message)))
    yield f'<section class="{"summary" if step.is_summary else message.role}">'
    if said or not step.calls:
        yield f"<h2>{name} <time>{moment(message.timestamp)}</time></h2>"
    if thought := message.reasoning or message.reasoning_content:
        yield _folded("Thought", _markdown.render(thought))
    yield said
    yield from (_called(call, result) for call, result in step.calls)
    yield "</section>"


def _called(call: ToolCall, result: Message) -> str:
    """Diffs are open: they are what a reader looks for."""
    shown = list(pieces.of_result(result))
    status = tool_status(result)
    mark = '<span class="failed">failed</span>' if status == "failed" else ""
    title = f"<b>{escape(tool_title(call, result))}</b> <code>{escape(call.name)}</code> {mark}"
    body = f"<pre>{escape(indented(call.arguments))}</pre>" + "".join(map(_shown, shown))
    return _folded(title, body, is_open=any(piece.kind == "diff" for piece in shown), is_html=True)


def _folded(title: str, body: str, is_open: bool = False, is_html: bool = False) -> str:
    summary = title if is_html else escape(title)
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>{body}</details>"


def _shown(piece: Piece) -> str:
    label = f'<p class="path">{escape(piece.label)}</p>' if piece.label else ""
    if piece.kind == "text":
        return str(_markdown.render(piece.text))
    if piece.kind == "image" and _IMAGE.fullmatch(piece.text):
        return f'<img src="{escape(piece.text)}" alt="image">'
    if piece.kind in ("link", "image"):
        return f"<p>{_link(piece)}</p>"
    if piece.kind == "diff":
        return f'{label}<pre class="diff">{_diff(piece.text.split(chr(10)))}</pre>'
    if piece.kind == "other":
        return f"<p>[{escape(piece.text)}]</p>"
    return f"{label}<pre>{escape(piece.text)}</pre>"


def _link(piece: Piece) -> str:
    """Only what leads to the web can be clicked: other addresses mean something on one machine alone."""
    name = escape(piece.label or piece.text[:200])
    if _WEB.match(piece.text):
        return f'<a href="{escape(piece.text)}" rel="noreferrer">{name}</a>'
    return f"<code>{name}</code>"


def _diff(lines: Sequence[str]) -> str:
    marked = []
    for line in lines:
        tag = _DIFF.get(line[:1])
        text = escape(line)
        marked.append(
            f"<{tag}>{text}</{tag}>" if tag else f'<span class="at">{text}</span>' if line[:2] == "@@" else text
        )
    return "\n".join(marked)


def _head(title: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
"""
