"""Attachments: the data of images, audio and blobs, once in the file however many messages hold it.

The contents of files that sessions changed stand here too: see `file_edits`.

A message is taken apart when it is written. The bytes go to `attachments` under their SHA-256; in the `content` that
other programs read a text stands in the place of the part, which says what it was; and `message_attachments` says
what to put back where. What is read is the message as it was written. Small data stays in the message.

    content   [{"type": "text", "text": "look"}, {"type": "text", "text": "[attachment: image/png, …]"}]
    path      [1,"image_url","url"]
    part      {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}

`details` are ours alone: there the data is left out in its place, and no part is needed. A program that writes a
message anew, with the text that it read, gets an image tied to it again by a trigger: see the schema.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from acp_adapter.ledger.encoding import clean, storable
from acp_adapter.ledger.fulltext import PART_FIELDS
from acp_adapter.ledger.schema import ATTACHMENT_MARK

LEAST = 1024
"""So many characters of base64 are kept apart; fewer stay in the message."""

_KEYS = {"url", "image_url", "file_data", "data", "blob"}
"""Where data stands: as a data URL or bare, in parts of OpenAI's form and in ACP's blocks."""

_HEAD = re.compile(r"data:[^,]{0,200};base64,")

_OF_MESSAGE = "SELECT field, path, part, hash FROM message_attachments WHERE message_id = ?"

UNUSED = " AND ".join(
    f"NOT EXISTS (SELECT 1 FROM {table} holder WHERE holder.{column} = attachments.hash)"
    for table, column in (
        ("message_attachments", "hash"),
        ("file_edits", "before_hash"),
        ("file_edits", "after_hash"),
    )
)
"""SQL: no message and no file edit holds the attachment."""

Path = list[str | int]


@frozen
class Attachment:
    """Data taken out of a value. `path` leads to its text, of which `head` stays; `part` is the list's item without
    the data, where a text was put in its place."""

    path: Path
    head: str
    data: bytes
    hash: str
    part: Any = None


def of_parts(content: Any) -> tuple[Any, list[Attachment]]:
    """Content with a text in the place of each part that holds much data, and that data."""
    if not isinstance(content, list):
        return content, []
    parts, found = list(content), []
    for at, part in enumerate(content):
        taken = next(_data_in(part, []), None)
        if taken:
            rest = clean(_replaced(part, taken.path, taken.head))
            parts[at] = {"type": "text", "text": _stand_in(rest, taken)}
            found.append(evolve(taken, path=[at, *taken.path], part=rest))
    return parts, found


def of_details(details: Any) -> tuple[Any, list[Attachment]]:
    """Details without their data, and that data."""
    found = list(_data_in(details, []))
    for taken in found:
        details = _replaced(details, taken.path, taken.head)
    return details, found


def keep(sql: sqlite3.Connection, row: int, field: str, found: list[Attachment]) -> None:
    """Write what was taken out of that field of a message."""
    for taken in found:
        part = None if taken.part is None else json.dumps(taken.part)
        sql.execute("INSERT OR IGNORE INTO attachments(hash, bytes) VALUES (?, ?)", (taken.hash, taken.data))
        sql.execute(
            "INSERT INTO message_attachments(message_id, field, path, part, hash) VALUES (?, ?, ?, ?, ?)",
            (row, field, json.dumps(taken.path, separators=(",", ":")), part, taken.hash),
        )


def forget(sql: sqlite3.Connection, row: int, field: str) -> bool:
    """Tie nothing to that field of a message any more; whether something was tied to it."""
    gone = sql.execute("DELETE FROM message_attachments WHERE message_id = ? AND field = ?", (row, field))
    return gone.rowcount > 0


def purge(sql: sqlite3.Connection) -> None:
    """Delete the data that nothing holds any more."""
    sql.execute(f"DELETE FROM attachments WHERE {UNUSED}")


def unused(sql: sqlite3.Connection) -> int:
    """How many attachments nothing holds: another program deleted what did."""
    return int(sql.execute(f"SELECT count(*) FROM attachments WHERE {UNUSED}").fetchone()[0])


class Reader:
    """Puts data back into messages. Of the same data in several messages there is one text in memory."""

    def __init__(self, sql: sqlite3.Connection) -> None:
        self._sql = sql
        self._texts: dict[tuple[str, str], str | None] = {}

    def put_back(self, row: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields as they were written. What is not in the file any more stays left out."""
        whole = dict(fields)
        for field, path, part, digest in self._sql.execute(_OF_MESSAGE, (row,)).fetchall():
            with contextlib.suppress(LookupError, TypeError, ValueError):
                whole[field] = self._with_data(whole[field], json.loads(path), part, digest)
        return whole

    def _with_data(self, value: Any, path: Path, part: str | None, digest: str) -> Any:
        """Raises LookupError or TypeError where another program has written something else there."""
        if part is not None:
            if not value[path[0]]["text"].endswith(_ending(digest)):
                raise LookupError
            value = _replaced(value, path[:1], json.loads(part))
        head = value
        for step in path:
            head = head[step]
        text = self._text(head, digest)
        if text is None:
            raise LookupError
        return _replaced(value, path, text)

    def _text(self, head: str, digest: str) -> str | None:
        if (head, digest) not in self._texts:
            found = self._sql.execute("SELECT bytes FROM attachments WHERE hash = ?", (digest,)).fetchone()
            self._texts[head, digest] = head + base64.b64encode(found[0]).decode("ascii") if found else None
        return self._texts[head, digest]


def damaged(sql: sqlite3.Connection) -> list[str]:
    """The hashes of attachments whose bytes are others than they were. Reads all of them."""
    rows = sql.execute("SELECT hash, bytes FROM attachments")
    return [digest for digest, data in rows if hashlib.sha256(data).hexdigest() != digest]


def mend(sql: sqlite3.Connection) -> None:
    """Drop what belongs to no message, as a program leaves it that deletes without a look at foreign keys."""
    sql.execute("DELETE FROM message_attachments WHERE message_id NOT IN (SELECT id FROM messages)")
    sql.execute("DELETE FROM message_attachments WHERE hash NOT IN (SELECT hash FROM attachments)")
    purge(sql)


def _data_in(value: Any, path: Path) -> Iterator[Attachment]:
    """Every text that is much data."""
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _data_in(item, [*path, at])
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _data_in(item, [*path, key]) if storable(key) == key else ()
            elif key in _KEYS and isinstance(item, str) and len(item) >= LEAST:
                head = found[0] if (found := _HEAD.match(item)) else ""
                data = _decoded(item[len(head) :])
                if data is not None:
                    yield Attachment([*path, key], head, data, hashlib.sha256(data).hexdigest())


def _decoded(text: str) -> bytes | None:
    """The bytes, if exactly this text is made of them again."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data) == text.encode() else None


def _replaced(value: Any, path: Path, new: Any) -> Any:
    """A copy of the value with something else at the path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _stand_in(part: Any, taken: Attachment) -> str:
    """What another program, and its model, reads in the place of the part; words that are searched stand before."""
    words = [word for field in PART_FIELDS if isinstance(word := _at(part, field), str) and word]
    mime = taken.head[5:].partition(";")[0] or _at(part, "resource.mimeType") or part.get("type") or "data"
    size = f"{max(1, len(taken.data) // 1024):,} KB"
    return " ".join([*words, f"{ATTACHMENT_MARK}{mime}, {size}{_ending(taken.hash)}"])


def _ending(digest: str) -> str:
    return f"; sha256 {digest}]"


def _at(value: Any, field: str) -> Any:
    for key in field.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
