"""The ledger against bare SQLite doing the same inserts on the same disk, and against Hermes where it is installed."""

from __future__ import annotations

import importlib
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from attrs import frozen

from acp_adapter.ledger import branches, messages, sessions
from acp_adapter.ledger.db import SessionDB
from acp_adapter.ledger.sessions import NewSession
from acp_adapter.transcript import Message, new_id
from tests.benchmarks.figure import Figure, against
from tests.ledger import writer

LENGTH = 287
"""Bytes of a message's text."""


def measure(folder: Path, quick: bool = False) -> Iterator[Figure]:
    few = 10 if quick else 1
    yield from _appends(folder, 3000 // few)
    yield from _four_writers(folder, 500 // few)
    yield from _pages(folder, 50_000 // few)
    yield from _searches(folder, 200_000 // few)


# Appends


def _appends(folder: Path, count: int) -> Iterator[Figure]:
    """All take each message in turn, so that a disk that is busy with something else is so for all of them."""
    spoken = [_message(random.Random(number)) for number in range(count)]
    with closing(SessionDB.open(folder / "ours.db")) as db:
        session = new_id()
        db.create_session(session, model="m", model_config={}, cwd="/w")
        bare, plain = "bare SQLite, same tables and indexes", "bare SQLite without full text"
        appends: dict[str, Callable[[Message], object]] = {
            "ours": lambda message: db.append(session, [message]),
            bare: _bare(folder / "indexed.db", indexed=True),
            plain: _bare(folder / "bare.db", indexed=False),
            **_hermes(folder / "hermes.db"),
        }
        times = _timed(appends, spoken)
    ours = times.pop("ours")
    for name, theirs in times.items():
        yield against("append, wall", ours.wall, "ms", f"{name}, {theirs.wall:.3f} ms", theirs.wall)
        yield against("append, CPU", ours.cpu, "ms", f"{name}, {theirs.cpu:.3f} ms", theirs.cpu)
    yield Figure("append, worst", ours.worst, "ms")
    size = (folder / "ours.db").stat().st_size / count
    for file, name in (("bare.db", plain), ("hermes.db", "Hermes")):
        if (folder / file).exists():
            other = (folder / file).stat().st_size / count
            yield against(f"bytes for a message of {LENGTH}", size, "bytes", f"{name}, {other:,.0f} bytes", other)


@frozen
class Times:
    """Milliseconds for one append: medians, and the longest."""

    wall: float
    cpu: float
    worst: float


def _timed(appends: dict[str, Callable[[Message], object]], spoken: list[Message]) -> dict[str, Times]:
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in appends}
    for message in spoken:
        for name, append in appends.items():
            wall, cpu = time.perf_counter(), time.process_time()
            append(message)
            taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {
        name: Times(median(wall for wall, _ in pairs) * 1e3, median(cpu for _, cpu in pairs) * 1e3, max(pairs)[0] * 1e3)
        for name, pairs in taken.items()
    }


def _hermes(path: Path) -> dict[str, Callable[[Message], object]]:
    try:
        theirs: Any = importlib.import_module("hermes_state").SessionDB(path)
    except ImportError:
        return {}
    theirs.create_session("s", "cli", model="m")
    return {"Hermes": lambda m: theirs.append_message("s", m.role, m.content, platform_message_id=m.id)}


def _bare(path: Path, indexed: bool) -> Callable[[Message], object]:
    """One transaction a message: the row and its session's counter, in a file with our tables."""
    with closing(SessionDB.open(path)) as db:
        db.create_session("s", model="m", model_config={}, cwd="/w")
    sql = sqlite3.connect(path, isolation_level=None)
    for setting in ("synchronous = FULL", "foreign_keys = ON"):
        sql.execute(f"PRAGMA {setting}")
    if not indexed:
        for trigger in ("messages_fts_insert", "messages_fts_trigram_insert"):
            sql.execute(f"DROP TRIGGER {trigger}")

    def append(message: Message) -> None:
        sql.execute("BEGIN IMMEDIATE")
        sql.execute(
            """INSERT INTO messages(session_id, role, content, timestamp, finish_reason, platform_message_id)
               VALUES ('s', ?, ?, ?, ?, ?)""",
            (message.role, message.content, message.timestamp, message.finish_reason, message.id),
        )
        sql.execute("UPDATE sessions SET message_count = message_count + 1 WHERE id = 's'")
        sql.execute("COMMIT")

    return append


def _four_writers(folder: Path, count: int) -> Iterator[Figure]:
    path = folder / "four.db"
    SessionDB.open(path).close()
    begun = time.perf_counter()
    started = [
        subprocess.Popen(
            [sys.executable, writer.__file__, "append", str(path), f"w{number}", str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    worst = [float(process.communicate(timeout=600)[0].split()[-1]) for process in started]
    yield Figure("four writers, appends a second (start-up included)", 4 * count / (time.perf_counter() - begun), "")
    yield Figure("four writers, worst wait", max(worst) * 1e3, "ms")


# The list


def _pages(folder: Path, count: int) -> Iterator[Figure]:
    with closing(SessionDB.open(folder / "list.db")) as db:
        db.connection.write(lambda sql: _fill_sessions(sql, count))
        for name, filters in (("", {}), (" of one folder", {"cwd": "/w/7/"}), (" of one source", {"sources": ["cli"]})):
            taken = list(_page_times(db, filters))
            yield Figure(f"list page{name} at {count:,} sessions, median", sorted(taken)[len(taken) // 2] * 1e3, "ms")
            yield Figure(f"list page{name} at {count:,} sessions, worst", max(taken) * 1e3, "ms")


def _page_times(db: SessionDB, filters: dict[str, Any]) -> Iterator[float]:
    cursor: str | None = None
    while True:
        begun = time.perf_counter()
        page = db.list_sessions(cursor=cursor, **filters)
        yield time.perf_counter() - begun
        cursor = page.next_cursor
        if cursor is None:
            return


def _fill_sessions(sql: sqlite3.Connection, count: int) -> None:
    """Of ten sessions one is a sub-agent's and one was compacted; a hundred folders, three programs."""
    for number in range(count):
        parent = f"s{number - 1}" if number % 10 == 7 else None
        new: NewSession = {
            "source": ("acp", "cli", "telegram")[number % 3],
            "model": "m",
            "model_config": {"_delegate_from": parent} if parent else {"mode": "ask"},
            "cwd": f"/w/{number % 100}",
            "parent": parent,
            "title": f"Session {number}",
        }
        sessions.create(sql, f"s{number}", new)
        messages.insert(sql, f"s{number}", Message(role="user", content="hello"))
        if number % 10 == 3:
            branches.continue_compressed(sql, f"s{number}", f"s{number}c", Message(role="user", content="sum"), [])


# Search

_QUERIES: list[tuple[str, str, dict[str, Any]]] = [
    ("a rare word", "zebra-42", {}),
    ("a common word", "common", {}),
    ("a common word, newest first", "common", {"newest_first": True}),
    ("two common words", "common shared", {}),
    ("two Chinese characters", "数据", {}),
    ("one Chinese character", "数", {}),
    ("nothing", "nowhere-to-be-found", {}),
]


def _searches(folder: Path, count: int) -> Iterator[Figure]:
    with closing(SessionDB.open(folder / "search.db")) as db:
        db.connection.write(lambda sql: _fill_messages(sql, count))
        yield Figure(
            f"bytes for a message, {count:,} in 500 sessions", (folder / "search.db").stat().st_size / count, "bytes"
        )
        for name, text, options in _QUERIES:
            taken = []
            for _ in range(5):
                begun = time.perf_counter()
                db.search(text, **options)
                taken.append(time.perf_counter() - begun)
            yield Figure(f"search for {name} in {count:,} messages", sorted(taken)[2] * 1e3, "ms")


def _fill_messages(sql: sqlite3.Connection, count: int) -> None:
    """A third hold `common`, half of those `shared`; a fifth are Chinese; one in fifty thousand holds the rare word."""
    seed = random.Random(5)
    for number in range(500):
        sessions.create(sql, f"s{number}", {"model": "m", "model_config": {}, "cwd": "/w"})
    for number in range(count):
        marks = ["common"] * (number % 3 == 0) + ["shared"] * (number % 6 == 0) + ["zebra-42"] * (number % 50_000 == 7)
        words = _chinese(seed) if number % 5 == 0 else _words(seed)
        messages.insert(sql, f"s{number * 7919 % 500}", Message(role="user", content=" ".join([*marks, words])))


def _message(seed: random.Random) -> Message:
    return Message(role=seed.choice(["user", "assistant"]), content=_words(seed))


_SYLLABLES = ["al", "be", "ga", "de", "mi", "no", "ra", "su", "to", "li", "mek", "sen", "dor", "ka", "vi", "um", "ing"]


def _words(seed: random.Random) -> str:
    text = ""
    while len(text) < LENGTH:
        text += "".join(seed.choices(_SYLLABLES, k=seed.randint(1, 3))) + " "
    return text[:LENGTH]


def _chinese(seed: random.Random) -> str:
    characters = [chr(code) for code in range(0x4E00, 0x4E00 + 400)] + list("数据库")
    return "".join(seed.choices(characters, k=LENGTH // 3))
