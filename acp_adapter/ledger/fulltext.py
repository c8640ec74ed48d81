"""The full-text indexes over messages: what is indexed, how they are made, dropped when damaged, and made again.

`messages_fts` holds the words of every message, `messages_fts_trigram` three-character pieces of those in scripts
without blanks between words. Both are external-content tables: the text itself stands only in `messages`. Names of
tables and triggers are what other programs look for; a file that they made keeps their tables.
"""

from __future__ import annotations

import contextlib
import sqlite3

TABLES = ("messages_fts", "messages_fts_trigram")
TRIGGERS = tuple(f"{table}_{event}" for table in TABLES for event in ("insert", "delete", "update"))

WITHOUT_BLANKS = (
    "[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese, Korean, and the pictures that count as no word at all."""


def indexed_text(row: str) -> str:
    """SQL for what is searchable of a `messages` row: its content, its tool's name and its calls.

    Of content that is JSON parts (it begins with a NUL, where `unicode` finds no character) the texts and names
    count, not the data of images.
    """
    json_text = f"CAST(substr(CAST({row}.content AS BLOB), 7) AS TEXT)"
    fields = ("text", "resource.text", "resource.uri", "name", "uri")
    words = " || ' ' || ".join(f"coalesce(json_extract(part.value, '$.{field}'), '')" for field in fields)
    parts = f"(SELECT group_concat({words}, ' ') FROM json_each({json_text}) AS part WHERE part.type = 'object')"
    content = f"""CASE WHEN {row}.content = '' OR unicode({row}.content) IS NOT NULL THEN {row}.content
        WHEN json_valid({json_text}) THEN {parts} END"""
    return f"coalesce({content}, '') || ' ' || coalesce({row}.tool_name, '') || ' ' || coalesce({row}.tool_calls, '')"


def _needs_trigrams(text: str) -> str:
    return f"{text} GLOB '*{WITHOUT_BLANKS}*'"


def statements() -> list[str]:
    """The SQL that makes both indexes, empty, with their triggers."""
    new, old = indexed_text("new"), indexed_text("old")
    some_new, some_old = f"WHERE {_needs_trigrams(new)}", f"WHERE {_needs_trigrams(old)}"
    return [
        f"CREATE VIEW IF NOT EXISTS messages_text AS SELECT m.id, {indexed_text('m')} AS content FROM messages m",
        f"""CREATE VIEW IF NOT EXISTS messages_text_without_blanks AS
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
    """Changes of other columns leave the index alone."""
    add = f"INSERT INTO {table}(rowid, content) {new_row};"
    remove = f"INSERT INTO {table}({table}, rowid, content) {old_row};"
    return [
        f"CREATE TRIGGER {table}_insert AFTER INSERT ON messages BEGIN {add} END",
        f"CREATE TRIGGER {table}_delete AFTER DELETE ON messages BEGIN {remove} END",
        f"CREATE TRIGGER {table}_update AFTER UPDATE OF id, content, tool_name, tool_calls ON messages "
        f"BEGIN {remove} {add} END",
    ]


def is_whole(sql: sqlite3.Connection) -> bool:
    """Both indexes and all six triggers are there."""
    names = (*TABLES, *TRIGGERS)
    marks = ", ".join("?" * len(names))
    found = sql.execute(f"SELECT count(*) FROM sqlite_master WHERE name IN ({marks})", names).fetchone()
    return bool(found[0] == len(names))


def drop(sql: sqlite3.Connection) -> None:
    """Take both indexes out, so that messages can be written whatever is wrong with them."""
    for trigger in TRIGGERS:
        sql.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for table in TABLES:
        try:
            sql.execute(f"DROP TABLE IF EXISTS {table}")
        except sqlite3.DatabaseError:
            _drop_by_force(sql, table)
    for view in ("messages_text_without_blanks", "messages_text"):
        sql.execute(f"DROP VIEW IF EXISTS {view}")


def rebuild(sql: sqlite3.Connection) -> None:
    """Make both indexes anew from the messages.

    FTS5's own `rebuild` command can't read a view that takes JSON apart.
    """
    drop(sql)
    for statement in statements():
        sql.execute(statement)
    for table, view in zip(TABLES, ("messages_text", "messages_text_without_blanks"), strict=True):
        sql.execute(f"INSERT INTO {table}(rowid, content) SELECT id, content FROM {view}")


def _drop_by_force(sql: sqlite3.Connection, table: str) -> None:
    """A virtual table too damaged to be opened can't be dropped as one: forget it, then drop its parts."""
    sql.execute("PRAGMA writable_schema = ON")
    try:
        sql.execute("DELETE FROM sqlite_master WHERE name = ?", (table,))
    finally:
        sql.execute("PRAGMA writable_schema = RESET")
    for part in ("data", "idx", "content", "docsize", "config"):
        with contextlib.suppress(sqlite3.OperationalError):
            sql.execute(f"DROP TABLE IF EXISTS {table}_{part}")
