"""The shared ledger of sessions; only here is sqlite3."""
