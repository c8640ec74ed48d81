"""The session tree as a picture in text: each conversation with its branches below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.listing import ListedSession

Label = Callable[[ListedSession], str]


def tree_lines(db: SessionDB, sessions: Sequence[ListedSession], label: Label) -> Iterator[str]:
    """The listed sessions, one a line. A branch whose parent is not among them stands by itself."""
    by_root = {listed.root_id: listed for listed in sessions}
    children: dict[str, list[ListedSession]] = {}
    tops = []
    for listed in sessions:
        parent = db.chain(listed.parent)[0].id if listed.parent else None
        if parent in by_root and parent != listed.root_id:
            children.setdefault(str(parent), []).append(listed)
        else:
            tops.append(listed)
    for top in tops:
        yield label(top)
        yield from _below(top, children, "", label)


def _below(listed: ListedSession, children: dict[str, list[ListedSession]], indent: str, label: Label) -> Iterator[str]:
    branches = children.get(listed.root_id, [])
    for number, child in enumerate(branches, start=1):
        last = number == len(branches)
        yield f"{indent}{'└─' if last else '├─'} {label(child)}"
        yield from _below(child, children, indent + ("   " if last else "│  "), label)
