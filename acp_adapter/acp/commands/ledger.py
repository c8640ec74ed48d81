"""Slash commands on the ledger: search, sessions, tree, branch, title."""

from __future__ import annotations

import time
from collections.abc import Sequence

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.agent.base import StopReason
from acp_adapter.errors import InvalidParams
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.listing import ListedSession, Page
from acp_adapter.ledger.picture import tree_lines
from acp_adapter.ledger.search import Hit

SHOWN = 10
TREE = 200


async def search(asked: Asked) -> StopReason:
    if not asked.argument:
        return await asked.say('Say what to look for: `/search words that must all occur`, or `/search "a phrase"`.')
    hits = await asked.services.ledger(SessionDB.search, asked.argument, limit=SHOWN)
    if not hits:
        return await asked.say(f"No session holds `{asked.argument}`.")
    return await asked.say("\n".join([f"{len(hits)} passages, the best first:", "", *map(_hit_line, hits)]))


async def list_sessions(asked: Asked) -> StopReason:
    page = await _page(asked, SHOWN)
    rows = [f"- {_label(listed)}" for listed in page.sessions]
    more = ["", "`acp-adapter sessions` in a terminal lists them all."] if page.next_cursor else []
    return await asked.say("\n".join([f"Sessions in `{asked.session.cwd}`:", "", *rows, *more]))


async def tree(asked: Asked) -> StopReason:
    page = await _page(asked, TREE)
    lines = await asked.services.ledger(_tree_text, page.sessions, asked.session.id)
    return await asked.say(f"Sessions in `{asked.session.cwd}` and their branches:\n\n```\n{lines}\n```")


async def branch(asked: Asked) -> StopReason:
    """At the head, or after the message whose id (or its beginning) is given."""
    session = asked.session
    upto = _message_id(asked) if asked.argument else None
    made = await asked.sessions.fork(session.id, str(session.cwd), session.additional, upto)
    where = f" up to message `{upto}`" if upto else ""
    warning = await made.checkpoints.warning()
    differing = f" {warning.title}: {warning.description}." if warning else ""
    return await asked.say(
        f"A branch of this session{where} is stored as **{made.title.text or made.id}** (`{made.id}`). Open it from "
        f"your editor's session list, or with `acp-adapter chat --resume {made.id}`. This session stays as it is."
        f"{differing}"
    )


async def title(asked: Asked) -> StopReason:
    if not asked.argument:
        return await asked.say(
            f"This session's title: **{asked.session.title.text or '(none)'}**. `/title WORDS` changes it."
        )
    await asked.session.title.rename(asked.argument)
    return await asked.say(f"This session is now called **{asked.session.title.text}**.")


async def _page(asked: Asked, limit: int) -> Page:
    return await asked.services.ledger(SessionDB.list_sessions, cwd=str(asked.session.cwd), limit=limit)


def _tree_text(db: SessionDB, sessions: Sequence[ListedSession], here: str) -> str:
    def label(listed: ListedSession) -> str:
        return _label(listed) + (" ← here" if listed.id == here else "")

    return "\n".join(tree_lines(db, sessions, label))


def _label(listed: ListedSession) -> str:
    name = listed.title or "(no title)"
    return f"{name} ({listed.id[:8]}, {age(listed.session.last_active)}, {listed.message_count} messages)"


def _hit_line(hit: Hit) -> str:
    compacted = ", compacted since" if hit.compacted else ""
    return (
        f"- **{hit.title or '(no title)'}** ({hit.role}, {age(hit.timestamp)}{compacted}): {hit.snippet}  \n"
        f"  open: `acp-adapter chat --resume {hit.session_id}`, message `{hit.message_id}`"
    )


def _message_id(asked: Asked) -> str:
    """The message of this conversation that the argument begins. Raises InvalidParams."""
    found = [message.id for message in asked.session.history if message.id.startswith(asked.argument)]
    if len(found) != 1:
        raise InvalidParams(f"{len(found)} messages of this session have an id that begins with {asked.argument!r}.")
    return found[0]


def age(timestamp: float) -> str:
    seconds = max(0.0, time.time() - timestamp)
    for limit, unit, size in ((60, "s", 1), (3600, "min", 60), (86400, "h", 3600)):
        if seconds < limit:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds // 86400)} days ago"


LEDGER = [
    Command("search", "Find what was said in any session", search, "WORDS"),
    Command("sessions", "List this folder's sessions", list_sessions),
    Command("tree", "Show this folder's sessions and their branches", tree),
    Command("branch", "Go on in a copy; this session stays as it is", branch, "[MESSAGE]"),
    Command("title", "Show or set this session's title", title, "[WORDS]"),
]
