"""What an editor's panel shows after a run of updates: the one view that live and replay must agree on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from attrs import define, field

CHUNKS = {"user_message_chunk": "user", "agent_message_chunk": "answer", "agent_thought_chunk": "thought"}

NOTICE = "acp-adapter/notice"
"""In a chunk's `_meta`: the chunk is a notice for a client that can't show notices."""


@define
class Item:
    """One entry of the panel. `role` is user, answer, thought, call or compaction; `fields` are the merged ones of the
    last two."""

    role: str
    id: str | None
    content: list[dict[str, Any]] = field(factory=list)
    fields: dict[str, Any] = field(factory=dict)

    @property
    def text(self) -> str:
        return "".join(block.get("text", "") for block in self.content)

    def add(self, block: dict[str, Any]) -> None:
        """Text goes on where text ended; anything else is a block of its own."""
        last = self.content[-1] if self.content else {}
        if block.get("type") == last.get("type") == "text" and set(block) == set(last) == {"type", "text"}:
            self.content[-1] = {"type": "text", "text": last["text"] + block["text"]}
        else:
            self.content.append(block)


def panel(updates: Iterable[dict[str, Any]]) -> list[Item]:
    """The entries in order of their first appearance."""
    items: dict[tuple[str, str | None], Item] = {}
    for number, update in enumerate(updates):
        kind = update.get("sessionUpdate", "")
        if kind in CHUNKS:
            message_id = update.get("messageId") or f"unnamed-{number}"
            item = items.setdefault((CHUNKS[kind], message_id), Item(CHUNKS[kind], update.get("messageId")))
            item.add(update["content"])
        elif kind in ("tool_call", "tool_call_update"):
            item = items.setdefault(("call", update["toolCallId"]), Item("call", update["toolCallId"]))
            item.fields |= {key: value for key, value in update.items() if value is not None}
        elif kind == "compaction_update":
            item = items.setdefault((kind, update["compactionId"]), Item("compaction", update["compactionId"]))
            item.fields |= {key: value for key, value in update.items() if value is not None}
    return list(items.values())


def plan(updates: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of the last plan."""
    entries: list[dict[str, Any]] = []
    for update in updates:
        if update.get("sessionUpdate") == "plan":
            entries = update["entries"]
    return entries


def differences(
    live: Iterable[dict[str, Any]],
    replayed: Iterable[dict[str, Any]],
    joined: bool = False,
    broken_off: bool = False,
) -> list[str]:
    """How the replay differs from what was seen live, a line each.

    `joined` means that the beginning was not seen live, `broken_off` that the end was not.

    Live, user messages have no id (the client wrote them itself), and a terminal is shown that no longer lives when
    it is replayed: there the replay has the output instead. A notice in words and a compaction that failed are live
    events, not history.
    """
    live = [update for update in live if NOTICE not in (update.get("_meta") or {})]
    replayed = list(replayed)
    before, after = panel(live), panel(replayed)
    before = [item for item in before if (item.role, item.fields.get("status")) != ("compaction", "failed")]
    found = _plan_differences(live, replayed, joined) if not broken_off else []
    after = after[_meeting(before, after) if joined else 0 :]
    after = after[: len(before)] if broken_off else after
    for first, second in zip(before, after, strict=False):
        found += _item_differences(first, second)
    for item in before[len(after) :]:
        found.append(f"not replayed: {item.role} {item.id} {item.text[:80]!r}")
    for item in after[len(before) :]:
        found.append(f"replayed but never shown: {item.role} {item.id} {item.text[:80]!r}")
    return found


def _plan_differences(live: list[dict[str, Any]], replayed: list[dict[str, Any]], joined: bool) -> list[str]:
    seen, told = plan(live), plan(replayed)
    return [f"the plan: {seen} → {told}"] if seen != told and (seen or not joined) else []


def _meeting(before: list[Item], after: list[Item]) -> int:
    """Where in the replay the first item stands that was seen live: by what has an id in both, else by the words that
    follow each other, else from the end."""
    for at, item in enumerate(before):
        same = [place for place, other in enumerate(after) if (item.role, item.id) == (other.role, other.id)]
        if same and item.role != "user":
            return max(same[0] - at, 0)
    last = max(len(after) - len(before), 0)
    said = [(item.role, item.text) for item in before]
    told = [(item.role, item.text) for item in after]
    return next((at for at in range(last, -1, -1) if told[at : at + len(said)] == said), last)


def _item_differences(live: Item, replayed: Item) -> list[str]:
    name = f"{live.role} {live.id}"
    if live.role != replayed.role or (live.role != "user" and live.id != replayed.id):
        return [f"{name} {live.text[:60]!r} → {replayed.role} {replayed.id} {replayed.text[:60]!r}"]
    pairs: list[tuple[str, Any, Any]] = [("content", live.content, replayed.content)]
    for key in sorted((set(live.fields) | set(replayed.fields)) - {"sessionUpdate", "_meta"}):
        one, two = live.fields.get(key) or None, replayed.fields.get(key) or None
        if not (key == "content" and _has_terminal(one) and two and not _has_terminal(two)):
            pairs.append((key, one, two))
    return [f"{name}, {key}: {_short(one)} → {_short(two)}" for key, one, two in pairs if one != two]


def _has_terminal(content: Any) -> bool:
    return any(shown.get("type") == "terminal" for shown in content or ())


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:300]
