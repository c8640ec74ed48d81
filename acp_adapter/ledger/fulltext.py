"""The full-text indexes over messages: what is indexed, how they are made, and made again when damaged.

`messages_fts` holds the words of every message, `messages_fts_trigram` three-character pieces of those in scripts
without blanks between words. Both are external-content tables: the text itself stands only in `messages`. Names of
tables and triggers are what other programs look for; indexes that they made are used as they are.

An index is begun empty, at once, and then filled from the newest message back, in small transactions: writers go on
all the while. `state_meta` says how far it has come, and the triggers know it.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3

from acp_adapter.ledger import schema

TABLES = ("messages_fts", "messages_fts_trigram")
TRIGGERS = tuple(f"{table}_{event}" for table in TABLES for event in ("insert", "delete", "update"))
_VIEWS = ("messages_text", "messages_text_without_blanks")

WITHOUT_BLANKS = (
    "[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese, Korean, and the pictures that count as no word at all."""

PART_FIELDS = ("text", "resource.text", "resource.uri", "name", "uri")
"""What is searchable of a part of a message's content."""

_UNFILLED_KEY = "acp_adapter_fulltext_unfilled_below"
_UNFILLED = f"coalesce((SELECT CAST(value AS INTEGER) FROM state_meta WHERE key = '{_UNFILLED_KEY}'), 0)"
"""SQL: messages with a lower row are not in the indexes yet."""


def indexed_text(row: str) -> str:
    """SQL for what is searchable of a `messages` row: its content, its tool's name and its calls.

    Of content that is JSON parts (it begins with a NUL, where `unicode` finds no character) the texts and names
    count, not the data of images.
    """
    json_text = schema.json_content(row)
    words = " || ' ' || ".join(_part_field(field) for field in PART_FIELDS)
    parts = f"(SELECT group_concat({words}, ' ') FROM json_each({json_text}) AS part WHERE part.type = 'object')"
    content = f"""CASE WHEN {row}.content = '' OR unicode({row}.content) IS NOT NULL THEN {row}.content
        WHEN json_valid({json_text}) THEN {parts} END"""
    return f"coalesce({content}, '') || ' ' || coalesce({row}.tool_name, '') || ' ' || coalesce({row}.tool_calls, '')"


def _part_field(field: str) -> str:
    """SQL for one field of a part, without what stands at the end of its text for an attachment."""
    value = f"json_extract(part.value, '$.{field}')"
    if field == "text":
        words = f"substr({value}, 1, instr({value}, '{schema.ATTACHMENT_MARK}') - 1)"
        value = f"CASE WHEN {schema.stands_for_attachment(value)} THEN {words} ELSE {value} END"
    return f"coalesce({value}, '')"


def is_begun(sql: sqlite3.Connection) -> bool:
    """Both indexes and all six triggers are there."""
    names = (*TABLES, *TRIGGERS)
    marks = ", ".join("?" * len(names))
    found = sql.execute(f"SELECT count(*) FROM sqlite_master WHERE name IN ({marks})", names).fetchone()
    return bool(found[0] == len(names))


def is_whole(sql: sqlite3.Connection) -> bool:
    """Both indexes are there, with every message in them."""
    return is_begun(sql) and sql.execute(f"SELECT {_UNFILLED}").fetchone()[0] == 0


_PROBES = {
    "messages_fts": (
        r"(?:^|(?<=[\x01-\x7f]))(?<![A-Za-z0-9])[A-Za-z0-9]{2,60}(?=[\x01-\x7f]|$)(?![A-Za-z0-9])",
        "SELECT id FROM messages WHERE length(content) > 2",
    ),
    "messages_fts_trigram": (
        "[\u2e80-\u9fff\uac00-\ud7ff]{3,20}",
        "SELECT id FROM messages_fts_trigram_docsize WHERE 1",
    ),
}
"""What a table can be asked for beyond doubt, and which messages it should hold."""


def answers(sql: sqlite3.Connection, table: str, probes: int = 2) -> bool:
    """About so many messages that must be in the index are found there; the oldest and the newest among them.

    An index can lose everything and not know it.
    """
    pattern, ids = _PROBES[table]
    ends = [sql.execute(f"{ids} ORDER BY id {way} LIMIT 1").fetchone() for way in ("ASC", "DESC")]
    rows = {end[0] for end in ends if end}
    if probes > 2 and rows:
        step = max(1, max(rows) // probes)
        rows |= {row[0] for row in sql.execute(f"{ids} AND id % ? = 0", (step,))}
    for row in rows:
        text = sql.execute(f"SELECT {indexed_text('m')} FROM messages m WHERE m.id = ?", (row,)).fetchone()
        piece = re.search(pattern, text[0]) if text else None
        if piece is None:
            continue
        asked = (f'"{piece[0]}"', row)
        if sql.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH ? AND rowid = ?", asked).fetchone() is None:
            return False
    return True


def begin(sql: sqlite3.Connection) -> None:
    """Put new, empty indexes in the place of what there is, however damaged: from now on writing works."""
    for trigger in TRIGGERS:
        sql.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for table in TABLES:
        _drop(sql, table)
    for view in reversed(_VIEWS):
        sql.execute(f"DROP VIEW IF EXISTS {view}")
    for statement in _statements():
        sql.execute(statement)
    _set_unfilled(sql, sql.execute("SELECT coalesce(max(id), 0) + 1 FROM messages").fetchone()[0])


def fill(sql: sqlite3.Connection, rows: int = 1000) -> int:
    """Index the next older `rows` messages. Returns the row below which messages are still missing, 0 for none."""
    upper = sql.execute(f"SELECT {_UNFILLED}").fetchone()[0]
    lower = sql.execute(
        "SELECT min(id) FROM (SELECT id FROM messages WHERE id < ? ORDER BY id DESC LIMIT ?)", (upper, rows)
    ).fetchone()[0]
    if lower is not None:
        for table, view in zip(TABLES, _VIEWS, strict=True):
            chosen = f"SELECT id, content FROM {view} WHERE id >= ? AND id < ?"
            sql.execute(f"INSERT INTO {table}(rowid, content) {chosen}", (lower, upper))
    _set_unfilled(sql, lower or 0)
    return lower or 0


def _set_unfilled(sql: sqlite3.Connection, below: int) -> None:
    if below > 1:
        sql.execute("INSERT OR REPLACE INTO state_meta(key, value) VALUES (?, ?)", (_UNFILLED_KEY, str(below)))
    else:
        sql.execute("DELETE FROM state_meta WHERE key = ?", (_UNFILLED_KEY,))


def _statements() -> list[str]:
    new, old = indexed_text("new"), indexed_text("old")
    some_new, some_old = f"WHERE {_needs_trigrams(new)}", f"WHERE {_needs_trigrams(old)}"
    return [
        f"CREATE VIEW messages_text AS SELECT m.id, {indexed_text('m')} AS content FROM messages m",
        f"""CREATE VIEW messages_text_without_blanks AS
            SELECT id, content FROM messages_text WHERE {_needs_trigrams("content")}""",
        "CREATE VIRTUAL TABLE messages_fts USING fts5(content, content='messages_text', content_rowid='id')",
        """CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
            content, content='messages_text_without_blanks', content_rowid='id', tokenize='trigram')""",
        *_triggers("messages_fts", f"SELECT new.id, {new}", f"SELECT 'delete', old.id, {old}"),
        *_triggers(
            "messages_fts_trigram",
            f"SELECT new.id, {new} {some_new}",
            f"SELECT 'delete', old.id, {old} {some_old}",
        ),
    ]


def _triggers(table: str, new_row: str, old_row: str) -> list[str]:
    """Changes of other columns leave the index alone, and so do rows that it does not hold yet."""
    add = f"INSERT INTO {table}(rowid, content) {new_row};"
    remove = f"INSERT INTO {table}({table}, rowid, content) {old_row};"
    filled = f"WHEN old.id >= {_UNFILLED}"
    return [
        f"CREATE TRIGGER {table}_insert AFTER INSERT ON messages BEGIN {add} END",
        f"CREATE TRIGGER {table}_delete AFTER DELETE ON messages {filled} BEGIN {remove} END",
        f"CREATE TRIGGER {table}_update AFTER UPDATE OF content, tool_name, tool_calls ON messages {filled} "
        f"BEGIN {remove} {add} END",
    ]


def _needs_trigrams(text: str) -> str:
    return f"{text} GLOB '*{WITHOUT_BLANKS}*'"


def _drop(sql: sqlite3.Connection, table: str) -> None:
    """A virtual table too damaged to be opened can't be dropped as one: forget it, then drop its parts."""
    try:
        sql.execute(f"DROP TABLE IF EXISTS {table}")
        return
    except sqlite3.DatabaseError:
        sql.execute("PRAGMA writable_schema = ON")
    try:
        sql.execute("DELETE FROM sqlite_master WHERE name = ?", (table,))
    finally:
        sql.execute("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "content", "docsize", "config"):
        with contextlib.suppress(sqlite3.OperationalError):
            sql.execute(f"DROP TABLE IF EXISTS {table}_{part}")
