"""`/export`: this session as a file, secrets taken out, nothing overwritten."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from acp_adapter.acp.commands.command import Asked, Command
from acp_adapter.agent.base import StopReason
from acp_adapter.errors import InvalidParams
from acp_adapter.ledger.db import SessionDB, takes_long
from acp_adapter.ledger.exchange import chosen, lossless
from acp_adapter.providers.secrets import redactor_of
from acp_adapter.redaction import Redactor
from acp_adapter.tools.paths import inside

ENDINGS = {"markdown": ".md", "html": ".html", "json": ".json"}
NAMES_TRIED = 100

Out = Callable[[str], object]


async def export(asked: Asked) -> StopReason:
    """`/export [FORMAT] [PATH]`: Markdown where neither the format nor the path's ending says otherwise."""
    form, path = _wish(asked.argument)
    target = _inside(path, asked) if path else _free_name(asked, form)
    redactor = redactor_of(asked.services.config)
    await asked.services.ledger(_write, asked.session.id, form, target, redactor)
    secrets = f" {redactor.count} secrets were redacted." if redactor.count else ""
    return await asked.say(f"This session is in `{target}`.{secrets}")


def _wish(argument: str) -> tuple[str, str]:
    word, _, rest = argument.partition(" ")
    if word in ENDINGS:
        return word, rest.strip()
    known = {ending: form for form, ending in ENDINGS.items()}
    form = known.get(Path(argument).suffix.lower(), "markdown")
    return form, argument


def _inside(path: str, asked: Asked) -> Path:
    """Raises InvalidParams for a place outside the session's folders."""
    target = Path(os.path.realpath(asked.session.cwd / Path(path).expanduser()))
    if not inside(target, asked.session.workspace.roots):
        raise InvalidParams(f"{target} lies outside the session's folders. Name a file inside, or leave it out.")
    return target


def _free_name(asked: Asked, form: str) -> Path:
    slug = re.sub(r"\W+", "-", asked.session.title.text or "session").strip("-")[:50].lower() or "session"
    folder = asked.session.workspace.roots[0]
    names = [f"{slug}{'' if n == 1 else f'-{n}'}{ENDINGS[form]}" for n in range(1, NAMES_TRIED)]
    return next((folder / name for name in names if not (folder / name).exists()), folder / names[0])


@takes_long
def _write(db: SessionDB, session_id: str, form: str, target: Path, redactor: Redactor) -> None:
    nodes = chosen.nodes(db, [session_id])
    with _new_file(target) as out:
        if form == "json":
            lossless.write(db, nodes, out, redactor.text)
            return
        # Imported when it is asked for: formats are no business of a panel that exports nothing.
        from acp_adapter.export import html, markdown
        from acp_adapter.export.conversation import conversations

        told = conversations(db, chosen.conversations(db, nodes), redactor)
        (html.write if form == "html" else markdown.write)(told, out)


@contextmanager
def _new_file(path: Path) -> Iterator[Out]:
    """A private file that was not there before, whole or not at all. Raises InvalidParams."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError as fault:
        raise InvalidParams(f"{path} is there already, and nothing is overwritten. Choose another name.") from fault
    except OSError as fault:
        raise InvalidParams(f"{path} can't be written: {fault.strerror}.") from fault
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            yield file.write
    except BaseException:
        path.unlink(missing_ok=True)
        raise


EXPORT = [Command("export", "Write this session to a file", export, "[markdown|html|json] [FILE]")]
