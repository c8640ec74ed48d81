"""What stands in the file: the tables that all programs share, and beside them the tables of our own.

The shared tables keep their names, columns and defaults exactly: another program that opens the file adds what it
misses by name and leaves the rest alone. Ours hang on the shared ones with ON DELETE CASCADE, so that a program
which has never heard of them can still delete sessions and messages.
"""

from __future__ import annotations

VERSION = 22
"""The one row of `schema_version`."""

SHARED_TABLES: dict[str, str] = {
    "schema_version": "version INTEGER NOT NULL",
    "sessions": """
        id TEXT PRIMARY KEY,
        source TEXT NOT NULL,
        user_id TEXT,
        session_key TEXT,
        chat_id TEXT,
        chat_type TEXT,
        thread_id TEXT,
        display_name TEXT,
        origin_json TEXT,
        expiry_finalized INTEGER DEFAULT 0,
        model TEXT,
        model_config TEXT,
        system_prompt TEXT,
        parent_session_id TEXT REFERENCES sessions(id),
        started_at REAL NOT NULL,
        ended_at REAL,
        end_reason TEXT,
        message_count INTEGER DEFAULT 0,
        tool_call_count INTEGER DEFAULT 0,
        input_tokens INTEGER DEFAULT 0,
        output_tokens INTEGER DEFAULT 0,
        cache_read_tokens INTEGER DEFAULT 0,
        cache_write_tokens INTEGER DEFAULT 0,
        reasoning_tokens INTEGER DEFAULT 0,
        cwd TEXT,
        git_branch TEXT,
        git_repo_root TEXT,
        billing_provider TEXT,
        billing_base_url TEXT,
        billing_mode TEXT,
        estimated_cost_usd REAL,
        actual_cost_usd REAL,
        cost_status TEXT,
        cost_source TEXT,
        pricing_version TEXT,
        title TEXT,
        api_call_count INTEGER DEFAULT 0,
        handoff_state TEXT,
        handoff_platform TEXT,
        handoff_error TEXT,
        compression_failure_cooldown_until REAL,
        compression_failure_error TEXT,
        compression_fallback_streak INTEGER NOT NULL DEFAULT 0,
        profile_name TEXT,
        rewind_count INTEGER NOT NULL DEFAULT 0,
        archived INTEGER NOT NULL DEFAULT 0""",
    "messages": """
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions(id),
        role TEXT NOT NULL,
        content TEXT,
        tool_call_id TEXT,
        tool_calls TEXT,
        tool_name TEXT,
        effect_disposition TEXT,
        timestamp REAL NOT NULL,
        token_count INTEGER,
        finish_reason TEXT,
        reasoning TEXT,
        reasoning_content TEXT,
        reasoning_details TEXT,
        codex_reasoning_items TEXT,
        codex_message_items TEXT,
        platform_message_id TEXT,
        observed INTEGER DEFAULT 0,
        active INTEGER NOT NULL DEFAULT 1,
        compacted INTEGER NOT NULL DEFAULT 0,
        api_content TEXT""",
    "session_model_usage": """
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        model TEXT NOT NULL,
        billing_provider TEXT NOT NULL DEFAULT '',
        billing_base_url TEXT NOT NULL DEFAULT '',
        billing_mode TEXT NOT NULL DEFAULT '',
        task TEXT NOT NULL DEFAULT '',
        api_call_count INTEGER NOT NULL DEFAULT 0,
        input_tokens INTEGER NOT NULL DEFAULT 0,
        output_tokens INTEGER NOT NULL DEFAULT 0,
        cache_read_tokens INTEGER NOT NULL DEFAULT 0,
        cache_write_tokens INTEGER NOT NULL DEFAULT 0,
        reasoning_tokens INTEGER NOT NULL DEFAULT 0,
        estimated_cost_usd REAL NOT NULL DEFAULT 0,
        actual_cost_usd REAL NOT NULL DEFAULT 0,
        cost_status TEXT,
        cost_source TEXT,
        first_seen REAL,
        last_seen REAL,
        PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, task)""",
    "state_meta": "key TEXT PRIMARY KEY, value TEXT",
    "gateway_routing": """
        scope TEXT NOT NULL DEFAULT '',
        session_key TEXT NOT NULL,
        entry_json TEXT NOT NULL,
        updated_at REAL NOT NULL,
        PRIMARY KEY (scope, session_key)""",
    "compression_locks": """
        session_id TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        acquired_at REAL NOT NULL,
        expires_at REAL NOT NULL""",
    "async_delegations": """
        delegation_id TEXT PRIMARY KEY,
        origin_session TEXT NOT NULL,
        origin_ui_session_id TEXT NOT NULL DEFAULT '',
        parent_session_id TEXT,
        state TEXT NOT NULL,
        dispatched_at REAL NOT NULL,
        completed_at REAL,
        updated_at REAL NOT NULL,
        event_json TEXT,
        result_json TEXT,
        delivery_state TEXT NOT NULL DEFAULT 'pending',
        delivery_attempts INTEGER NOT NULL DEFAULT 0,
        delivered_at REAL,
        owner_pid INTEGER,
        owner_started_at INTEGER,
        task_json TEXT,
        delivery_claim TEXT,
        delivery_claimed_at REAL""",
}

SHARED_INDEXES: dict[str, str] = {
    "idx_sessions_source": "sessions(source)",
    "idx_sessions_source_id": "sessions(source, id)",
    "idx_sessions_parent": "sessions(parent_session_id)",
    "idx_sessions_started": "sessions(started_at DESC)",
    "idx_sessions_session_key": "sessions(session_key, started_at DESC)",
    "idx_sessions_gateway_peer": "sessions(source, user_id, chat_id, chat_type, thread_id, started_at DESC)",
    "idx_sessions_handoff_state": "sessions(handoff_state, started_at)",
    "idx_messages_session": "messages(session_id, timestamp)",
    "idx_messages_session_active": "messages(session_id, active, timestamp)",
    "idx_messages_active_null": "messages(active) WHERE active IS NULL",
    "idx_messages_platform_msg_id": ("messages(session_id, platform_message_id) WHERE platform_message_id IS NOT NULL"),
    "idx_compression_locks_expires": "compression_locks(expires_at)",
    "idx_session_model_usage_session": "session_model_usage(session_id)",
    "idx_session_model_usage_model": "session_model_usage(model)",
    "idx_async_delegations_delivery": "async_delegations(delivery_state, completed_at)",
}
"""Index name → what it is on. The unique index on titles is apart: older files may hold titles twice."""

TITLE_INDEX = "CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL"

OWN_TABLES: dict[str, str] = {
    "message_details": """
        message_id INTEGER PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
        details TEXT NOT NULL""",
    "message_drafts": """
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        message_id TEXT NOT NULL,
        message TEXT NOT NULL,
        saved_at REAL NOT NULL,
        PRIMARY KEY (session_id, message_id)""",
    "session_activity": """
        session_id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
        last_active REAL NOT NULL,
        folder TEXT NOT NULL,
        source TEXT NOT NULL,
        hidden INTEGER NOT NULL""",
    "session_pins": """
        session_id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
        pinned_at REAL NOT NULL""",
    "session_leases": """
        session_id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
        token TEXT NOT NULL,
        program TEXT NOT NULL,
        host TEXT NOT NULL,
        pid INTEGER NOT NULL,
        pid_space TEXT NOT NULL,
        pid_started TEXT NOT NULL,
        since REAL NOT NULL,
        heartbeat REAL NOT NULL""",
    "daily_usage": """
        day TEXT PRIMARY KEY,
        tokens INTEGER NOT NULL,
        cost REAL NOT NULL""",
    "message_trims": """
        message_id INTEGER PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
        digest BLOB NOT NULL""",
    "attachments": """
        hash TEXT PRIMARY KEY,
        bytes BLOB NOT NULL""",
    "message_attachments": """
        message_id INTEGER NOT NULL REFERENCES messages(id) ON DELETE CASCADE,
        field TEXT NOT NULL,
        path TEXT NOT NULL,
        part TEXT,
        hash TEXT NOT NULL REFERENCES attachments(hash),
        PRIMARY KEY (message_id, field, path)""",
    "file_edits": """
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        turn TEXT NOT NULL,
        call_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        path TEXT NOT NULL,
        recorded_at REAL NOT NULL,
        before_kind TEXT NOT NULL,
        before_mode INTEGER,
        before_hash TEXT,
        after_kind TEXT NOT NULL,
        after_mode INTEGER,
        after_hash TEXT""",
}
"""`session_activity` is what the session list is sorted and filtered by, kept by triggers: a foreign writer keeps
it too. `folder` is the working folder as it was written, without a trailing slash; `hidden` says that the row by
itself rules the session out (archived, or a sub-agent's). `daily_usage` holds numbers only and hangs on no session:
what a day cost does not become less when a session is deleted. `message_trims` says whose `api_content` was set after
the message was stored, and to what. `attachments` and `file_edits` are described in the modules of their names."""

OWN_INDEXES: dict[str, str] = {
    "idx_session_activity_listed": "session_activity(hidden, last_active, session_id, source)",
    "idx_session_activity_folder": "session_activity(hidden, folder, last_active, session_id, source)",
    "idx_message_attachments_hash": "message_attachments(hash)",
    "idx_file_edits_session": "file_edits(session_id)",
    "idx_file_edits_path": "file_edits(path)",
    "idx_file_edits_before": "file_edits(before_hash)",
    "idx_file_edits_after": "file_edits(after_hash)",
}


def json_value(column: str, key: str) -> str:
    """SQL for one top-level value of a JSON column; NULL where the text is not JSON, never an error."""
    return f"json_extract(CASE WHEN json_valid({column}) THEN {column} END, '$.{key}')"


def json_content(row: str) -> str:
    """SQL for the JSON in the `content` of a `messages` row that begins with a NUL and the mark of JSON."""
    return f"CAST(substr(CAST({row}.content AS BLOB), 7) AS TEXT)"


ATTACHMENT_MARK = "[attachment: "
"""With this begins, at the end of a part's text, what stands for data that is kept apart: see `ledger.attachments`."""


def stands_for_attachment(text: str, mime: str = "*") -> str:
    """SQL: the text ends in what stands for data of that MIME type."""
    return f"{text} GLOB '*[[]{ATTACHMENT_MARK[1:]}{mime}, * KB; sha256 *]'"


def _folder(row: str) -> str:
    cwd = f"coalesce({json_value(f'{row}.model_config', 'cwd')}, {row}.cwd, '')"
    return f"CASE WHEN {cwd} IN ('/', '\\') THEN {cwd} ELSE rtrim({cwd}, '/\\') END"


def _hidden(row: str) -> str:
    delegate = json_value(f"{row}.model_config", "_delegate_from")
    return f"(coalesce({row}.archived, 0) != 0 OR {delegate} IS NOT NULL)"


_TEXT = "json_extract(item.value, '$.text')"
_AFTER_MARK = f"substr({_TEXT}, instr({_TEXT}, '{ATTACHMENT_MARK}') + {len(ATTACHMENT_MARK)})"
_MIME = f"substr({_AFTER_MARK}, 1, instr({_AFTER_MARK}, ',') - 1)"

OWN_TRIGGERS: dict[str, str] = {
    "session_activity_start": f"""
        AFTER INSERT ON sessions BEGIN
            INSERT INTO session_activity(session_id, last_active, folder, source, hidden)
            VALUES (new.id, new.started_at, {_folder("new")}, new.source, {_hidden("new")})
            ON CONFLICT(session_id) DO UPDATE SET
                folder = excluded.folder, source = excluded.source, hidden = excluded.hidden;
        END""",
    "session_activity_change": f"""
        AFTER UPDATE OF model_config, cwd, source, archived ON sessions BEGIN
            UPDATE session_activity
            SET folder = {_folder("new")}, source = new.source, hidden = {_hidden("new")}
            WHERE session_id = new.id;
        END""",
    "session_activity_message": """
        AFTER INSERT ON messages BEGIN
            UPDATE session_activity SET last_active = new.timestamp
            WHERE session_id = new.session_id AND last_active < new.timestamp;
        END""",
    "message_attachments_again": f"""
        AFTER INSERT ON messages WHEN instr(new.content, '{ATTACHMENT_MARK}') AND unicode(new.content) IS NULL BEGIN
            INSERT OR IGNORE INTO message_attachments(message_id, field, path, part, hash)
            SELECT new.id, 'content', '[' || item.key || ',"image_url","url"]',
                json_object('type', 'image_url', 'image_url', json_object('url', 'data:' || {_MIME} || ';base64,')),
                kept.hash
            FROM json_each(CASE WHEN json_valid({json_content("new")}) THEN {json_content("new")} ELSE '[]' END) item
            CROSS JOIN attachments kept ON kept.hash = substr({_TEXT}, -65, 64)
            WHERE item.type = 'object' AND {stands_for_attachment(_TEXT, "image/*")};
        END""",
}
"""The last one keeps images with messages that another program deletes and writes anew with what it read of them."""

FILL_ACTIVITY = f"""
    INSERT OR IGNORE INTO session_activity(session_id, last_active, folder, source, hidden)
    SELECT s.id,
           max(s.started_at, coalesce((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id), 0)),
           {_folder("s")}, s.source, {_hidden("s")}
    FROM sessions s"""


def shared_statements() -> list[str]:
    """The SQL that makes the shared tables and indexes where they are missing."""
    tables = [f"CREATE TABLE IF NOT EXISTS {name} ({columns})" for name, columns in SHARED_TABLES.items()]
    return tables + [f"CREATE INDEX IF NOT EXISTS {name} ON {on}" for name, on in SHARED_INDEXES.items()]


def own_statements() -> list[str]:
    """The SQL that makes our own tables, indexes and triggers where they are missing."""
    return [
        *(f"CREATE TABLE IF NOT EXISTS {name} ({columns})" for name, columns in OWN_TABLES.items()),
        *(f"CREATE INDEX IF NOT EXISTS {name} ON {on}" for name, on in OWN_INDEXES.items()),
        *(f"CREATE TRIGGER IF NOT EXISTS {name} {body}" for name, body in OWN_TRIGGERS.items()),
    ]
