"""Leases: which process is running a session, so that no other starts a turn in it at the same time."""

from __future__ import annotations

import os
import platform
import sqlite3
import time

from attrs import frozen

from acp_adapter.errors import TurnInProgress
from acp_adapter.ledger import processes, tree

EXPIRES_AFTER = 120.0
"""Seconds without a sign of life after which a lease may be taken over. Holders renew several times in it."""

HUNG_AFTER = 1800.0
"""The same for a holder that is seen to be alive on this machine: it may only have slept with it."""


@frozen
class Lease:
    """Who runs a session. `session_id` is the first node of its chain; times are seconds since 1970."""

    session_id: str
    token: str
    program: str
    host: str
    pid: int
    pid_space: str
    pid_started: str
    since: float
    heartbeat: float

    @property
    def stale(self) -> bool:
        """The holder is dead, or has given no sign of life for too long.

        A clock that was set back makes no holder on this machine stale: it is seen to live.
        """
        silent = time.time() - self.heartbeat
        if self.pid_space != processes.pid_space():
            return abs(silent) > EXPIRES_AFTER
        return silent > HUNG_AFTER or processes.started(self.pid) != self.pid_started


def acquire(sql: sqlite3.Connection, session_id: str, token: str, program: str) -> Lease:
    """Take or renew the lease. Raises TurnInProgress naming the holder, and SessionNotFound."""
    tree.tip(sql, session_id)
    root = tree.root(sql, session_id)
    held = _read(sql, root)
    if held and held.token != token and not held.stale:
        raise in_progress(held)
    pid, now = os.getpid(), time.time()
    since = held.since if held and held.token == token else now
    lease = Lease(
        root, token, program, platform.node(), pid, processes.pid_space(), processes.started(pid) or "", since, now
    )
    sql.execute(
        """INSERT OR REPLACE INTO session_leases
           (session_id, token, program, host, pid, pid_space, pid_started, since, heartbeat)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (root, token, program, lease.host, pid, lease.pid_space, lease.pid_started, since, now),
    )
    return lease


def release(sql: sqlite3.Connection, session_id: str, token: str) -> None:
    """Give the lease back; nothing happens where it is not ours."""
    root = tree.root(sql, session_id)
    sql.execute("DELETE FROM session_leases WHERE session_id = ? AND token = ?", (root, token))


def release_all(sql: sqlite3.Connection, token: str) -> None:
    sql.execute("DELETE FROM session_leases WHERE token = ?", (token,))


def holder(sql: sqlite3.Connection, session_id: str) -> Lease | None:
    """The live lease of the session, ours or another's."""
    held = _read(sql, tree.root(sql, session_id))
    return held if held and not held.stale else None


def held_by_another(sql: sqlite3.Connection, session_id: str, token: str) -> Lease | None:
    """The live lease of the session, if it is not that holder's."""
    held = holder(sql, session_id)
    return held if held and held.token != token else None


def in_progress(held: Lease) -> TurnInProgress:
    clock = time.strftime("%H:%M:%S", time.localtime(held.since))
    return TurnInProgress(
        f"The session is being run by {held.program} (process {held.pid} on {held.host}, since {clock}). "
        "Wait until it is done, or end that process.",
        holder={"program": held.program, "pid": held.pid, "host": held.host, "since": held.since},
    )


def _read(sql: sqlite3.Connection, root: str) -> Lease | None:
    row = sql.execute("SELECT * FROM session_leases WHERE session_id = ?", (root,)).fetchone()
    return Lease(**dict(row)) if row else None
